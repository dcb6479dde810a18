"""Whether somebody is to be asked before more is spent, and what a yes allows.

A life may spend a little without a word: `TOKENS` and `DOLLARS`. What it is known to
come to is what it has spent and what all its open agents are expected to take; a
budget bounds that. Above the allowance nothing new is sent until somebody said yes.
A yes allows what was shown at its high end: later waves count against that, and are
asked about only when they go beyond it. What agents take beyond what is expected of
them is the budget's business, not this one's.
"""

import math
from dataclasses import dataclass

from fanout.words.budgets import Budget
from fanout.words.forecast import Forecast

TOKENS = 2_000_000
DOLLARS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Tokens of all four classes, and dollars; None where a price is unknown."""

    tokens: float
    dollars: float | None


class Allowance:
    """What one life may spend without another question."""

    def __init__(self, budget: Budget, before: Amount) -> None:
        """`before` is what earlier lives have spent, which budgets count too."""
        self._tokens = float(TOKENS)
        self._dollars = DOLLARS
        self.bound(budget, before)

    def bound(self, budget: Budget, before: Amount) -> None:
        """The budget is another one now."""
        self._most = Amount(
            tokens=_left(budget.tokens, before.tokens),
            dollars=_left(budget.dollars, before.dollars),
        )

    def covers(self, spent: Amount, left: Forecast) -> bool:
        """Whether a life that has spent so much may do all that is left."""
        amount = self._amount(spent, left, "expected")
        if amount.tokens > self._tokens:
            return False
        return amount.dollars is None or amount.dollars <= self._dollars

    def confirm(self, spent: Amount, left: Forecast) -> None:
        """Somebody said yes to this."""
        amount = self._amount(spent, left, "high")
        self._tokens = max(self._tokens, amount.tokens)
        # Who said yes to an unknown price said yes to any.
        dollars = math.inf if amount.dollars is None else amount.dollars
        self._dollars = max(self._dollars, dollars)

    def _amount(self, spent: Amount, left: Forecast, end: str) -> Amount:
        """What the life comes to."""
        more, most = getattr(left.tokens.total, end), self._most.tokens
        tokens = spent.tokens + more
        dollars = None
        if spent.dollars is not None and left.dollars is not None:
            # What a ceiling of tokens leaves undone is not paid for.
            part = max(0.0, most - spent.tokens) / more if tokens > most else 1.0
            dollars = spent.dollars + part * getattr(left.dollars, end)
            dollars = min(dollars, self._most.dollars or 0.0)
        return Amount(tokens=min(tokens, most), dollars=dollars)


def _left(ceiling: float | None, before: float | None) -> float:
    if ceiling is None:
        return math.inf
    return max(0.0, ceiling - (before or 0.0))
