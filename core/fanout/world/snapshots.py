"""Builds the snapshots that screens and reports read.

A snapshot is built when somebody asked for one, and handed out only when every
fact in it is on disk: the screen never shows what a crash could take back. When
the disk itself is in trouble there is nothing to wait for, and it is shown.
"""

from fanout.decide.admission.planner import gate
from fanout.decide.budget import Purse
from fanout.words.snapshot import (
    Gate,
    RunEnd,
    RunInfo,
    Snapshot,
    Totals,
)
from fanout.world.core import Core

LOG_TAIL = 1_000


class Publisher:
    """Hands out snapshots; `latest` may be read from any thread."""

    def __init__(self, core: Core, info: RunInfo, purse: Purse) -> None:
        self._core = core
        self._purse = purse
        self.info = info
        self.latest: Snapshot | None = None
        self._held: tuple[int, Snapshot] | None = None
        self.end: RunEnd | None = None
        """Set by whoever ended the run."""
        self.crashed = False
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

    def build(self) -> Snapshot:
        """Return the run as it is now."""
        core = self._core
        state = core.state
        now = core.clock.now()
        log = tuple(core.log)
        return Snapshot(
            at=core.clock.wall(),
            run=self.info,
            state=self._word(),
            rows=state.copy_rows(),
            counts=state.counts,
            phases=tuple(state.phases),
            live=dict(core.live),
            pools=core.account.views(now),
            gates=self._gates(),
            ceiling=core.account.ceiling_view(),
            totals=self._totals(state.totals),
            log=log[-LOG_TAIL:],
            end=self.end,
        )

    def _word(self) -> str:
        state = self._core.state
        if self.crashed:
            return "crashed"
        if state.end is not None:
            return "finished"
        if state.stop is not None:
            return "draining" if state.stop.mode == "drain" else "stopping"
        if state.script_end is not None and state.script_end.outcome != "returned":
            return "draining"
        if not state.rows:
            return "starting"
        return "paused" if state.paused else "running"

    def _gates(self) -> dict[str, Gate]:
        core = self._core
        offset = core.clock.wall() - core.clock.now()
        return {
            pool: gate(core.account, pool, block, offset=offset)
            for pool, block in core.decision.gates.items()
        }

    def _totals(self, totals: Totals) -> Totals:
        return Totals(
            useful=totals.useful,
            wasted=totals.wasted,
            in_doubt=totals.in_doubt,
            overhead=totals.overhead,
            refusals_429=totals.refusals_429,
            refusals_529=totals.refusals_529,
            reused=totals.reused,
            dollars=self._purse.dollars,
        )
