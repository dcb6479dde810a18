"""Tens of thousands of agents at once do not keep the engine from its other work."""

from itertools import pairwise
from pathlib import Path

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.commands import CancelRow, Requeue
from fanout.words.events import CallAdmitted, RowRequeued, RowScheduled, RowsExpected
from fanout.words.model import RowId
from fanout.world.port import ORDERS_A_TURN
from fanout.world.spend.waves import RELEASED_A_TURN

COUNT = 5 * ORDERS_A_TURN


def test_many_orders_are_taken_in_several_turns_of_the_loop(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    others: list[int] = []

    def other() -> None:
        """What else the loop has to do: called as often as it comes round."""
        asked = sum(row.spec is not None for row in bench.state.rows.values())
        others.append(asked)
        if asked < COUNT:
            bench.at(0.0, other)

    bench.schedule(*(order(f"k{n:05}") for n in range(COUNT)))
    bench.returns()
    assert bench.run(lambda: bench.at(0.0, other)) == 0
    assert set(others) >= {ORDERS_A_TURN * n for n in range(1, 5)}
    assert bench.state.counts.done == COUNT


def test_many_rows_are_released_in_several_turns_of_the_loop(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    waves = bench.engine.desks.waves
    released: list[int] = []

    def other() -> None:
        released.append(len(waves._released))
        if released[-1] < COUNT:
            bench.at(0.0, other)

    bench.schedule(*(order(f"k{n:05}") for n in range(COUNT)))
    bench.returns()
    assert bench.run(lambda: bench.at(0.0, other)) == 0
    steps = [after - before for before, after in pairwise(released)]
    assert 0 < max(steps) <= RELEASED_A_TURN < COUNT
    assert bench.state.counts.done == COUNT
    assert not waves._going
    assert not waves._line


def test_a_row_that_waits_for_its_turn_is_cancelled_and_reopened_once(
    tmp_path: Path,
) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    waves = bench.engine.desks.waves
    last = RowId("main", f"k{COUNT - 1:05}")
    acts = [CancelRow(last), Requeue((last,))]

    def meddle() -> None:
        if waves._going:
            bench.core.post(acts.pop(0))
        if acts:
            bench.at(0.0, meddle)

    bench.schedule(*(order(f"k{n:05}") for n in range(COUNT)))
    bench.returns()
    assert bench.run(lambda: bench.at(0.0, meddle)) == 0
    facts = [record.event for record in bench.journal.records()]
    assert not acts
    assert sum(isinstance(f, RowRequeued) and f.row == last for f in facts) == 1
    assert sum(isinstance(f, CallAdmitted) and f.row == last for f in facts) == 1
    assert bench.state.counts.done == COUNT


def test_all_of_many_orders_count_before_the_first_is_taken(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    rows = [RowId("main", f"k{n:05}") for n in range(COUNT)]
    bench.schedule(*(order(row.key) for row in rows))
    bench.returns()
    assert bench.run() == 0
    facts = [record.event for record in bench.journal.records()]
    declared = [fact for fact in facts if isinstance(fact, RowsExpected)]
    first = next(n for n, fact in enumerate(facts) if isinstance(fact, RowScheduled))
    assert [row for fact in declared for row in fact.rows] == rows
    assert all(facts.index(fact) < first for fact in declared)
    assert list(bench.state.rows) == rows
    assert [row.order for row in bench.state.rows.values()] == list(range(COUNT))
