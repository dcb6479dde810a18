"""The question where a budget is reached: what it would take to go on."""

import math

from fanout.decide.forecast.say import dollars as cost_of
from fanout.decide.forecast.say import span
from fanout.words.budgets import Budget, BudgetView, Short
from fanout.words.forecast import Forecast
from fanout.words.snapshot import Snapshot
from fanout_tui.text import one_line, plural, tokens
from fanout_tui.view.questions import Question

HALF_MORE = 1.5
TWICE = 2.0
DIGITS = 3
"""Figures of a budget in tokens that are not rounded up."""


def view_of(snapshot: Snapshot, short: Short) -> BudgetView:
    """How far the budget has come that is asked about."""
    if not short.phase:
        return snapshot.budget
    return snapshot.phase_budgets.get(short.phase, BudgetView())


def waits_for(snapshot: Snapshot, short: Short) -> Forecast | None:
    """What those that wait are expected to take; None while nobody knows."""
    left = snapshot.left
    if left is None or not short.phase:
        return left if left is not None and left.rows else None
    phases = tuple(one for one in left.phases if one.phase == short.phase)
    return Forecast(phases=phases) if phases else None


def raises(snapshot: Snapshot, short: Short) -> tuple[tuple[str, Budget], ...]:
    """What the budget may be raised to, by key: enough by forecast, and twice.

    Only the ceilings that are in the way, and each enough for the next call. Where
    nothing is known of what is left, half more stands in its place.
    """
    view, left = view_of(snapshot, short), waits_for(snapshot, short)
    enough = Budget(
        tokens=_tokens(view, short, _enough_tokens(view, short, left)),
        dollars=_dollars(view, short, _enough_dollars(view, short, left)),
    )
    twice = Budget(
        tokens=_tokens(view, short, TWICE * (view.budget.tokens or 0)),
        dollars=_dollars(view, short, TWICE * (view.budget.dollars or 0.0)),
    )
    found = (("1", enough), ("2", twice))
    return tuple((key, each) for key, each in found if not each.is_none)


def _tokens(view: BudgetView, short: Short, more: float) -> int | None:
    """A new ceiling in tokens; None where there is none, or it is not in the way."""
    least = view.tokens + view.held_tokens + short.tokens
    if view.budget.tokens is None or least <= view.budget.tokens:
        return None
    return _rounded_up(max(more, least))


def _rounded_up(figure: float) -> int:
    step: int = 10 ** max(0, len(str(math.ceil(figure))) - DIGITS)
    return math.ceil(figure / step) * step


def _dollars(view: BudgetView, short: Short, more: float) -> float | None:
    least = (view.dollars or 0.0) + (view.held_dollars or 0.0) + (short.dollars or 0.0)
    if view.budget.dollars is None or least <= view.budget.dollars:
        return None
    enough = max(more, least)
    # Small amounts are said to a tenth of a cent.
    parts = 100 if enough >= 1 else 1_000
    return math.ceil(round(enough * parts, 6)) / parts


def _enough_tokens(view: BudgetView, short: Short, left: Forecast | None) -> float:
    if left is None:
        return HALF_MORE * (view.budget.tokens or 0)
    # At the end, the last call's worst case has to fit as well.
    spent = view.tokens + view.held_tokens
    return spent + left.tokens.total.high + short.tokens


def _enough_dollars(view: BudgetView, short: Short, left: Forecast | None) -> float:
    if left is None or left.dollars is None:
        return HALF_MORE * (view.budget.dollars or 0.0)
    spent = (view.dollars or 0.0) + (view.held_dollars or 0.0)
    return spent + left.dollars.high + (short.dollars or 0.0)


def budget_words(budget: Budget) -> str:
    """`$15.00`, `2.0M tokens`, or both."""
    words = []
    if budget.dollars is not None:
        words.append(cost_of(budget.dollars))
    if budget.tokens is not None:
        words.append(f"{tokens(budget.tokens)} tokens")
    return " and ".join(words)


def waiting(snapshot: Snapshot, short: Short) -> int:
    """How many rows wait for it."""
    left = waits_for(snapshot, short)
    if left is not None:
        return left.rows
    return snapshot.counts.queued + snapshot.counts.throttled


def ask_budget(snapshot: Snapshot, short: Short) -> Question:
    """Where a budget lets no further call through."""
    rows = plural(waiting(snapshot, short), "row")
    whose = f" of {one_line(short.phase)}" if short.phase else ""
    more = [
        (key, f"raise it to {budget_words(budget)}: {why}")
        for (key, budget), why in zip(
            raises(snapshot, short), _whys(snapshot, short), strict=False
        )
    ]
    if short.phase:
        more.append(("w", f"go on without: {rows} end missing, r requeues them"))
    figure = budget_words(view_of(snapshot, short).budget)
    spent = one_line(short.reason.split(": ", 1)[-1])
    return Question(
        f"the budget{whose} is reached: {figure}",
        (spent, *_needs(snapshot, short, rows)),
        (
            *more,
            ("d", "finish what flies, then stop; it can be resumed"),
            ("a", "stop at once; it can be resumed"),
            ("esc", "decide later: c asks again"),
        ),
    )


def _whys(snapshot: Snapshot, short: Short) -> tuple[str, str]:
    known = waits_for(snapshot, short) is not None
    return ("enough by forecast" if known else "half more"), "twice as much"


def _needs(snapshot: Snapshot, short: Short, rows: str) -> tuple[str, str]:
    others = "; other phases go on" if short.phase else ""
    kept = f"{rows} wait for it, what is finished is kept{others}."
    left = waits_for(snapshot, short)
    if left is None:
        return "What they will take is not known yet.", kept
    words = f"By forecast they take {span(left.tokens.total, 'tokens')}"
    if left.dollars is not None:
        low, high = cost_of(left.dollars.low), cost_of(left.dollars.high)
        words += f", {cost_of(left.dollars.expected)} ({low}-{high})"
    return kept, f"{words}."
