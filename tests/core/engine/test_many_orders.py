"""Tens of thousands of agents at once do not keep the engine from its other work."""

from pathlib import Path

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.world.port import ORDERS_A_TURN

COUNT = 5 * ORDERS_A_TURN


def test_many_orders_are_taken_in_several_turns_of_the_loop(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    others: list[int] = []

    def other() -> None:
        """What else the loop has to do: called as often as it comes round."""
        others.append(bench.state.counts.expected)
        if others[-1] < COUNT:
            bench.at(0.0, other)

    bench.schedule(*(order(f"k{n:05}") for n in range(COUNT)))
    bench.returns()
    assert bench.run(lambda: bench.at(0.0, other)) == 0
    assert set(others) >= {ORDERS_A_TURN * n for n in range(1, 5)}
    assert bench.state.counts.done == COUNT
