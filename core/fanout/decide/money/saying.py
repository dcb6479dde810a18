"""What there is to say of a budget: the ceiling, what was spent, how it was raised."""

from fanout.decide.forecast.say import dollars as said
from fanout.words.budgets import Budget, BudgetView, Raised


def budget_said(view: BudgetView) -> str:
    """Return it as one sentence; empty where there is no budget and was none."""
    if view.budget.is_none and not view.raised:
        return ""
    return f"{_ceilings(view.budget)}; {_spent(view)}{_raises(view)}."


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
