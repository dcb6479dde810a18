"""Asking before much is spent: who waits, what an answer does, and what never goes."""

from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import order
from core.engine.test_waves import Timed, api
from fanout.decide.admission.why import why
from fanout.words.budgets import Budget
from fanout.words.commands import Answer, Requeue, Stop
from fanout.words.events import CallAdmitted, Noted
from fanout.words.forecast import Asking
from fanout.words.model import Cause, MissingKind, RowId, Status
from fanout.world.spend.planning import Asks, Planning

SOMEBODY = Planning(asks=Asks.SOMEBODY)
NOBODY = Planning(asks=Asks.REFUSES)
LARGE = "x" * 900_000
"""About 300k tokens: seven are above what needs no question."""


def large(count: int, phase: str = "main", first: int = 0) -> list[Any]:
    return [order(f"k{n}", phase, inputs=LARGE) for n in range(first, first + count)]


def asking(bench: Timed) -> Asking:
    found = bench.engine.publisher.build().asking
    assert found is not None
    return found


def answer(bench: Timed, *, yes: bool, number: int | None = None) -> None:
    number = asking(bench).number if number is None else number
    bench.core.post(Answer(number, yes=yes))


def test_a_little_is_not_asked_about(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(3))
    bench.at(9, bench.returns)
    assert bench.run() == 0
    assert not bench.engine.desks.question._numbers


def test_much_waits_for_an_answer_and_says_so(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    seen: list[Any] = []

    def look() -> None:
        snapshot = bench.engine.publisher.build()
        row = snapshot.rows[RowId("main", "k3")]
        seen.append((row.status, why(snapshot, row), snapshot.asking))

    bench.at(100, look)
    bench.at(200, lambda: answer(bench, yes=True))
    bench.at(400, bench.returns)
    assert bench.run() == 0
    assert min(bench.api.times) > 199
    ((status, wait, asked),) = seen
    assert status is Status.QUEUED
    assert wait.cause is Cause.ANSWER
    assert len(asked.rows) == asked.left.rows == 8
    assert asked.left.tokens.total.expected > 2_000_000
    said = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert any(text.startswith("confirmed: 8 agents, about 2.") for text in said)


def test_a_no_stops_the_run_and_sends_nothing(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    bench.at(5, lambda: answer(bench, yes=False))
    assert bench.run() == 130
    assert not bench.api.bodies
    ends = {row.end.kind for row in bench.state.rows.values() if row.end}
    assert ends == {MissingKind.STOPPED}


def test_with_nobody_to_ask_the_run_ends_with_two(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=NOBODY)
    bench.schedule(*large(8))
    assert bench.run() == 2
    assert not bench.api.bodies
    end = bench.end
    assert end is not None
    assert end.reason.startswith("8 agents are expected to take about 2.")
    assert end.reason.endswith("nobody is there to be asked")


def test_what_flies_finishes_when_a_later_wave_cannot_be_asked_about(
    tmp_path: Path,
) -> None:
    bench = Timed(api(), tmp_path, planning=NOBODY)
    bench.schedule(*large(4))
    bench.at(0.3, lambda: bench.schedule(*large(8, "more")))
    assert bench.run() == 2
    assert bench.state.counts.done == len(bench.api.bodies) > 0
    assert all(
        "more" not in row.phase for row in bench.ended if bench.ended[row][0].done
    )


def test_later_waves_count_against_what_was_confirmed(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    bench.at(1, lambda: answer(bench, yes=True))
    bench.at(60, lambda: bench.schedule(order("small", "sum")))
    bench.at(120, lambda: bench.schedule(*large(40, "more")))
    bench.at(130, lambda: answer(bench, yes=True))
    bench.at(400, bench.returns)
    assert bench.run() == 0
    admitted = {
        event.row: number
        for number, event in enumerate(bench.journal.events)
        if isinstance(event, CallAdmitted)
    }
    said = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert sum(text.startswith("confirmed:") for text in said) == 2
    assert len(admitted) == 49


def test_rows_that_come_while_it_is_asked_join_the_question(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    numbers: list[int] = []
    bench.at(1, lambda: numbers.append(asking(bench).number))
    bench.at(2, lambda: bench.schedule(order("one", "sum")))
    bench.at(3, lambda: numbers.append(asking(bench).number))
    bench.at(3, lambda: numbers.append(len(asking(bench).rows)))
    bench.at(4, lambda: answer(bench, yes=True))
    bench.at(400, bench.returns)
    assert bench.run() == 0
    # It changes the figure by little: who has read the question need not read again.
    assert numbers == [1, 1, 9]


def test_an_answer_is_for_what_was_shown(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    bench.at(2, lambda: bench.schedule(*large(90, "more")))
    bench.at(3, lambda: answer(bench, yes=True, number=1))
    open_still: list[Asking | None] = []
    bench.at(4, lambda: open_still.append(bench.engine.publisher.build().asking))
    bench.at(50, lambda: answer(bench, yes=True))
    bench.at(900, bench.returns)
    assert bench.run() == 0
    (still,) = open_still
    assert still is not None
    assert (still.number, len(still.rows)) == (2, 98)
    assert min(bench.api.times) > 49


@pytest.mark.parametrize("mode", ["drain", "now"])
def test_a_stop_while_it_is_asked_ends_it(tmp_path: Path, mode: str) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    bench.at(5, lambda: bench.core.post(Stop(mode, "SIGINT")))
    bench.at(6, lambda: bench.core.post(Answer(1, yes=True)))
    assert bench.run() == 130
    assert not bench.api.bodies


def test_a_budget_below_the_allowance_is_answer_enough(tmp_path: Path) -> None:
    bench = Timed(
        api(),
        tmp_path,
        budget=Budget(tokens=1_500_000),
        planning=Planning(asks=Asks.REFUSES, budget=Budget(tokens=1_500_000)),
    )
    bench.schedule(*large(7))
    bench.at(900, bench.returns)
    bench.run()
    assert bench.api.bodies


def test_a_row_reopened_by_hand_needs_no_second_yes(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, planning=SOMEBODY)
    bench.schedule(*large(8))
    row = RowId("main", "k1")

    def drop() -> None:
        bench.engine._end(row, MissingKind.CANCELLED, "by hand")

    bench.at(1, drop)
    bench.at(2, lambda: bench.core.post(Requeue((row,))))
    bench.at(20, lambda: bench.api.bodies or pytest.fail("it was not sent"))
    bench.at(21, lambda: answer(bench, yes=True))
    bench.at(400, bench.returns)
    assert bench.run() == 0
