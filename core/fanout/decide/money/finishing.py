"""Which options finish a run that ended short: budgets that suffice, and consent.

A ceiling is in the way where a call did not fit, and where what is spent and what is
to be expected of the rows that are not done go beyond it, whatever ended the run. The
budget is to suffice for these, for what was forecast, and for the most that one more
call may be reserved; it is never less than twice the ceiling that was in the way.
Whoever types the command sees the figure.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil, floor, log10
from typing import Any

from fanout.decide.ending import UNASKED
from fanout.decide.fold.run_state import RUN
from fanout.decide.fold.state import RunState
from fanout.decide.money.budget import Most
from fanout.decide.money.pricing import dollars
from fanout.decide.money.spent import budgets_of
from fanout.words.budgets import BudgetView
from fanout.words.model import MissingKind, Row, Status, Usage


def options_to_finish(state: RunState) -> str:
    """Return what a resume needs to get further, each option after a space."""
    stop = "" if state.stop is None else state.stop.cause
    if stop == UNASKED:
        return " --yes"
    if stop != "budget" and not state.budgets:
        return ""
    short = {RUN} if stop == "budget" else _phases_short(state)
    words = ""
    for name, view in budgets_of(state).items():
        needs = _needs(state, name, view)
        if name in short or _is_beyond(view, needs):
            prefix = f"{shlex.quote(name)}=" if name else ""
            wanted = _wanted(state, name, view)
            words += _more(prefix, view, _larger(wanted, needs))
    return words


def _phases_short(state: RunState) -> set[str]:
    return {
        row.id.phase
        for row in state.rows.values()
        if row.end is not None and row.end.kind is MissingKind.BUDGET
    }


def _is_beyond(view: BudgetView, needs: Most) -> bool:
    tokens, ceiling = view.budget.tokens, view.budget.dollars
    return (tokens is not None and needs.tokens > tokens) or (
        ceiling is not None and (needs.dollars or 0.0) > ceiling
    )


def _larger(one: Most, other: Most) -> Most:
    dollars = max(one.dollars or 0.0, other.dollars or 0.0)
    return Most(max(one.tokens, other.tokens), dollars)


def _needs(state: RunState, name: str, view: BudgetView) -> Most:
    """What is spent, and what rows that are not done may take by those that are."""
    rows = [r for r in state.rows.values() if name in (RUN, r.id.phase)]
    left = [row for row in rows if row.status is not Status.DONE]
    if not left:
        return Most()
    tokens, cost = _held(view), (view.dollars or 0.0) + (view.held_dollars or 0.0)
    for phase, count in Counter(row.id.phase for row in left).items():
        each = _each(state, phase, [row for row in rows if row.id.phase == phase])
        tokens += round(count * each.tokens)
        cost += count * (each.dollars or 0.0)
    call = _largest_call(state, left)
    return Most(tokens + call.tokens, cost + (call.dollars or 0.0))


def _each(state: RunState, phase: str, rows: Iterable[Row]) -> Most:
    """What one row of a phase takes: as those that are done, else as forecast."""
    done = [r.tally for r in rows if r.status is Status.DONE and r.tally.attempts]
    if done:
        tokens = sum((tally.useful + tally.wasted).total for tally in done)
        cost = sum(tally.dollars or 0.0 for tally in done)
        return Most(ceil(tokens / len(done)), cost / len(done))
    told = [] if state.forecast is None else _figures(state.forecast.figures, phase)
    agents = sum(_count(one.get("agents")) for one in told)
    if not agents:
        return Most()
    tokens = ceil(sum(_figure(_total(one), "expected") for one in told) / agents)
    cost = sum(_figure(one.get("dollars"), "expected") for one in told)
    return Most(tokens, cost / agents)


def _count(told: Any) -> int:
    return told if isinstance(told, int) and told > 0 else 0


def _more(prefix: str, view: BudgetView, wanted: Most) -> str:
    tokens, ceiling = view.budget.tokens, view.budget.dollars
    words = ""
    if tokens is not None and max(2 * _held(view), wanted.tokens) > tokens:
        least = max(2 * tokens, _rounded_up(wanted.tokens))
        words += f" --max-tokens-total {prefix}{least:.0f}"
    known = (view.dollars or 0.0) + (view.held_dollars or 0.0)
    needed = max(2 * known, wanted.dollars or 0.0)
    if ceiling is not None and (needed > ceiling or not words):
        least = max(2 * ceiling, _rounded_up(wanted.dollars or 0.0))
        words += f" --max-usd {prefix}{least:.10g}"
    return words


def _held(view: BudgetView) -> int:
    return view.tokens + view.held_tokens


def _wanted(state: RunState, name: str, view: BudgetView) -> Most:
    """What the run or a phase comes to in all, as it was forecast, and one call more.

    What a phase had spent when it was forecast is not known: all of it counts.
    """
    figures = [] if state.forecast is None else _figures(state.forecast.figures, name)
    before, paid = view.tokens, view.dollars
    if name == RUN:
        before, paid = state.spent_before.total, state.dollars_before
    rows = [r for r in state.rows.values() if name in (RUN, r.id.phase)]
    call = _largest_call(state, (r for r in rows if r.status is not Status.DONE))
    tokens = before + sum(_high(_total(one)) for one in figures)
    cost = (paid or 0.0) + sum(_high(one.get("dollars")) for one in figures)
    return Most(round(tokens) + call.tokens, cost + (call.dollars or 0.0))


def _largest_call(state: RunState, rows: Iterable[Row]) -> Most:
    most = Most()
    for row in rows:
        if row.spec is None:
            continue
        # A call is reserved at more than what it is expected to read.
        usage = Usage(2 * row.spec.estimate, row.spec.max_tokens)
        cost = dollars(row.spec.model, usage, state.prices) or 0.0
        most = Most(max(most.tokens, usage.total), max(most.dollars or 0.0, cost))
    return most


def _figures(told: Any, name: str) -> list[Mapping[str, Any]]:
    """The run's figures or a phase's, from a journal, where anything may stand."""
    if not isinstance(told, Mapping):
        return []
    if name == RUN:
        return [told]
    phases = told.get("phases")
    found = phases if isinstance(phases, list | tuple) else ()
    return [
        one for one in found if isinstance(one, Mapping) and one.get("phase") == name
    ]


def _total(figures: Mapping[str, Any]) -> Any:
    classes = figures.get("tokens")
    return classes.get("total") if isinstance(classes, Mapping) else None


def _high(figure: Any) -> float:
    return _figure(figure, "high")


def _figure(figure: Any, name: str) -> float:
    value = figure.get(name) if isinstance(figure, Mapping) else None
    if isinstance(value, int | float) and 0 <= value < float("inf"):
        return float(value)
    return 0.0


def _rounded_up(amount: float) -> float:
    """Return it with two digits, not less than it is."""
    if amount <= 0:
        return 0.0
    unit = 10.0 ** (floor(log10(amount)) - 1)
    return round(ceil(amount / unit) * unit, 10)
