"""What a life takes over from the ones before it."""

from pathlib import Path
from typing import Any

from core.engine.bench import INFO, Bench, order
from fanout.decide.admission.account import Account
from fanout.decide.fold.run_state import RunState
from fanout.decide.fold.state import apply
from fanout.decide.money.spent import purses_of
from fanout.testing.scripted_api import ScriptedApi, answered, refused
from fanout.testing.virtual_loop import LoopClock
from fanout.words.budgets import Budget
from fanout.words.commands import Stop
from fanout.words.events import LifeStarted, Record, RowDropped
from fanout.words.model import RowId, Usage


def lived(tmp_path: Path, *later: Any) -> RunState:
    """The state after a life that spent on two rows and was stopped in a third."""

    bench = Bench(ScriptedApi(lambda *_: answered(usage=Usage(100, 20))), tmp_path)
    bench.schedule(order("a"), order("b"))

    def prepare() -> None:
        bench.at(10.0, lambda: bench.schedule(order("c", max_tokens=50)))
        bench.at(10.5, lambda: bench.core.post(Stop("now", "SIGTERM")))

    bench.run(prepare)
    state = RunState()
    records = list(bench.journal.records())
    second = LifeStarted(
        run=INFO.id,
        life=2,
        script=INFO.script,
        arguments=(),
        endpoint=INFO.endpoint,
        simulated=True,
        model=INFO.model,
        version="0",
        pid=1,
    )
    for event in (second, *later):
        records.append(Record(records[-1].seq + 1, 2, 0.0, event))
    for record in records:
        apply(state, record)
    return state


def test_a_budget_counts_all_lives(tmp_path: Path) -> None:
    purse = purses_of(Budget(tokens=300), lived(tmp_path))
    assert purse.tokens == 240
    refusal = purse.refusal(RowId("main", "d"), "claude-sonnet-5", Usage(11, 0))
    assert refusal is not None
    assert "240 spent" in refusal.text


def test_a_budget_counts_rows_that_the_script_has_dropped(tmp_path: Path) -> None:
    gone = [RowDropped(row=RowId("main", key)) for key in "abc"]
    kept, dropped = (lived(tmp_path, *events) for events in ((), gone))
    assert not dropped.rows
    purses = [purses_of(Budget(tokens=300), state) for state in (kept, dropped)]
    assert [purse.tokens for purse in purses] == [240, 240]
    row, asked = RowId("main", "d"), Usage(11, 0)
    refusals = [purse.refusal(row, "claude-sonnet-5", asked) for purse in purses]
    assert refusals[0] == refusals[1] is not None


def test_a_hold_outlives_the_life_in_which_it_was_told(tmp_path: Path) -> None:
    """Also when the row that met it was given up meanwhile."""
    api = ScriptedApi(lambda *_: refused(429, "rate_limit_error", retry_after=300.0))
    bench = Bench(api, tmp_path)
    bench.schedule(order("a"))
    bench.run(lambda: bench.at(10.0, lambda: bench.core.post(Stop("now", "SIGINT"))))
    ((pool, (at, wait)),) = bench.state.held.items()
    told = wait.until
    assert told is not None
    assert 300.0 <= told - LoopClock().epoch <= 301.0
    for later, held in ((100.0, True), (301.0, False), (0.0, True)):
        account = Account(chance=lambda: 0.5)
        account.hold_again(pool, wait, at, 7.0, LoopClock().epoch + later)
        hold = account.pool(pool).hold
        assert hold.active(7.0) is held
        assert hold.active(7.0 + 300.0 - later) is held
        assert not hold.active(7.0 + 302.0 - later)
    account = Account(chance=lambda: 0.5)
    account.hold_again(pool, wait, at, 7.0, LoopClock().epoch - 3600.0)
    assert not account.pool(pool).hold.active(7.0 + 302.0)  # the clock was set back
