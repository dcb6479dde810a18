"""The question before more is spent: who waits for it, and what an answer does."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from fanout.decide.ending import UNASKED
from fanout.decide.forecast.confirm import Allowance, Amount
from fanout.decide.forecast.say import figures
from fanout.decide.money.budget import Purses
from fanout.words.budgets import Budget
from fanout.words.commands import Answer, Stop
from fanout.words.counted import plural
from fanout.words.events import Noted
from fanout.words.forecast import Asking, Forecast
from fanout.words.model import RowId
from fanout.world.core import Core
from fanout.world.spend.planning import Asks, Planning


class Question:
    """Asks, if it has to."""

    def __init__(self, core: Core, planning: Planning, purse: Purses) -> None:
        self._core = core
        self._asks = planning.asks
        self._purse = purse
        self._before = Amount(
            tokens=core.state.spent_before.total, dollars=purse.dollars
        )
        self._allowance = Allowance(planning.budget, self._before)
        self._numbers = 0
        self._confirmed = False
        self._waiting: dict[RowId, Callable[[RowId], None]] = {}
        self._asking: Asking | None = None
        self._shown: dict[int, tuple[Amount, Forecast]] = {}
        """What each open question was about."""
        self._spent = Amount(tokens=0, dollars=0.0)
        self._left = Forecast()
        self.stop: Callable[[Stop], None]
        """Ends the run; set by whoever can."""

    @property
    def asking(self) -> Asking | None:
        """The question that is open; None once the run is being stopped."""
        return None if self._core.state.stop is not None else self._asking

    def holds(self, wave: dict[RowId, Callable[[RowId], None]], left: Forecast) -> bool:
        """Whether these rows wait for an answer; else they may go.

        `left` is all that is left to do, theirs included.
        """
        if self._asks is Asks.NEVER:
            return False
        self._spent = self._spent_so_far()
        if self._asking is None and self._allowance.covers(self._spent, left):
            return False
        if self._asks is Asks.REFUSES:
            self._refuse(left)
            return True
        self._waiting.update(wave)
        shown = self._asking
        if shown is None or not self._would_cover(left):
            self._numbers += 1
            self._shown[self._numbers] = (self._spent, left)
            shown = Asking(
                number=self._numbers,
                rows=frozenset(),
                left=left,
                spent=self._spent.tokens,
                again=self._confirmed,
            )
        self._asking = replace(shown, rows=frozenset(self._waiting))
        self._left = left
        return True

    def _would_cover(self, left: Forecast) -> bool:
        """Whether a yes to what is shown allows what has come since, too."""
        supposed = copy(self._allowance)
        supposed.confirm(*self._shown[self._numbers])
        return supposed.covers(self._spent, left)

    def raised(self, budget: Budget) -> None:
        """The run's budget is another one now."""
        self._allowance.bound(budget, self._before)

    def _refuse(self, left: Forecast) -> None:
        agents = plural(left.rows, "agent is", "agents are")
        text = f"{agents} expected to take {figures(left)}"
        self.stop(Stop("drain", UNASKED, f"{text}: nobody is there to be asked"))

    def answered(self, message: Answer) -> dict[RowId, Callable[[RowId], None]]:
        """Take an answer; returns the rows that may go."""
        shown = self._shown.get(message.number)
        if self.asking is None or shown is None:
            return {}
        if not message.yes:
            self.stop(Stop("drain", "quit", "what it would spend was declined"))
            return {}
        self._allowance.confirm(*shown)
        self._confirmed = True
        text = f"confirmed: {plural(shown[1].rows, 'agent')}, {figures(shown[1])}"
        self._core.record(Noted(source="log", text=text))
        if message.number != self._numbers and not self._allowance.covers(
            self._spent, self._left
        ):
            # More has come than what the answer was about: the newer question stands.
            return {}
        self._asking = None
        self._shown.clear()
        waiting, self._waiting = self._waiting, {}
        return waiting

    def _spent_so_far(self) -> Amount:
        """What this life has used."""
        state, now = self._core.state, self._purse.dollars
        totals = state.totals
        used = (totals.useful + totals.wasted).total - state.spent_before.total
        before = self._before.dollars
        dollars = None if now is None or before is None else now - before
        return Amount(tokens=used, dollars=dollars)
