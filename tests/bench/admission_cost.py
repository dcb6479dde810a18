"""What a decision costs with 10,000 rows in line and 200 calls in flight.

    python tests/bench/admission_cost.py

Each round is what a run does all day: a call ends, its row's next turn joins the
line, the planner decides and its start is booked. The median of the plan alone,
and of the whole round, in microseconds.
"""

import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "core")]

from core.decide.books import answer, limits, ticket  # noqa: E402
from fanout.decide.admission.account import Account  # noqa: E402
from fanout.decide.admission.planner import plan  # noqa: E402
from fanout.decide.admission.retry import Verdict  # noqa: E402

WAITING = 10_000
FLYING = 200
ROUNDS = 2_000


def crowded() -> tuple[Account, list[int]]:
    """An account with a long line and many calls in flight."""
    books = Account(chance=lambda: 0.5)
    books.ceiling._auto = float(FLYING)
    for n in range(WAITING + FLYING):
        books.enqueue(ticket(f"r{n}", 1_000, order=n), 0.0)
    (probe,) = plan(books, 0.0).starts
    books.admitted(0, probe, 0.0)
    many = limits(0.5, requests=10**6, tokens=(10**9, 10**9), output=(10**9, 10**9))
    books.opened(0, many, 0.5, 0.0)
    calls = [0]
    for start in plan(books, 1.0).starts:
        calls.append(len(calls))
        books.admitted(calls[-1], start, 1.0)
        books.sent(calls[-1], 1.0)
        books.opened(calls[-1], many, 1.0, 0.0)
    return books, calls


def measure(rounds: int = ROUNDS) -> tuple[float, float]:
    """Median seconds of a plan, and of a whole round."""
    books, calls = crowded()
    plans: list[float] = []
    whole: list[float] = []
    number = len(calls)
    for turn in range(rounds):
        now = 2.0 + turn * 0.01
        began = time.perf_counter()
        books.ended(calls.pop(0), answer(1_000, 300), Verdict(), now, 0.0)
        books.enqueue(ticket(f"n{turn}", 1_000, turns=1, order=turn), now)
        planned = time.perf_counter()
        decision = plan(books, now)
        plans.append(time.perf_counter() - planned)
        for start in decision.starts:
            number += 1
            calls.append(number)
            books.admitted(number, start, now)
            books.sent(number, now)
        whole.append(time.perf_counter() - began)
    return statistics.median(plans), statistics.median(whole)


if __name__ == "__main__":
    plan_seconds, round_seconds = measure()
    print(f"plan {plan_seconds * 1e6:.0f} us, whole round {round_seconds * 1e6:.0f} us")
