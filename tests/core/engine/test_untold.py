"""A service that does not say what answers use: an estimate is counted, and said."""

from pathlib import Path

import pytest

from core.engine.bench import order
from core.engine.test_waves import Timed
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.budgets import Budget
from fanout.words.events import Noted
from fanout.words.model import Usage
from fanout.world.reckoning import UNTOLD

LONG = "a long answer " * 400


@pytest.mark.parametrize("usage", [Usage(), Usage(0, 3)])
def test_answers_without_usage_are_estimated(tmp_path: Path, usage: Usage) -> None:
    bench = Timed(ScriptedApi(lambda *_: answered(LONG, usage=usage)), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(4)))
    bench.at(50, bench.returns)
    assert bench.run() == 0
    useful = bench.state.totals.useful
    assert useful.input_tokens >= 4
    assert useful.output_tokens == pytest.approx(len(LONG), rel=0.1)
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert notes.count(UNTOLD) == 1


def test_a_budget_holds_without_a_word_about_usage(tmp_path: Path) -> None:
    bench = Timed(
        ScriptedApi(lambda *_: answered(LONG, usage=Usage())),
        tmp_path,
        budget=Budget(tokens=20_000),
    )
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.at(500, bench.returns)
    assert bench.run() == 4
    assert 0 < bench.state.counts.done < 16


def test_what_is_told_is_no_estimate(tmp_path: Path) -> None:
    told = Usage(0, 20, 80)
    bench = Timed(ScriptedApi(lambda *_: answered(LONG, usage=told)), tmp_path)
    bench.schedule(order("k"))
    bench.at(50, bench.returns)
    assert bench.run() == 0
    assert bench.state.totals.useful == told
    assert not [
        e for e in bench.journal.events if isinstance(e, Noted) and e.text == UNTOLD
    ]
