"""Budgets of phases, agents and the run: what is sent, what ends, what goes on."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from core.engine.bench import order
from core.engine.test_waves import Timed
from fanout.decide.admission.why import why
from fanout.decide.fold.state import RunState, apply
from fanout.decide.money.budget import Purses
from fanout.decide.money.spent import purses_of
from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.scripted_api import ScriptedApi, answered, broken, refused, tool_use
from fanout.words.budgets import Budget
from fanout.words.commands import RaiseBudget, Stop
from fanout.words.events import BudgetSet, CallAdmitted, Noted, PhaseEntered
from fanout.words.model import Cause, MissingKind, RowId, Status, Usage
from fanout.words.outcome import Answered
from fanout.words.tools import ToolResult
from fanout.world.spend.planning import Planning

USED = Usage(100, 20)
ASKED = Planning(raises=True)


def small(count: int, phase: str = "main", **more: Any) -> list[Any]:
    return [order(f"k{n}", phase, max_tokens=200, **more) for n in range(count)]


def kinds(bench: Timed, phase: str) -> list[str]:
    rows = [row for row in bench.state.rows.values() if row.id.phase == phase]
    ends = [row.end.kind for row in rows if row.end is not None]
    assert len(ends) == len(rows)
    return ["done" if kind is None else kind.value for kind in ends]


def charged(bench: Timed, phase: str | None = None) -> int:
    rows = bench.state.rows.values()
    mine = [row for row in rows if phase in (None, row.id.phase)]
    return sum((row.tally.useful + row.tally.wasted).total for row in mine)


# -- a phase's -------------------------------------------------------------------


def test_a_phase_that_reaches_its_budget_ends_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    bench = Timed(ScriptedApi(lambda *_: answered()), tmp_path)
    bench.port.enter_phase("audit", None, Budget(tokens=700))
    bench.schedule(*small(12, "audit"), *small(3, "other"))
    bench.at(50, bench.returns)
    assert bench.run() == 4
    assert set(kinds(bench, "other")) == {"done"}
    ends = kinds(bench, "audit")
    assert set(ends) == {"done", "budget"}
    assert charged(bench, "audit") <= 700 < charged(bench, "audit") + 320
    reasons = {r.end.reason for r in bench.state.rows.values() if r.end and r.end.kind}
    assert all("the phase's budget of 700 tokens reached" in text for text in reasons)
    assert bench.state.budgets == {"audit": Budget(tokens=700)}
    assert bench.state.stop is None


def test_a_budget_of_a_phase_that_there_was_not_is_said(tmp_path: Path) -> None:
    budgets = {"audti": Budget(dollars=1.0), "audit": Budget(dollars=1.0)}
    planning = Planning(phase_budgets=budgets)
    bench = Timed(ScriptedApi(lambda *_: answered()), tmp_path, planning=planning)
    bench.schedule(*small(3, "audit"))
    bench.at(50, bench.returns)
    assert bench.run() == 0
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    said = [text for text in notes if "a budget names" in text]
    assert said == [
        "a budget names the phase audti, which there was not: it bounded nothing"
    ]


def test_other_phases_do_not_stand_behind_one_without_money(tmp_path: Path) -> None:
    """Rows of both share a pool; those set aside hold up nobody."""
    times: dict[str, float] = {}
    bench = Timed(ScriptedApi(lambda *_: answered(), seconds=9.0), tmp_path)
    bench.port.enter_phase("audit", None, Budget(tokens=700))
    bench.schedule(*small(40, "audit"), *small(2, "other"))

    def look() -> None:
        snapshot = bench.engine.publisher.build()
        for row in snapshot.rows.values():
            wait = why(snapshot, row)
            if wait is not None and wait.cause is Cause.BUDGET:
                times[str(row.id)] = bench.clock.now()

    bench.at(15, look)
    bench.at(50, bench.returns)
    bench.run()
    order_of = [e.row for e in bench.journal.events if isinstance(e, CallAdmitted)]
    assert {row.phase for row in order_of[:4]} == {"audit", "other"}
    assert times
    assert all(name.startswith("audit/") for name in times)


def test_a_phase_without_money_for_one_call_sends_nothing(tmp_path: Path) -> None:
    bench = Timed(ScriptedApi(lambda *_: answered()), tmp_path)
    bench.port.enter_phase("audit", "100%", Budget(dollars=1e-6))
    bench.schedule(*small(3, "audit"))
    bench.at(5, bench.returns)
    assert bench.run() == 0
    assert not bench.api.bodies
    assert kinds(bench, "audit") == ["budget"] * 3
    assert bench.state.end is not None
    assert bench.state.end.accepted


def test_options_go_over_what_the_script_says_of_a_phase(tmp_path: Path) -> None:
    planning = Planning(phase_budgets={"audit": Budget(tokens=10)})
    bench = Timed(ScriptedApi(lambda *_: answered()), tmp_path, planning=planning)
    bench.port.enter_phase("audit", None, Budget(tokens=9_999, dollars=3.0))
    bench.schedule(*small(2, "audit"))
    bench.at(5, bench.returns)
    assert bench.run() == 4
    assert not bench.api.bodies
    (entered,) = [e for e in bench.journal.events if isinstance(e, PhaseEntered)]
    assert (entered.tokens, entered.dollars) == (10, 3.0)


def test_a_row_that_is_set_aside_can_be_stopped(tmp_path: Path) -> None:
    bench = Timed(ScriptedApi(lambda *_: answered(), seconds=30.0), tmp_path)
    bench.port.enter_phase("audit", None, Budget(tokens=700))
    bench.schedule(*small(6, "audit"))
    bench.at(35, lambda: bench.core.post(Stop("drain", "quit")))
    assert bench.run() == 130
    assert set(kinds(bench, "audit")) <= {"done", "stopped"}
    assert "stopped" in kinds(bench, "audit")


# -- an agent's --------------------------------------------------------------------


class Ping:
    """A tool that says pong."""

    name, description, version = "ping", "", ""
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}

    async def run(self, _arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content="pong")


@pytest.mark.parametrize("budget", [Budget(tokens=900), Budget(dollars=0.004)])
def test_an_agent_that_reaches_its_budget_keeps_what_it_said(
    tmp_path: Path, budget: Budget
) -> None:
    def reply(_: Any, number: int) -> Answered:
        said = tool_use("ping", {}, number)
        content = [{"type": "text", "text": "so far"}, *said.message["content"]]
        return answered(stop_reason="tool_use", content=content)

    bench = Timed(ScriptedApi(reply), tmp_path)
    talks = order("talks", budget=budget, max_tokens=200, tools=(Ping(),))
    bench.schedule(talks)
    bench.at(90, bench.returns)
    assert bench.run() == 4
    (outcome,) = bench.ended[RowId("main", "talks")]
    assert outcome.kind is MissingKind.BUDGET
    assert outcome.kept == "so far"
    assert "the agent's budget" in outcome.reason
    assert bench.api.bodies
    if budget.tokens:
        assert charged(bench) <= budget.tokens


def test_an_agents_budget_is_no_part_of_what_it_is_asked(tmp_path: Path) -> None:
    marks = []
    for budget in (Budget(), Budget(tokens=9_999)):
        bench = Timed(ScriptedApi(lambda *_: answered()), tmp_path)
        bench.schedule(order("a", budget=budget))
        bench.at(5, bench.returns)
        assert bench.run() == 0
        marks.append(next(iter(bench.state.rows.values())).spec)
    assert marks[0] == marks[1]


def test_seconds_of_work_end_an_agent_between_turns(tmp_path: Path) -> None:
    def reply(_: Any, number: int) -> Answered:
        return tool_use("ping", {}, number)

    bench = Timed(ScriptedApi(reply, seconds=4.0), tmp_path)
    bench.schedule(order("slow", max_seconds=10.0, tools=(Ping(),)))
    bench.at(90, bench.returns)
    assert bench.run() == 3
    (outcome,) = bench.ended[RowId("main", "slow")]
    assert outcome.kind is MissingKind.TIMEOUT
    assert "max_seconds=10" in outcome.reason
    assert len(bench.api.bodies) == 3
    (row,) = bench.state.rows.values()
    assert row.worked == pytest.approx(12.0, abs=1.0)


def test_waiting_for_the_service_is_no_work(tmp_path: Path) -> None:
    def reply(_: Any, number: int) -> Any:
        limit = refused(429, "rate_limit_error", retry_after=300.0)
        return limit if number == 0 else answered()

    bench = Timed(ScriptedApi(reply), tmp_path)
    bench.schedule(order("a", max_seconds=30.0))
    bench.at(900, bench.returns)
    assert bench.run() == 0


# -- the run's ---------------------------------------------------------------------


def test_where_nobody_can_be_asked_the_run_stops_with_four(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Timed(api, tmp_path, budget=Budget(tokens=700))
    bench.schedule(*small(9))
    assert bench.run() == 4
    assert charged(bench) <= 700


def test_a_raised_budget_goes_on_in_place(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Timed(api, tmp_path, budget=Budget(tokens=700), planning=ASKED)
    bench.schedule(*small(9))
    seen: list[Any] = []

    def look() -> None:
        snapshot = bench.engine.publisher.build()
        waits = [why(snapshot, r) for r in snapshot.rows.values()]
        causes = {wait.cause for wait in waits if wait is not None}
        seen.append((snapshot.shorts, causes, snapshot.budget, len(api.bodies)))

    bench.at(60, look)
    bench.at(61, lambda: bench.core.post(RaiseBudget(tokens=5_000)))
    bench.at(62, look)
    bench.at(120, bench.returns)
    assert bench.run() == 0
    ((short,), causes, view, sent), (after, _, raised, _) = seen
    assert "budget of 700 tokens reached" in short.reason
    assert causes == {Cause.BUDGET}
    assert (view.budget, view.tokens) == (Budget(tokens=700), 120 * sent)
    assert after == ()
    assert raised.budget == Budget(tokens=5_000)
    assert [e for e in bench.journal.events if isinstance(e, BudgetSet)] == [
        BudgetSet(tokens=5_000, dollars=None)
    ]
    assert bench.state.budgets[""] == Budget(tokens=5_000)


@pytest.mark.parametrize("mode", ["drain", "now"])
def test_a_budget_that_is_not_raised_stops_the_run(tmp_path: Path, mode: str) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Timed(api, tmp_path, budget=Budget(tokens=700), planning=ASKED)
    bench.schedule(*small(9))
    bench.at(60, lambda: bench.core.post(Stop(mode, "budget", "not raised")))
    assert bench.run() == 4
    assert set(kinds(bench, "main")) == {"done", "budget"}


# -- the ceiling, whatever happens -----------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_no_ceiling_is_passed_over_lives(tmp_path: Path, seed: int) -> None:
    """Random outcomes, three lives, each stopped at once at a random moment."""
    random = Random(seed)
    ceilings = {"a": Budget(tokens=random.randrange(400, 4_000)), "b": Budget()}
    most = random.choice([None, random.randrange(500, 5_000)])
    agents = Budget(tokens=random.randrange(300, 900))
    service = Usage()

    def reply(_: Any, __: int) -> Any:
        nonlocal service
        chance = random.random()
        if chance < 0.15:
            return refused(529, "overloaded_error")
        used = Usage(random.randrange(5, 20), random.randrange(1, 200))
        service += used
        if chance < 0.25:
            return broken(usage=Usage(used.input_tokens, 0))
        return answered(usage=used)

    records: list[Any] = []
    for life in (1, 2, 3):
        state = RunState()
        for record in records:
            apply(state, record)
        before = {row.id: row.tally for row in state.rows.values()}
        purses = purses_of(Budget(tokens=most), state)
        bench = Timed(
            ScriptedApi(reply),
            tmp_path,
            state=state,
            journal=MemoryJournal(life=life, last_seq=state.seq),
            purses=purses,
            chance=random.random,
        )
        bench.life, bench.earlier = life, records
        for phase, budget in ceilings.items():
            bench.port.enter_phase(phase, None, budget)
        rows = [*small(9, "a"), *(replace(o, budget=agents) for o in small(9, "b"))]
        bench.schedule(*(replace(o, prompt=f"{o.prompt} {life}") for o in rows))
        stop = random.uniform(0.5, 8.0) if life < 3 else 400.0
        bench.at(stop, lambda b=bench: b.core.post(Stop("now", "SIGINT")))
        bench.run()
        records = [*records, *bench.journal.records()]
        assert_below(bench, ceilings["a"], agents, most)
        assert before.keys() <= bench.state.rows.keys()
        assert_same(purses, purses_of(Budget(), bench.state))
    totals = bench.state.totals
    known = (totals.useful + totals.wasted).total
    assert known <= service.total <= known + totals.in_doubt.total


def assert_below(bench: Timed, phase: Budget, agent: Budget, run: int | None) -> None:
    """What may have been spent, doubts at their worst, is below each ceiling."""
    rows = bench.state.rows.values()
    worst = {row.id: _worst(row) for row in rows}
    assert phase.tokens is not None
    assert sum(n for r, n in worst.items() if r.phase == "a") <= phase.tokens
    assert agent.tokens is not None
    assert all(n <= agent.tokens for r, n in worst.items() if r.phase == "b")
    assert run is None or sum(worst.values()) <= run


def _worst(row: Any) -> int:
    tally = row.tally
    return int((tally.useful + tally.wasted + tally.in_doubt).total)


def assert_same(lived: Purses, resumed: Purses) -> None:
    """The next life begins with what this one ended with."""
    assert lived.tokens == resumed.tokens
    assert lived.dollars == pytest.approx(resumed.dollars)
    assert lived.run.view().held_tokens == resumed.run.view().held_tokens
    for name, purse in lived.phases.items():
        again = resumed.phase(name)
        assert (purse.tokens, purse.view().held_tokens) == (
            again.tokens,
            again.view().held_tokens,
        )
        assert purse.dollars == pytest.approx(again.dollars)


def test_a_rows_status_words(tmp_path: Path) -> None:
    """A row that is set aside is queued, not throttled."""
    bench = Timed(ScriptedApi(lambda *_: answered(), seconds=20.0), tmp_path)
    bench.port.enter_phase("audit", None, Budget(tokens=700))
    bench.schedule(*small(6, "audit"))
    seen: list[Status] = []

    def look() -> None:
        snapshot = bench.engine.publisher.build()
        aside = snapshot.gates["budget of audit"].waiting
        seen.extend(snapshot.rows[row].status for row in aside)

    bench.at(25, look)
    bench.at(300, bench.returns)
    bench.run()
    assert set(seen) == {Status.QUEUED}
