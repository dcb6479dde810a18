"""Budgets at work: what a call does that does not fit, and what a person may change.

    asked ─▶ in line ─▶ its turn: fits ─▶ sent
                ▲          │ the agent's does not fit ─▶ missing: budget
                │          │ the run's does not fit ─▶ waits; then asked, or stopped
                │          ▼ the phase's does not fit
                └─ fits ─ set aside ─ nothing of its phase flies ─▶ asked, or
                                                                    missing: budget

Most of what calls in flight have reserved comes back when they end, so a call that
does not fit waits for those first. Out of line, it holds up no other phase's.

Where somebody can be asked, each budget that is in the way is a question of its own;
what waits for the answer stays queued, and everything else goes on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fanout.decide.batching import POOL, PRICE
from fanout.decide.fold.run_state import RUN
from fanout.decide.money.budget import Most, Purses, Refusal, Scope
from fanout.words.budgets import Budget, BudgetView, Short, gate_of
from fanout.words.commands import KeepBudget, RaiseBudget, Stop
from fanout.words.events import BudgetSet, Noted
from fanout.words.model import Cause, MissingKind, RowId, Tally
from fanout.words.snapshot import Gate
from fanout.world.core import Core
from fanout.world.request import Request


@dataclass(slots=True)
class _Phase:
    """A phase whose budget has refused a call."""

    aside: dict[RowId, Request] = field(default_factory=dict)
    """Calls out of line, in the order in which they were refused."""
    back: dict[RowId, Most] = field(default_factory=dict)
    """Calls that fit again and are in line: nothing is reserved for them yet."""


class Budgets:
    """All budgets of a life."""

    def __init__(self, core: Core, purses: Purses, *, raises: bool) -> None:
        """`raises`: somebody can be asked to raise one."""
        self._core = core
        self.purses = purses
        self._raises = raises
        self._given: dict[str, Budget] = {}
        """Of phases, as options and people have them: they go over the script's."""
        self._short: dict[str, _Phase] = {}
        self._reached: dict[str, str] = {}
        """Phases that send nothing more, and why."""
        self._numbers = 0
        self._asking: dict[str, Short] = {}
        """What somebody is asked, by phase; the run's by `RUN`."""
        self.again: Callable[[Request], None]
        """Puts a call into its line; set by whoever can."""
        self.waits: Callable[[RowId], bool]
        """Whether a row's call is in a line; set by whoever can."""
        self.stop: Callable[[Stop], None]
        """Ends the run; set by whoever can."""

    # -- what is bounded -----------------------------------------------------

    def given(self, phases: dict[str, Budget]) -> None:
        """Take what the options say of phases."""
        self._given = dict(phases)
        for phase, budget in phases.items():
            self.purses.phase(phase).budget = budget

    def finish(self) -> None:
        """Say which options bounded nothing; the run ends."""
        core = self._core
        end = core.state.script_end
        if end is None or end.outcome != "returned":
            # There might have been more of them.
            return
        for phase in sorted(self._given.keys() - core.state.phases.keys()):
            text = (
                f"a budget names the phase {phase}, which there was not: "
                "it bounded nothing"
            )
            core.record(Noted(source="engine", text=text))

    def bound_phase(self, phase: str, budget: Budget) -> Budget:
        """Take what the script says of a phase; returns what holds."""
        purse = self.purses.phase(phase)
        holds = self._given.get(phase, Budget()).over(budget).over(purse.budget)
        if holds != purse.budget:
            purse.budget = holds
            self._reached.pop(phase, None)
        return holds

    def bound_agent(self, row: RowId, budget: Budget, model: str) -> None:
        """Take what the script says of one agent."""
        if budget.is_none:
            return
        known = self._core.state.rows.get(row)
        tally = Tally() if known is None else known.tally
        self.purses.bound_agent(row, budget, model, tally)

    # -- what does not fit ---------------------------------------------------

    def refusal(self, request: Request) -> Refusal | None:
        """Say why a call may not be sent now."""
        share = PRICE if request.pool == POOL else 1.0
        phase, worst = request.row.phase, request.worst
        reached = self._reached.get(phase)
        if reached is not None:
            most = self.purses.most(request.model, worst, share)
            return Refusal(Scope.PHASE, reached, most)
        return self.purses.refusal(
            request.row,
            request.model,
            worst,
            share=share,
            beyond=self._beyond(phase, request.row),
        )

    def _beyond(self, phase: str, row: RowId) -> Most:
        """What others of the phase may take that were put back before this one."""
        short = self._short.get(phase)
        if short is None or not short.back:
            return Most()
        others = [most for name, most in short.back.items() if name != row]
        return Most(
            sum(most.tokens for most in others),
            sum(most.dollars or 0.0 for most in others),
        )

    def refused(self, request: Request, refusal: Refusal) -> None:
        """Keep a call that is out of line now, or end its row."""
        row = request.row
        if refusal.scope is Scope.AGENT or row.phase in self._reached:
            request.on_final(request, MissingKind.BUDGET, refusal.text, None)
            return
        short = self._short.setdefault(row.phase, _Phase())
        short.back.pop(row, None)
        short.aside[row] = request
        # Nothing else may happen before it is looked at again.
        self._core.at(self._core.clock.now(), lambda: None)

    def forget(self, row: RowId) -> None:
        """A row's call is taken back."""
        short = self._short.get(row.phase)
        if short is not None:
            short.aside.pop(row, None)
            short.back.pop(row, None)

    def settle(self) -> None:
        """Put back what fits again; end what will not. Called after every batch."""
        if self._core.state.stop is not None:
            return
        for phase in list(self._short):
            self._settle(phase, self._short[phase])

    def _settle(self, phase: str, short: _Phase) -> None:
        short.back = {r: m for r, m in short.back.items() if self.waits(r)}
        while short.aside:
            row, request = next(iter(short.aside.items()))
            refusal = self.refusal(request)
            if refusal is not None and refusal.scope is Scope.PHASE:
                if not short.back and not self.purses.phase(phase).flies:
                    self._is_short(phase, short, refusal)
                return
            del short.aside[row]
            share = PRICE if request.pool == POOL else 1.0
            short.back[row] = self.purses.most(request.model, request.worst, share)
            self.again(request)
        self._asking.pop(phase, None)
        if not short.back:
            del self._short[phase]

    def _is_short(self, phase: str, short: _Phase, refusal: Refusal) -> None:
        """Nothing of the phase flies, and its next call does not fit."""
        if self._raises:
            self._ask(phase, refusal)
        else:
            self._reach(phase, short, refusal.text)

    def _reach(self, phase: str, short: _Phase, text: str) -> None:
        """Nothing more is sent of the phase: what waits ends."""
        self._reached[phase] = text
        del self._short[phase]
        self._core.record(Noted(source="log", text=f"phase {phase}: {text}"))
        for request in short.aside.values():
            request.on_final(request, MissingKind.BUDGET, text, None)

    # -- what is asked -------------------------------------------------------

    @property
    def asking(self) -> tuple[Short, ...]:
        """What somebody is asked; nothing once the run is being stopped."""
        state = self._core.state
        ending = state.script_end is not None and state.script_end.outcome != "returned"
        if state.stop is not None or state.end is not None or ending:
            return ()
        aside = sum(len(short.aside) for short in self._short.values())
        in_line = state.counts.queued + state.counts.throttled > aside
        return tuple(s for s in self._asking.values() if s.phase != RUN or in_line)

    def _ask(self, phase: str, refusal: Refusal) -> None:
        """Ask, or say anew what is asked: the number stays."""
        known = self._asking.get(phase)
        if known is None:
            self._numbers += 1
        self._asking[phase] = Short(
            number=self._numbers if known is None else known.number,
            phase=phase,
            reason=refusal.text,
            tokens=refusal.most.tokens,
            dollars=refusal.most.dollars,
        )

    def run_is_short(self, refusal: Refusal) -> None:
        """Nothing flies, and the next call does not fit into the run's budget."""
        if self._raises:
            self._ask(RUN, refusal)
        else:
            self.stop(Stop("drain", "budget", refusal.text))

    def raised(self, message: RaiseBudget) -> None:
        """Somebody sets a budget anew: it goes on from there."""
        phase = message.phase
        purse = self.purses.phase(phase) if phase else self.purses.run
        asked = Budget(tokens=message.tokens, dollars=message.dollars)
        holds = asked.over(purse.budget)
        if self._core.state.end is not None or holds == purse.budget:
            return
        purse.budget = holds
        if phase:
            # The script may say its own again when it enters the phase once more.
            self._given[phase] = holds
            self._reached.pop(phase, None)
        self._asking.pop(phase, None)
        self._core.record(
            BudgetSet(tokens=holds.tokens, dollars=holds.dollars, phase=phase)
        )

    def keep(self, message: KeepBudget) -> None:
        """A phase's budget stays as it is: what waits for it ends."""
        asked = self._asking.get(message.phase)
        short = self._short.get(message.phase)
        if asked is not None and short is not None:
            del self._asking[message.phase]
            self._reach(message.phase, short, asked.reason)

    def ask_again(self, rows: Iterable[RowId]) -> None:
        """Somebody reopens rows: their phases' budgets are asked about once more."""
        if self._raises:
            for phase in {row.phase for row in rows}:
                self._reached.pop(phase, None)

    # -- what is shown -------------------------------------------------------

    def gates(self) -> dict[str, Gate]:
        """Why those wait that are set aside, by phase."""
        found: dict[str, Gate] = {}
        for phase, short in self._short.items():
            if short.aside:
                first = next(iter(short.aside.values()))
                refusal = self.refusal(first)
                name = gate_of(phase)
                found[name] = Gate(
                    pool=name,
                    waiting=tuple(short.aside),
                    cause=Cause.BUDGET,
                    until=None,
                    detail="" if refusal is None else refusal.text,
                )
        return found

    def views(self) -> dict[str, BudgetView]:
        """How far phases with a budget have come."""
        every = self.purses.phases.items()
        return {n: p.view() for n, p in every if not p.budget.is_none}
