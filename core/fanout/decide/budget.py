"""What was spent, what calls in flight may still spend, and whether more fits.

A budget is a ceiling: a call is sent only while everything spent, the worst case
of everything in flight and its own worst case stay below it together. The worst
case of a call is its estimated input and the whole of its `max_tokens`, so the
overshoot is at most what input estimates miss.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fanout.decide.pricing import dollars
from fanout.words.model import NO_USAGE, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings over all four token classes and all lives; None is none."""

    tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class _Worst:
    tokens: int
    dollars: float | None


class Purse:
    """One run's money; `charge` what was used, `reserve` what may be."""

    def __init__(self, budget: Budget, spent: Mapping[str, Usage]) -> None:
        """`spent` is what earlier lives used, by model."""
        self._budget = budget
        self._spent = dict(spent)
        self._reserved: dict[int, _Worst] = {}
        self._held = 0
        """Tokens of all that is reserved."""
        self._dollars: float | None = 0.0
        for model, usage in spent.items():
            self._add_dollars(model, usage)

    @property
    def tokens(self) -> int:
        """Tokens spent, all classes."""
        return sum(usage.total for usage in self._spent.values())

    @property
    def dollars(self) -> float | None:
        """Dollars spent; None once a price was unknown."""
        return self._dollars

    def charge(self, model: str, usage: Usage, *, share: float = 1.0) -> None:
        """Count what a call has used, useful or not, at a share of the price."""
        if usage.total:
            self._spent[model] = self._spent.get(model, NO_USAGE) + usage
            self._add_dollars(model, usage, share)

    def reserve(
        self, call: int, model: str, worst: Usage, *, share: float = 1.0
    ) -> None:
        """Set aside the most an admitted call can use, at a share of the price."""
        self._hold(call, _worst(model, worst, share))

    def doubt(self, call: int, model: str, most: Usage, *, share: float = 1.0) -> None:
        """Set aside for good what a cut or killed call may have used."""
        if most.total:
            self._hold(-call, _worst(model, most, share))

    def resolve(self, call: int) -> None:
        """What a call has used that was in doubt is known now, and charged apart."""
        self._release(-call)

    def rebate(self, model: str, usage: Usage, share: float) -> None:
        """Of what was charged before, this much cost a share of the price only."""
        cost = dollars(model, usage) if usage.total else 0.0
        if cost is not None and self._dollars is not None:
            self._dollars -= cost * (1.0 - share)

    def settle(self, call: int) -> None:
        """The call has ended; what it used is charged apart."""
        self._release(call)

    def refusal(self, model: str, worst: Usage, *, share: float = 1.0) -> str:
        """Say why a call of this worst case does not fit; empty when it does."""
        limit = self._budget.tokens
        if limit is not None:
            held = self._held
            if self.tokens + held + worst.total > limit:
                return (
                    f"budget of {limit:,} tokens reached: {self.tokens:,} spent, "
                    f"{held:,} in flight, the next call may take {worst.total:,}"
                )
        return self._dollar_refusal(model, worst, share)

    def _dollar_refusal(self, model: str, worst: Usage, share: float) -> str:
        limit = self._budget.dollars
        if limit is None:
            return ""
        cost = dollars(model, worst)
        if cost is None or self._dollars is None:
            return f"a budget in dollars needs a price, and {model} has none"
        cost *= share
        held = sum(one.dollars or 0.0 for one in self._reserved.values())
        if self._dollars + held + cost > limit:
            return (
                f"budget of ${limit:,.2f} reached: ${self._dollars:,.2f} spent, "
                f"${held:,.2f} in flight, the next call may take ${cost:,.2f}"
            )
        return ""

    def _hold(self, number: int, worst: _Worst) -> None:
        self._release(number)
        self._reserved[number] = worst
        self._held += worst.tokens

    def _release(self, number: int) -> None:
        gone = self._reserved.pop(number, None)
        self._held -= 0 if gone is None else gone.tokens

    def _add_dollars(self, model: str, usage: Usage, share: float = 1.0) -> None:
        cost = dollars(model, usage) if usage.total else 0.0
        if cost is None or self._dollars is None:
            self._dollars = None
        else:
            self._dollars += cost * share


def _worst(model: str, usage: Usage, share: float) -> _Worst:
    cost = dollars(model, usage)
    return _Worst(usage.total, None if cost is None else cost * share)
