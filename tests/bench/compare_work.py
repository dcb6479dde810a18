"""The workloads and conditions of `compare.py`: what agents do, what the account is.

An agent is one conversation: a prompt, then `fetch` calls whose results have given
sizes, then an answer. Prompts and results are unique, so nothing but an agent's own
prefix can be cached, and every client marks that prefix just as fanout-tui does: the
same bodies are sent by all, and of a conversation each call is charged what is new.
With the cache on, "4 dependent calls of 2-60k" are therefore four *charged* sizes
drawn independently, as in the measurements this repeats.
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, ClassVar

from fanout.simulator.vocabulary import NEWER, count

MODEL = "claude-sonnet-5"
LINE = "It holds nothing that was not said before, over and over;\n"
BYTES_PER_TOKEN = 1_000 * len(LINE) / count(1_000 * LINE, NEWER)
"""The simulated account's own figure; a client that is told it estimates perfectly."""
MAX_TOKENS = 8_192
LIMITS = {"requests": 400, "input_tokens": 1_800_000, "output_tokens": 240_000}
BURST = 1 / 6
TTFT_SECONDS = 0.4
TTFT_PER_1K = 0.0167
TOKENS_PER_SECOND = 250.0
NOTE_WORDS = "fetches what is needed next"


@dataclass(frozen=True)
class Job:
    """What one agent is and will do."""

    key: str
    prompt: int
    """Tokens of its prompt."""
    results: tuple[int, ...]
    """Tokens of what `fetch` gives, turn by turn."""
    note: int
    """Tokens it writes with each call of `fetch`."""
    output: int
    """Tokens of its answer."""
    pause: float = 0.0
    """Seconds `fetch` takes."""

    @property
    def calls(self) -> int:
        return len(self.results) + 1

    def text(self) -> str:
        order = f"turns={len(self.results)} output={self.output}"
        if self.results:
            order += f" tool_tokens={self.note}"
        return _words(self.key, self.prompt) + f"\n[[sim: {order}]]\nSum it up."

    def result(self, turn: int) -> str:
        return _words(f"{self.key}-{turn}", self.results[turn])


def _words(name: str, tokens: int) -> str:
    """Text of that many tokens that no other name gives."""
    size = round(tokens * BYTES_PER_TOKEN)
    return f"{name}\n{LINE * (size // len(LINE) + 1)}"[:size]


class Fetch:
    """The tool of one conversation, in the form that `fanout.agent` takes as well."""

    name = "fetch"
    description = "Get the next piece."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"note": {"type": "string", "description": NOTE_WORDS}},
        "required": ["note"],
    }

    def __init__(self, job: Job) -> None:
        self.job = job
        self.turn = 0

    async def run(self, arguments: dict[str, Any]) -> str:
        del arguments
        await asyncio.sleep(self.job.pause)
        self.turn += 1
        return self.job.result(self.turn - 1)


def declared() -> dict[str, Any]:
    """The tool as a request declares it."""
    return {
        "name": Fetch.name,
        "description": Fetch.description,
        "input_schema": Fetch.input_schema,
    }


def _size(chance: random.Random) -> int:
    return int(min(60_000, max(2_000, chance.lognormvariate(8.75, 0.85))))


def even(chance: random.Random) -> list[Job]:
    """160 single calls that are all alike; input binds."""
    return [
        Job(f"e{n:03}", int(9_500 * (0.9 + 0.2 * chance.random())), (), 0, 600)
        for n in range(160)
    ]


def heavy(chance: random.Random) -> list[Job]:
    """40 agents of 4 dependent calls, 2-60k input each; input binds."""
    return [
        Job(
            f"h{n:03}",
            _size(chance),
            tuple(_size(chance) for _ in range(3)),
            note=int(200 + 1300 * chance.random()),
            output=int(200 + 1300 * chance.random()),
        )
        for n in range(40)
    ]


def small(chance: random.Random) -> list[Job]:
    """300 small calls; requests bind."""
    return [
        Job(f"s{n:03}", int(300 + 700 * chance.random()), (), 0, 120)
        for n in range(300)
    ]


def output(chance: random.Random) -> list[Job]:
    """100 long answers; output binds."""
    return [
        Job(f"o{n:03}", 2_000, (), 0, int(500 + 3_000 * chance.random()))
        for n in range(100)
    ]


def turns(chance: random.Random) -> list[Job]:
    """64 conversations of 2 to 8 calls with tools that take a moment."""
    return [
        Job(
            f"t{n:03}",
            int(4_000 + 6_000 * chance.random()),
            tuple(
                int(1_500 + 4_500 * chance.random())
                for _ in range(1 + int(7 * chance.random() ** 1.3))
            ),
            note=int(100 + 300 * chance.random()),
            output=int(200 + 800 * chance.random()),
            pause=0.2 + 0.8 * chance.random(),
        )
        for n in range(64)
    ]


def quick(chance: random.Random) -> list[Job]:
    """For `--quick`: 24 agents of 3 calls, some ten seconds at the bound."""
    return [
        Job(
            f"q{n:03}",
            _size(chance),
            (_size(chance), _size(chance)),
            note=int(100 + 300 * chance.random()),
            output=int(100 + 300 * chance.random()),
        )
        for n in range(24)
    ]


WORK = {
    "even": even,
    "heavy": heavy,
    "small": small,
    "output": output,
    "turns": turns,
    "quick": quick,
}


def jobs(name: str, seed: int) -> list[Job]:
    """The agents of a workload; by the same seed the same."""
    return WORK[name](random.Random(f"{name} {seed}"))


@dataclass(frozen=True)
class Condition:
    """What is special about the account, from the start or `at` a moment."""

    scale: float = 1.0
    """Factor on all limits."""
    burst: float = BURST
    foreign: float = 0.0
    at: float = 0.0
    """Seconds after the first request at which the next two happen."""
    halved: bool = False
    wall: float = 0.0
    """Seconds of nothing but 529."""
    ramp: tuple[int, int] | None = None
    """Input tokens of the first minute, and the step a minute."""
    mute: bool = False
    """No rate-limit headers, no retry-after; 5 % 529, 6 % cut or overloaded."""

    def extra(self) -> dict[str, Any]:
        """The profile."""
        made: dict[str, Any] = {
            "limits": {name: round(n * self.scale) for name, n in LIMITS.items()},
            "burst": dict.fromkeys(LIMITS, self.burst),
            "foreign_load": dict.fromkeys(LIMITS, self.foreign),
            "generation": {
                "ttft_seconds": TTFT_SECONDS,
                "ttft_per_1k_input": TTFT_PER_1K,
                "tokens_per_second": TOKENS_PER_SECOND,
                "tokens_per_delta": 25,
            },
            "server": {"request_book": 100_000},
        }
        if self.ramp is not None:
            made["ramp"] = {"start": self.ramp[0], "step": self.ramp[1]}
        if self.mute:
            made["faults"] = _mute()
        return made


def _mute() -> list[dict[str, Any]]:
    every = ["requests", "input-tokens", "output-tokens", "tokens"]
    return [
        {"kind": "missing_headers", "dimensions": every},
        {"kind": "overloaded", "probability": 0.05},
        {"kind": "cut", "probability": 0.03, "after_events": 8},
        {"kind": "error_event", "probability": 0.03, "after_events": 8},
    ]


CONDITIONS = {
    "plain": Condition(),
    "foreign": Condition(foreign=0.3),
    "halving": Condition(at=15, halved=True),
    "wall": Condition(at=8, wall=20),
    "ramp": Condition(ramp=(500_000, 1_000_000)),
    "mute": Condition(mute=True),
    "half": Condition(scale=0.5),
    "double": Condition(scale=2.0),
    "minute": Condition(burst=1.0),
}
