"""What was spent, what calls in flight may still spend, and whether more fits.

A budget is a ceiling: a call is sent only while everything spent, the worst case
of everything in flight and its own worst case stay below it together. The worst
case of a call is its estimated input and the whole of its `max_tokens`, so the
overshoot is at most what input estimates miss.

The run, each of its phases and each agent that has a budget have a purse each. A
call is paid from all of those that it belongs to, and sent only where it fits into
all of them.
"""

from copy import deepcopy
from dataclasses import dataclass
from enum import Enum

from fanout.decide.forecast.say import dollars as said
from fanout.decide.money.pricing import dollars
from fanout.decide.money.spending import Spend
from fanout.words.budgets import Budget, BudgetView
from fanout.words.model import NO_USAGE, RowId, Tally, Usage
from fanout.words.prices import Prices


class Scope(Enum):
    """Whose budget it is."""

    RUN = "run"
    PHASE = "phase"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Most:
    """The most something can come to."""

    tokens: int = 0
    dollars: float | None = 0.0
    """None: its price is unknown."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call does not fit."""

    scope: Scope
    text: str
    most: Most
    """What the call may come to."""


class Purse:
    """One ceiling: what was spent below it, and what is set aside."""

    def __init__(self, prices: Prices, spend: Spend | None = None) -> None:
        """`spend` is what earlier lives used; it is not changed."""
        self.budget = Budget()
        self._prices = prices
        self._spend = Spend() if spend is None else deepcopy(spend)
        self._held: dict[int, Most] = {}
        """Reservations by call, doubts by its negative."""
        self._held_tokens = 0

    @property
    def tokens(self) -> int:
        """Tokens spent, all classes."""
        return self._spend.tokens

    @property
    def dollars(self) -> float | None:
        """Dollars spent; None while a price is unknown."""
        return self._spend.dollars(self._prices)

    @property
    def flies(self) -> bool:
        """Something is reserved for a call in flight."""
        return any(number > 0 for number in self._held)

    def view(self) -> BudgetView:
        """Return how far it has come."""
        return BudgetView(
            budget=self.budget,
            tokens=self.tokens,
            dollars=self.dollars,
            held_tokens=self._held_tokens,
            held_dollars=self._held_dollars(),
        )

    def charge(self, model: str, usage: Usage, cost: float | None) -> None:
        """Count what a call has used."""
        self._spend.add(model, usage, cost)

    def join(self, spend: Spend) -> None:
        """Count in what earlier lives have spent in one of the run's phases."""
        self._spend.join(spend)

    def hold(self, number: int, most: Most) -> None:
        """Set aside under this number, in place of what it held before."""
        self.release(number)
        self._held[number] = most
        self._held_tokens += most.tokens

    def release(self, number: int) -> None:
        """Set aside no more."""
        gone = self._held.pop(number, None)
        self._held_tokens -= 0 if gone is None else gone.tokens

    def refusal(self, most: Most, beyond: Most) -> str:
        """Say why a call that may take so much does not fit; empty when it does.

        `beyond` is what others may take that nothing is reserved for yet.
        """
        limit = self.budget.tokens
        if limit is not None:
            held = self._held_tokens + beyond.tokens
            if self.tokens + held + most.tokens > limit:
                return (
                    f"budget of {limit:,} tokens reached: {self.tokens:,} spent, "
                    f"{held:,} in flight, the next call may take {most.tokens:,}"
                )
        return self._dollar_refusal(most, beyond)

    def _dollar_refusal(self, most: Most, beyond: Most) -> str:
        limit = self.budget.dollars
        if limit is None:
            return ""
        spent, held = self.dollars, self._held_dollars()
        if most.dollars is None or spent is None or held is None:
            return "a budget in dollars needs a price, and a model has none"
        held += beyond.dollars or 0.0
        if spent + held + most.dollars > limit:
            return (
                f"budget of {said(limit)} reached: {said(spent)} spent, "
                f"{said(held)} in flight, the next call may take {said(most.dollars)}"
            )
        return ""

    def _held_dollars(self) -> float | None:
        whole = 0.0
        for most in self._held.values():
            if most.dollars is None:
                return None
            whole += most.dollars
        return whole


class Purses:
    """The run's purse, its phases' and its agents'."""

    def __init__(self, budget: Budget, prices: Prices) -> None:
        self.prices = prices
        self.run = Purse(prices)
        self.run.budget = budget
        self.phases: dict[str, Purse] = {}
        self._agents: dict[RowId, Purse] = {}

    @property
    def tokens(self) -> int:
        """Tokens the run has spent, all classes, all lives."""
        return self.run.tokens

    @property
    def dollars(self) -> float | None:
        """Dollars the run has spent; None while a price is unknown."""
        return self.run.dollars

    def begin(self, phase: str, spend: Spend) -> None:
        """Earlier lives have spent this in a phase."""
        self.phases[phase] = Purse(self.prices, spend)
        self.run.join(spend)

    def phase(self, name: str) -> Purse:
        """The purse of a phase."""
        found = self.phases.get(name)
        if found is None:
            found = self.phases[name] = Purse(self.prices)
        return found

    def bound_agent(self, row: RowId, budget: Budget, model: str, tally: Tally) -> None:
        """Give one agent a budget; `tally` is what it has cost so far."""
        known = self._agents.get(row)
        if known is None:
            spend = Spend()
            used = tally.useful + tally.wasted
            spend.add(model, used, tally.dollars)
            known = self._agents[row] = Purse(self.prices, spend)
            known.hold(0, self.most(model, tally.in_doubt))
        known.budget = budget

    def most(self, model: str, usage: Usage, share: float = 1.0) -> Most:
        """What a call of this worst case may come to, at a share of the price."""
        cost = dollars(model, usage, self.prices) if usage.total else 0.0
        return Most(usage.total, None if cost is None else cost * share)

    def _of(self, row: RowId) -> list[Purse]:
        mine = [self.run, self.phase(row.phase)]
        agent = self._agents.get(row)
        return mine if agent is None else [*mine, agent]

    def charge(
        self, row: RowId, model: str, usage: Usage, *, share: float = 1.0
    ) -> None:
        """Count what a call has used, useful or not, at a share of the price."""
        if usage.total:
            cost = self.most(model, usage, share).dollars
            for purse in self._of(row):
                purse.charge(model, usage, cost)

    def reserve(
        self, row: RowId, call: int, model: str, worst: Usage, *, share: float = 1.0
    ) -> None:
        """Set aside the most an admitted call can use, at a share of the price."""
        self._hold(row, call, self.most(model, worst, share))

    def doubt(
        self, row: RowId, call: int, model: str, most: Usage, *, share: float = 1.0
    ) -> None:
        """Set aside for good what a cut or killed call may have used."""
        if most.total:
            self._hold(row, -call, self.most(model, most, share))

    def _hold(self, row: RowId, number: int, most: Most) -> None:
        for purse in self._of(row):
            purse.hold(number, most)

    def resolve(self, row: RowId, call: int) -> None:
        """What a call has used that was in doubt is known now, and charged apart."""
        for purse in self._of(row):
            purse.release(-call)

    def settle(self, row: RowId, call: int) -> None:
        """The call has ended; what it used is charged apart."""
        for purse in self._of(row):
            purse.release(call)

    def refusal(
        self,
        row: RowId,
        model: str,
        worst: Usage = NO_USAGE,
        *,
        share: float = 1.0,
        beyond: Most = Most(),
    ) -> Refusal | None:
        """Say which budget a call of this worst case does not fit into.

        `beyond` is what others of its phase may take that are about to be sent.
        """
        most = self.most(model, worst, share)
        agent = self._agents.get(row)
        if agent is not None and (text := agent.refusal(most, Most())):
            return Refusal(Scope.AGENT, f"the agent's {text}", most)
        if text := self.phase(row.phase).refusal(most, beyond):
            return Refusal(Scope.PHASE, f"the phase's {text}", most)
        if text := self.run.refusal(most, Most()):
            return Refusal(Scope.RUN, text, most)
        return None
