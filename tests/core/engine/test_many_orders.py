"""Tens of thousands of agents at once do not keep the engine from its other work."""

from pathlib import Path

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.events import RowScheduled, RowsExpected
from fanout.words.model import RowId
from fanout.world.port import ORDERS_A_TURN

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
