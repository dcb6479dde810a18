"""What was spent, in tokens and dollars, added up call by call.

Dollars are worked out for each call at the prices of the life that made it: a sum
of tokens does not tell which of them were read by long prompts or in batches. What
was used of a model without a price is kept by model, so that a life that has one
can tell.
"""

from dataclasses import dataclass, field

from fanout.decide.money.pricing import dollars
from fanout.decide.sums import minus
from fanout.words.model import NO_USAGE, Usage
from fanout.words.prices import Prices


@dataclass(slots=True)
class Spend:
    """A running total over all lives."""

    tokens: int = 0
    """All four classes."""
    priced: float = 0.0
    """Dollars of calls whose price was known."""
    unpriced: dict[str, Usage] = field(default_factory=dict)
    """What the others used, by model."""

    def add(self, model: str, usage: Usage, cost: float | None) -> None:
        """Count a call that cost so much; None where there is no price."""
        self.tokens += usage.total
        if cost is not None:
            self.priced += cost
        elif usage.total:
            self.unpriced[model] = self.unpriced.get(model, NO_USAGE) + usage

    def take(self, model: str, usage: Usage, cost: float | None) -> None:
        """Count out again what was counted in."""
        self.tokens -= usage.total
        if cost is not None:
            self.priced -= cost
            return
        rest = minus(self.unpriced.get(model, NO_USAGE), usage)
        self.unpriced.pop(model, None)
        if rest.total:
            self.unpriced[model] = rest

    def join(self, other: "Spend") -> None:
        """Count in all of another."""
        self.tokens += other.tokens
        self.priced += other.priced
        for model, usage in other.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, NO_USAGE) + usage

    def dollars(self, prices: Prices) -> float | None:
        """Return what all of it cost; None while a price is unknown."""
        whole = self.priced
        for model, usage in self.unpriced.items():
            cost = dollars(model, usage, prices)
            if cost is None:
                return None
            whole += cost
        return whole
