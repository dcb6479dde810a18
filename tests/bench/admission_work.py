"""The workloads, by seed: what agents there are and what each turn will use."""

import random
from collections.abc import Callable

from bench import compare_work
from bench.admission_driver import Agent, Turn
from fanout.words.model import RowId


def _agent(chance: random.Random, number: int, turns: list[Turn]) -> Agent:
    """Texts differ: a byte is worth 7 % more or fewer tokens from agent to agent."""
    ratio = 0.27 * (0.93 + 0.14 * chance.random())
    return Agent(RowId("p", f"a{number:04}"), turns, number, ratio=ratio)


def rig(seed: int, agents: int = 40) -> list[Agent]:
    """What the others were measured on: 40 agents, 4 dependent calls each."""
    chance = random.Random(seed * 7 + 1)

    def turn() -> Turn:
        size = min(60_000, max(2_000, chance.lognormvariate(8.75, 0.85)))
        return Turn(int(size), int(200 + 1300 * chance.random()))

    return [_agent(chance, i, [turn() for _ in range(4)]) for i in range(agents)]


def even(seed: int) -> list[Agent]:
    """2,000 calls that are all alike."""
    chance = random.Random(seed)
    return [
        _agent(chance, i, [Turn(int(9_000 * (0.9 + 0.2 * chance.random())), 600)])
        for i in range(2_000)
    ]


def heavy(seed: int) -> list[Agent]:
    """Heavy-tailed: most are small, some are as large as the burst."""
    chance = random.Random(seed)

    def turn() -> Turn:
        size = min(280_000, 3_000 * chance.paretovariate(1.2))
        output = min(8_000, 250 * chance.paretovariate(1.5))
        return Turn(int(size), int(output))

    return [_agent(chance, i, [turn()]) for i in range(1_500)]


def small(seed: int) -> list[Agent]:
    """Many small calls: requests bind."""
    chance = random.Random(seed)
    return [
        _agent(chance, i, [Turn(int(500 + 1_000 * chance.random()), 150)])
        for i in range(4_200)
    ]


def output(seed: int) -> list[Agent]:
    """Long answers: output binds."""
    chance = random.Random(seed)
    return [
        _agent(chance, i, [Turn(2_000, int(500 + 3_000 * chance.random()))])
        for i in range(1_250)
    ]


def turns(seed: int) -> list[Agent]:
    """Conversations with tools: 2 to 16 turns that grow, nothing cached."""
    chance = random.Random(seed)

    def conversation() -> list[Turn]:
        size, made = 4_000 + 6_000 * chance.random(), []
        for _ in range(2 + int(15 * chance.random() ** 2)):
            tools = 0.2 + 2.0 * chance.random()
            made.append(Turn(int(size), int(100 + 700 * chance.random()), tools=tools))
            size += 500 + 2_500 * chance.random()
        return made

    return [_agent(chance, i, conversation()) for i in range(220)]


WORK = {
    "even": even,
    "heavy-tailed": heavy,
    "many small": small,
    "output-bound": output,
    "multi-turn": turns,
}


def short(name: str) -> Callable[[int], list[Agent]]:
    """A workload of `compare.py`, its agents as it gives them to fanout-tui."""

    def work(seed: int) -> list[Agent]:
        chance = random.Random(seed)
        return [
            _agent(chance, number, _turns(job))
            for number, job in enumerate(compare_work.jobs(name, seed))
        ]

    return work


def _turns(job: compare_work.Job) -> list[Turn]:
    """What is charged anew for each call: its prefix is read from the cache."""
    new = [job.prompt, *(result + job.note for result in job.results)]
    made = [Turn(tokens, job.note, tools=job.pause) for tokens in new]
    made[-1].output, made[-1].tools = job.output, 0.0
    return made
