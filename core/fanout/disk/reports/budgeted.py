"""What a report says of budgets: the ceiling, what was spent, and how it was raised."""

from collections.abc import Iterator

from fanout.decide.forecast.say import dollars as said
from fanout.disk.reports.report import Report
from fanout.words.budgets import Budget, BudgetView, Raised


def budgets_said(report: Report) -> Iterator[tuple[str, str]]:
    """Yield each budget's phase, empty for the run, and what there is to say of it."""
    views = [("", report.budget), *((one.name, one.budget) for one in report.phases)]
    for phase, view in views:
        if not view.budget.is_none or view.raised:
            yield phase, f"{_ceilings(view.budget)}; {_spent(view)}{_raises(view)}."


def _ceilings(budget: Budget) -> str:
    words = [] if budget.dollars is None else [said(budget.dollars)]
    if budget.tokens is not None:
        words.append(f"{budget.tokens:,} tokens")
    return " and ".join(words) or "none"


def _spent(view: BudgetView) -> str:
    cost = "" if view.dollars is None else f", {said(view.dollars)},"
    return f"{view.tokens:,} tokens{cost} spent"


def _raises(view: BudgetView) -> str:
    return "".join(f"; {_raise(one)}" for one in view.raised)


def _raise(one: Raised) -> str:
    minutes, seconds = divmod(round(one.seconds), 60)
    life = f" of life {one.life}" if one.life > 1 else ""
    return (
        f"raised on the screen after {minutes}:{seconds:02}{life}, "
        f"from {_ceilings(one.before)} to {_ceilings(one.after)}"
    )
