"""Builds the snapshots that screens and reports read.

A snapshot is built when somebody asked for one, and handed out only when every
fact in it is on disk: the screen never shows what a crash could take back. When
the disk itself is in trouble there is nothing to wait for, and it is shown.
"""

from collections.abc import Callable
from dataclasses import replace

from fanout.decide.admission.planner import gate
from fanout.decide.ended import broken_off, ended
from fanout.decide.fold.run_state import RUN, interrupt, standing
from fanout.decide.money.budget import Purses
from fanout.decide.money.spent import with_raises
from fanout.words.budgets import BudgetView, Short
from fanout.words.forecast import Asking, Forecast
from fanout.words.snapshot import (
    CRASHED,
    CeilingView,
    Gate,
    PoolView,
    RunInfo,
    Snapshot,
)
from fanout.world.core import Core

LEFT_SECONDS = 1.0


class Publisher:
    """Hands out snapshots; `latest` may be read from any thread."""

    def __init__(self, core: Core, info: RunInfo, purse: Purses) -> None:
        self._core = core
        self._purse = purse
        self.info = info
        self.latest: Snapshot | None = None
        self._held: tuple[int, Snapshot] | None = None
        self.asking: Callable[[], Asking | None] = lambda: None
        """The question that is open; set by whoever asks."""
        self.outlook: Callable[[], Forecast] = Forecast
        """What is left to do; set by whoever knows."""
        self._seen: tuple[float, Forecast] | None = None
        self._told = (0, 0)
        """Last lines of the log in the two snapshots handed out last. The newer one
        may be replaced before anybody has seen it, so the next repeats its lines."""
        self.shorts: Callable[[], tuple[Short, ...]] = tuple
        """What is asked about budgets; set by whoever asks."""
        self.phase_budgets: Callable[[], dict[str, BudgetView]] = dict
        """How far phases with a budget have come; set by whoever knows."""
        self._tampered = ""
        self.crashed = False
        """The engine itself has failed: nobody works on the run any more."""
        self.wanted = True
        """Somebody asked; set from any thread."""

    def publish(self) -> None:
        """Hand out a fresh snapshot if one is wanted.

        One is built when it is asked for and handed out once all that is in it is
        on disk: waiting for a moment without anything under way to the disk could
        take for ever on a busy run.
        """
        core = self._core
        if self.wanted and self._held is None:
            self.wanted = False
            self._held = (core.durable_seq, self.build())
        if self._held is None:
            return
        seq, snapshot = self._held
        if core.store.committed >= seq or core.trouble:
            self.latest, self._held = snapshot, None
            last = snapshot.log[-1].number if snapshot.log else 0
            self._told = (self._told[1], last)

    def crash(self, tampered: str = "") -> None:
        """Show what the journal will tell: nobody works on the run any more.

        `tampered` names what the script has replaced that an engine cannot do without.
        """
        self._tampered = tampered
        state = self._core.state
        interrupt(state, state.at)
        self._core.live.clear()
        self.crashed = True
        self.latest = self.build()

    def build(self) -> Snapshot:
        """Return the run as it is now."""
        core = self._core
        state = core.state
        now = core.clock.now()
        pools, gates, ceiling = self.admission(now)
        word = standing(state)
        if self.crashed:
            word, ceiling = CRASHED, replace(ceiling, in_flight=0)
        views = {RUN: self._purse.run.view(), **self.phase_budgets()}
        budgets = with_raises(views, state)
        return Snapshot(
            at=core.clock.wall(),
            run=self.info,
            state=word,
            rows=state.copy_rows(),
            counts=state.counts,
            phases=tuple(state.phases),
            live=dict(core.live),
            pools=pools,
            gates=gates,
            ceiling=ceiling,
            totals=state.totals,
            log=core.shown.newest(self._told[0]),
            end=ended(state, self.info)
            or broken_off(word, self.info, state, self._tampered),
            disk=core.disk,
            again=dict(state.again),
            foreseen=state.foreseen,
            left=self.left(now),
            asking=self.asking(),
            prices=self._purse.prices,
            budget=budgets.pop(RUN),
            phase_budgets=budgets,
            shorts=self.shorts(),
        )

    def left(self, now: float) -> Forecast | None:
        """What is left, worked out once a second at most."""
        if self._core.state.forecast is None:
            return None
        if self._seen is None or now - self._seen[0] >= LEFT_SECONDS:
            self._seen = now, self.outlook()
        return self._seen[1]

    def admission(
        self, now: float
    ) -> tuple[tuple[PoolView, ...], dict[str, Gate], CeilingView]:
        """Return what is shown of admission at this monotonic second."""
        account = self._core.account
        gates = self._core.decision.gates
        starts = {name: block.until for name, block in gates.items()}
        return account.views(now, starts), self._gates(), account.ceiling_view()

    def _gates(self) -> dict[str, Gate]:
        core = self._core
        offset = core.clock.wall() - core.clock.now()
        gates = {
            pool: gate(core.account, pool, block, offset=offset)
            for pool, block in core.decision.gates.items()
        }
        gathering = core.gathering()
        if gathering is not None:
            gates[gathering.pool] = gathering
        return {**gates, **core.set_aside()}
