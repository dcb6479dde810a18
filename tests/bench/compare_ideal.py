"""What an order can do: no tool, a reference for `compare.py`.

On virtual time, nobody passes a blocked head, nothing is late, and output is let flow
as the account does. `python compare_ideal.py` prints, for all workloads,

- **all-knowing**: every size known beforehand, whoever has the longest path left first;
- **not knowing lengths**: the longest *expected* path first, by somebody who knows how
  the workload is distributed and what the agent has shown so far (its turns, the
  length of its notes, the pace of its tool), but not how many turns it will have nor
  how long an answer gets. The best such order known, and no proof that there is none
  better;
- **first come, first served**;
- **last call alone**: that no order can promise less. Where input or requests bind,
  the last call is let in at the bound at the earliest, and takes as long as answers
  take in the mean.
"""

import heapq
import statistics
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from compare_bound import bound, path_seconds
from compare_work import (
    BURST,
    LIMITS,
    TOKENS_PER_SECOND,
    TTFT_PER_1K,
    TTFT_SECONDS,
    WORK,
    Condition,
    Job,
    jobs,
)

STEP = 0.02
Order = Callable[[Job, int, int], tuple[float, ...]]
"""Given a job, its turn and its arrival: what sorts the first to go first."""


def longest(job: Job, turn: int, arrival: int) -> tuple[float, ...]:
    """By the seconds of the path that is left."""
    left = Job("", job.prompt, job.results[turn:], job.note, job.output, job.pause)
    return (-path_seconds(left), float(arrival))


def first_come(job: Job, turn: int, arrival: int) -> tuple[float, ...]:
    """By when the call could have gone."""
    del job, turn
    return (float(arrival),)


def expecting(work: list[Job]) -> Order:
    """By the seconds of the path that is left, as far as they can be known."""
    tools = [job for job in work if job.results] or work
    answer = statistics.mean(job.output for job in work)
    note = statistics.mean(job.note for job in tools)
    pause = statistics.mean(job.pause for job in tools)

    def left(done: int) -> float:
        ahead = [job.calls - done for job in work if job.calls > done]
        return statistics.mean(ahead)

    turns = [left(done) for done in range(max(job.calls for job in work))]

    def order(job: Job, turn: int, arrival: int) -> tuple[float, ...]:
        own = (job.note, job.pause) if turn else (note, pause)
        between = TTFT_SECONDS + own[0] / TOKENS_PER_SECOND + own[1]
        last = TTFT_SECONDS + answer / TOKENS_PER_SECOND
        return (-((turns[turn] - 1) * between + last), float(arrival))

    return order


def ideal_seconds(work: list[Job], order: Order = longest) -> float:
    """How long the work takes in that order, on an account as it is."""
    return _Course(order).run(work)


def new_tokens(job: Job, turn: int) -> int:
    """What a call brings anew."""
    return job.prompt if turn == 0 else job.results[turn - 1] + job.note


class _Course:
    """One course of the work on virtual time."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._full = {name: limit * BURST for name, limit in LIMITS.items()}
        self._level = dict(self._full)
        self._now = 0.0
        self._ties = count()
        self._line: list[tuple[tuple[float, ...], int, Job, int]] = []
        self._events: list[tuple[float, int, float, Job | None, int]] = []

    def run(self, work: list[Job]) -> float:
        for job in work:
            self._wait(job, 0)
        while self._line or self._events:
            self._now += STEP
            for name, limit in LIMITS.items():
                level = self._level[name] + limit / 60 * STEP
                self._level[name] = min(self._full[name], level)
            while self._events and self._events[0][0] <= self._now:
                _, _, output, job, turn = heapq.heappop(self._events)
                self._level["output_tokens"] -= output
                if job is not None and turn < job.calls:
                    self._wait(job, turn)
            while self._line and self._fits(*self._line[0][2:]):
                self._start(*heapq.heappop(self._line)[2:])
        return self._now

    def _wait(self, job: Job, turn: int) -> None:
        tie = next(self._ties)
        heapq.heappush(self._line, (self._order(job, turn, tie), tie, job, turn))

    def _fits(self, job: Job, turn: int) -> bool:
        needed = min(new_tokens(job, turn), self._full["input_tokens"])
        return (
            self._level["requests"] >= 1
            and self._level["output_tokens"] > 0
            and self._level["input_tokens"] >= needed
        )

    def _start(self, job: Job, turn: int) -> None:
        """Charge a call, and know when its output and the agent's next call come."""
        tokens, last = new_tokens(job, turn), turn == len(job.results)
        self._level["requests"] -= 1
        self._level["input_tokens"] -= tokens
        left = float(job.output if last else job.note)
        at = self._now + TTFT_SECONDS + TTFT_PER_1K * tokens / 1000
        while left > 0:
            some = min(left, TOKENS_PER_SECOND / 4)
            at, left = at + some / TOKENS_PER_SECOND, left - some
            self._then(at, some, None, 0)
        self._then(at + (0.0 if last else job.pause), 0.0, job, turn + 1)

    def _then(self, at: float, output: float, job: Job | None, turn: int) -> None:
        heapq.heappush(self._events, (at, next(self._ties), output, job, turn))


class Orders(NamedTuple):
    """Times of the orders over the bound."""

    knowing: float
    expecting: float
    first_come: float
    last_alone: float
    """Not for work that output binds: there a call is let in before the bound."""


def orders(workload: str, seed: int) -> Orders:
    """What each order comes to on the account as it is."""
    work = jobs(workload, seed)
    input_tokens = sum(new_tokens(j, turn) for j in work for turn in range(j.calls))
    output = sum(job.output + job.note * len(job.results) for job in work)
    needed = {
        "requests": float(sum(job.calls for job in work)),
        "input_tokens": float(input_tokens),
        "output_tokens": float(output),
    }
    least = bound(needed, work, Condition(), 0.0)
    last = TTFT_SECONDS + statistics.mean(j.output for j in work) / TOKENS_PER_SECOND
    flows = least.by == "output_tokens"
    return Orders(
        ideal_seconds(work) / least.seconds,
        ideal_seconds(work, expecting(work)) / least.seconds,
        ideal_seconds(work, first_come) / least.seconds,
        1.0 if flows else 1 + last / least.seconds,
    )


def main() -> None:
    """Print all orders for all workloads."""
    for workload in WORK:
        for seed in (1, 2, 3):
            path = max(map(path_seconds, jobs(workload, seed)))
            told = orders(workload, seed)
            print(
                f"{workload} seed {seed}: longest agent {path:.1f} s, "
                f"all-knowing {told.knowing:.3f}, "
                f"not knowing lengths {told.expecting:.3f} "
                f"(last call alone {told.last_alone:.3f}), "
                f"first come {told.first_come:.3f} x bound"
            )


if __name__ == "__main__":
    main()
