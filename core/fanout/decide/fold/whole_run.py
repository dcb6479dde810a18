"""Facts that are about a run as a whole, and change no row: strokes of `apply`."""

from collections.abc import Callable, Mapping
from typing import Any

from fanout.decide.fold.run_state import RUN, RunState
from fanout.words.ahead import Forecasted, OpeningsCounted, RunsAgain
from fanout.words.budgets import Budget, Raised
from fanout.words.events import (
    BudgetSet,
    CeilingSet,
    LimitsLearned,
    RunEnded,
    RunPaused,
    RunResumed,
    ScriptEnded,
    StopAsked,
)


def _runs_again(state: RunState, _at: float, event: RunsAgain) -> None:
    detail = f": {event.detail}" if event.detail else ""
    state.again[event.row] = f"{event.why}{detail}"


def _forecasted(state: RunState, at: float, event: Forecasted) -> None:
    if state.forecast is None:
        state.first_forecast, state.forecast_at = event, at
    state.forecast = event


def _limits_learned(state: RunState, _at: float, event: LimitsLearned) -> None:
    state.limits[event.pool] = event


def _ceiling_set(state: RunState, _at: float, event: CeilingSet) -> None:
    state.ceiling = event.ceiling


def _budget_set(state: RunState, at: float, event: BudgetSet) -> None:
    name = event.phase or RUN
    budget = Budget(tokens=event.tokens, dollars=event.dollars)
    raised = Raised(
        phase=event.phase,
        life=state.life,
        seconds=max(0.0, at - state.started_at),
        before=state.budgets.get(name, Budget()),
        after=budget,
    )
    state.raised = (*state.raised, raised)
    state.budgets[name] = budget


def _run_paused(state: RunState, _at: float, _event: RunPaused) -> None:
    state.paused = True


def _run_resumed(state: RunState, _at: float, _event: RunResumed) -> None:
    state.paused = False


def _stop_asked(state: RunState, _at: float, event: StopAsked) -> None:
    state.stop = event


def _script_ended(state: RunState, _at: float, event: ScriptEnded) -> None:
    state.script_end = event


def _run_ended(state: RunState, at: float, event: RunEnded) -> None:
    state.end, state.ended_at = event, at


WHOLE_RUN: Mapping[type, Callable[[RunState, float, Any], None]] = {
    RunsAgain: _runs_again,
    Forecasted: _forecasted,
    # For forecasts, which fold their own facts.
    OpeningsCounted: lambda _state, _at, _event: None,
    LimitsLearned: _limits_learned,
    CeilingSet: _ceiling_set,
    BudgetSet: _budget_set,
    RunPaused: _run_paused,
    RunResumed: _run_resumed,
    StopAsked: _stop_asked,
    ScriptEnded: _script_ended,
    RunEnded: _run_ended,
}
