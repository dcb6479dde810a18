"""Budgets that somebody is asked about: what waits, what an answer does."""

from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import INFO, order
from core.engine.test_budgets import charged, kinds, small
from core.engine.test_waves import Timed
from fanout.decide.admission.why import why
from fanout.decide.ended import broken_off
from fanout.decide.fold.state import RunState, apply, interrupt
from fanout.decide.logline import describe
from fanout.decide.money.spent import budgets_of, purses_of
from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.budgets import Budget, Short
from fanout.words.commands import (
    CancelRow,
    KeepBudget,
    Pause,
    RaiseBudget,
    Requeue,
    Resume,
    SetCeiling,
    Stop,
)
from fanout.words.events import BudgetSet, CallAdmitted, Record
from fanout.words.model import Cause, RowId, Status
from fanout.words.snapshot import KILLED
from fanout.world.spend.planning import Planning

ASKED = Planning(raises=True)
SMALL = Budget(tokens=700)


class Asked(Timed):
    """A bench whose person looks at what is asked."""

    def __init__(self, out: Path, **more: Any) -> None:
        more.setdefault("planning", ASKED)
        super().__init__(ScriptedApi(lambda *_: answered()), out, **more)
        self.seen: dict[float, tuple[Short, ...]] = {}
        self.waits: dict[float, set[tuple[str, str, Cause]]] = {}

    def look(self, at: float) -> None:
        def look() -> None:
            snapshot = self.engine.publisher.build()
            self.seen[at] = snapshot.shorts
            told = [(r, why(snapshot, r)) for r in snapshot.rows.values()]
            self.waits[at] = {
                (r.id.phase, r.status.value, wait.cause)
                for r, wait in told
                if wait is not None
            }

        self.at(at, look)

    def says(self, at: float, *commands: object) -> None:
        for command in commands:
            self.at(at, lambda c=command: self.core.post(c))

    def asked(self, at: float) -> list[str]:
        return [short.phase for short in self.seen[at]]


def two(bench: Asked, budget: Budget = SMALL) -> None:
    """Two phases, one of them with a budget that is too small."""
    bench.port.enter_phase("audit", None, budget)
    bench.schedule(*small(9, "audit"), *small(3, "other"))


def test_a_phase_that_reaches_its_budget_asks_and_others_go_on(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.look(60)
    bench.says(61, RaiseBudget(tokens=9_000, phase="audit"))
    bench.look(62)
    bench.at(120, bench.returns)
    assert bench.run() == 0
    (short,) = bench.seen[60]
    assert short.phase == "audit"
    assert "the phase's budget of 700 tokens reached" in short.reason
    assert bench.waits[60] == {("audit", Status.QUEUED.value, Cause.BUDGET)}
    assert bench.asked(62) == []
    assert set(kinds(bench, "audit")) == set(kinds(bench, "other")) == {"done"}
    assert [e for e in bench.journal.events if isinstance(e, BudgetSet)] == [
        BudgetSet(tokens=9_000, dollars=None, phase="audit")
    ]
    assert budgets_of(bench.state)["audit"].budget == Budget(tokens=9_000)


def test_where_nobody_is_asked_it_ends_at_once(tmp_path: Path) -> None:
    bench = Asked(tmp_path, planning=Planning())
    two(bench)
    bench.look(60)
    bench.at(120, bench.returns)
    assert bench.run() == 4
    assert bench.asked(60) == []
    assert set(kinds(bench, "audit")) == {"done", "budget"}


def test_a_budget_that_is_kept_makes_its_rows_missing(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.says(60, KeepBudget("audit"))
    bench.look(61)
    bench.at(62, lambda: bench.schedule(order("late", "audit", max_tokens=200)))
    bench.at(120, bench.returns)
    assert bench.run() == 4
    assert bench.asked(61) == []
    assert set(kinds(bench, "audit")) == {"done", "budget"}
    assert bench.state.rows[RowId("audit", "late")].status is Status.MISSING
    assert charged(bench, "audit") <= 700
    assert bench.state.stop is None


def test_rows_that_are_requeued_ask_once_more(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.says(60, KeepBudget("audit"))
    bench.says(70, Requeue())
    bench.look(80)
    bench.says(81, RaiseBudget(tokens=9_000, phase="audit"))
    bench.at(120, bench.returns)
    assert bench.run() == 0
    assert bench.asked(80) == ["audit"]


def test_a_raise_that_is_not_enough_asks_again(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.look(60)
    bench.says(61, RaiseBudget(tokens=701, phase="audit"))
    bench.look(62)
    bench.says(63, RaiseBudget(tokens=1_100, phase="audit"))
    bench.look(90)
    bench.says(91, RaiseBudget(tokens=9_000, phase="audit"))
    bench.at(120, bench.returns)
    assert bench.run() == 0
    raised = bench.engine.publisher.phase_budgets()["audit"].budget.tokens
    assert raised == 9_000
    views = budgets_of(bench.state)["audit"].raised
    assert [one.after.tokens for one in views] == [701, 1_100, 9_000]
    assert [round(one.seconds) for one in views] == [61, 63, 91]
    numbers = [bench.seen[at][0].number for at in (60, 62, 90)]
    assert numbers == sorted(set(numbers))
    assert "1,100 tokens" in bench.seen[90][0].reason
    assert charged(bench, "audit") > 700


def test_two_phases_at_their_ceilings_are_two_questions(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.port.enter_phase("other", None, Budget(tokens=350))
    bench.look(60)
    bench.says(61, RaiseBudget(tokens=9_000, phase="other"))
    bench.look(80)
    bench.says(81, KeepBudget("audit"))
    bench.at(120, bench.returns)
    assert bench.run() == 4
    assert sorted(bench.asked(60)) == ["audit", "other"]
    assert bench.asked(80) == ["audit"]
    assert set(kinds(bench, "other")) == {"done"}
    assert set(kinds(bench, "audit")) == {"done", "budget"}


def test_the_runs_budget_and_a_phases_are_two_questions(tmp_path: Path) -> None:
    bench = Asked(tmp_path, budget=Budget(tokens=1_000))
    two(bench, Budget(tokens=500))
    bench.look(60)
    bench.says(61, RaiseBudget(tokens=9_000, phase="audit"))
    bench.look(70)
    bench.says(71, RaiseBudget(tokens=9_000))
    bench.look(90)
    bench.at(120, bench.returns)
    assert bench.run() == 0
    assert "audit" in bench.asked(60)
    assert bench.asked(70) == [""]
    assert bench.asked(90) == []


def test_what_is_raised_while_paused_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.says(60, Pause())
    bench.look(61)
    bench.says(62, RaiseBudget(tokens=9_000, phase="audit"))
    bench.look(70)
    sent: list[int] = []
    bench.at(71, lambda: sent.append(len(bench.api.bodies)))
    bench.says(80, Resume())
    bench.at(120, bench.returns)
    assert bench.run() == 0
    assert bench.asked(61) == ["audit"]
    assert bench.asked(70) == []
    assert sent[0] < len(bench.api.bodies)


@pytest.mark.parametrize(
    ("stop", "code", "kind"),
    [
        (Stop("drain", "quit"), 130, "stopped"),
        (Stop("now", "SIGTERM"), 143, "stopped"),
        (Stop("drain", "budget", "not raised"), 4, "budget"),
    ],
)
def test_a_stop_while_it_is_asked_ends_what_waits(
    tmp_path: Path, stop: Stop, code: int, kind: str
) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.look(60)
    bench.says(61, stop)
    assert bench.run() == code
    assert bench.asked(60) == ["audit"]
    assert bench.engine.desks.budgets.asking == ()
    assert set(kinds(bench, "audit")) == {"done", kind}


def test_a_script_that_ends_meanwhile_takes_its_question_along(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    two(bench)
    bench.at(60, lambda: bench._cancel("it raised"))
    bench.look(61)
    assert bench.run() != 0
    assert bench.seen.get(61, ()) == ()
    assert "script" in kinds(bench, "audit")


@pytest.mark.parametrize(
    ("run", "phase", "asked"),
    [(None, 700, ["audit"]), (700, None, [""])],
)
def test_a_question_nobody_waits_for_is_withdrawn(
    tmp_path: Path, run: int | None, phase: int | None, asked: list[str]
) -> None:
    bench = Asked(tmp_path, budget=Budget(tokens=run))
    two(bench, Budget(tokens=phase))
    bench.look(60)

    def cancel() -> None:
        for row in bench.state.rows.values():
            if row.end is None:
                bench.core.post(CancelRow(row.id))

    bench.at(61, cancel)
    bench.look(62)
    bench.at(120, bench.returns)
    assert bench.run() == 3
    assert bench.asked(60) == asked
    assert bench.asked(62) == []


def test_the_script_does_not_take_back_what_a_person_gave(tmp_path: Path) -> None:
    """It enters its phase again, with the budget that it states."""
    bench = Asked(tmp_path)
    two(bench)
    bench.says(60, RaiseBudget(tokens=9_000, phase="audit"))
    bench.at(61, lambda: bench.port.enter_phase("audit", None, SMALL))
    late = [order(f"m{n}", "audit", max_tokens=200) for n in range(3)]
    bench.at(62, lambda: bench.schedule(*late))
    bench.at(300, bench.returns)
    assert bench.run() == 0
    assert bench.state.budgets["audit"] == Budget(tokens=9_000)


def test_a_new_life_asks_again_with_what_was_given(tmp_path: Path) -> None:
    """Killed while it is asked for the second time."""
    first = Asked(tmp_path)
    two(first)
    first.says(60, RaiseBudget(tokens=1_100, phase="audit"))
    first.look(90)
    first.says(100, Stop("now", "SIGKILL"))
    first.run()
    assert first.asked(90) == ["audit"]
    records = list(first.journal.records())
    killed = records[: next(n for n, r in enumerate(records) if _is_stop(r.event))]
    state = RunState()
    for record in killed:
        apply(state, record)
    interrupt(state, state.at)
    given = state.budgets["audit"]
    assert given == Budget(tokens=1_100)
    second = Asked(
        tmp_path,
        state=state,
        journal=MemoryJournal(life=2, last_seq=state.seq),
        purses=purses_of(Budget(), state),
        planning=Planning(raises=True, phase_budgets={"audit": given}),
    )
    second.life, second.earlier = 2, killed
    two(second)
    second.look(60)
    second.says(61, RaiseBudget(tokens=9_000, phase="audit"))
    second.at(120, second.returns)
    assert second.run() == 0
    assert second.asked(60) == ["audit"]
    assert "budget of 1,100 tokens" in second.seen[60][0].reason
    before = [e for e in second.journal.events if isinstance(e, CallAdmitted)]
    assert before


def _is_stop(event: object) -> bool:
    return type(event).__name__ == "StopAsked"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (BudgetSet(tokens=9_000, dollars=None), "the budget is 9,000 tokens"),
        (
            BudgetSet(tokens=None, dollars=2.5, phase="audit"),
            "phase audit: the budget is $2.50",
        ),
        (BudgetSet(tokens=None, dollars=None), "the budget is lifted"),
    ],
)
def test_the_log_says_what_a_budget_is_now(event: BudgetSet, said: str) -> None:
    line = describe(Record(1, 1, 0.0, event))
    assert line is not None
    assert line.text == f"{said} from here on"


@pytest.mark.parametrize("how", [Stop("drain", "quit"), Stop("now", "SIGTERM")])
@pytest.mark.parametrize("phase", ["", "audit"])
def test_whoever_leaves_at_a_ceiling_is_told_one_that_suffices(
    tmp_path: Path, how: Stop, phase: str
) -> None:
    """No row has been refused yet: they only wait for an answer."""
    budget = Budget() if phase else SMALL
    bench = Asked(tmp_path, budget=budget)
    bench.port.enter_phase("audit", None, SMALL if phase else Budget())
    bench.schedule(*small(9, "audit"))
    if not phase:
        set_ = BudgetSet(tokens=SMALL.tokens, dollars=None)
        bench.at(1, lambda: bench.core.record(set_))
    bench.look(60)
    bench.says(61, how)
    bench.run()
    assert bench.asked(60) == [phase]
    assert bench.end is not None
    words = bench.end.finish.removeprefix("fanout-tui resume ").split()
    assert words[0] == "--max-tokens-total"
    figure = int(words[1].removeprefix("audit="))
    assert words[1].startswith("audit=") is bool(phase)
    # Nine rows of 120, and the worst case of the last one.
    assert figure >= 9 * 120 + bench.seen[60][0].tokens


def test_a_ceiling_that_leaves_room_for_the_rest_stays(tmp_path: Path) -> None:
    bench = Asked(tmp_path, budget=Budget(tokens=50_000))
    bench.schedule(*small(9, "audit"))
    roomy = BudgetSet(tokens=50_000, dollars=1.0)
    bench.at(1, lambda: bench.core.record(roomy))
    bench.says(2, Stop("now", "SIGINT"))
    bench.run()
    assert bench.state.counts.missing
    assert bench.end is not None
    assert bench.end.finish == "fanout-tui resume test-1"


def test_a_ceiling_that_the_rest_will_reach_is_raised_before_it_is(
    tmp_path: Path,
) -> None:
    """What is left goes by what is done; a killed run is told the same."""
    bench = Asked(tmp_path)
    bench.core.post(SetCeiling(5))
    bench.schedule(*small(40, "audit"))
    near = BudgetSet(tokens=3_000, dollars=None)
    bench.at(1, lambda: bench.core.record(near))
    bench.says(2.5, Stop("drain", "SIGINT"))
    bench.run()
    counts = bench.state.counts
    assert counts.done > 0
    assert bench.state.spend.tokens < 2_000
    assert bench.end is not None
    words = bench.end.finish.split()
    assert words[2] == "--max-tokens-total"
    assert int(words[3]) >= 40 * 120
    killed = broken_off(KILLED, INFO, bench.state)
    assert killed is not None
    assert killed.finish == bench.end.finish
