"""Builds the snapshots that screens and reports read.

A snapshot is built when somebody asked for one, and handed out only when every
fact in it is on disk: the screen never shows what a crash could take back. When
the disk itself is in trouble there is nothing to wait for, and it is shown.
"""

from collections.abc import Mapping

from fanout.decide.planner import Decision
from fanout.decide.pricing import dollars
from fanout.words.model import Usage
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

    def __init__(self, core: Core, info: RunInfo) -> None:
        self._core = core
        self.info = info
        self.latest: Snapshot | None = None
        self.end: RunEnd | None = None
        """Set by whoever ended the run."""
        self.crashed = False
        self.wanted = True
        """Somebody asked; set from any thread."""

    def publish(self) -> None:
        """Hand out a fresh snapshot if one is wanted."""
        if self.wanted and self._core.store.committed >= self._core.durable_seq:
            self.wanted = False
            self.latest = self.build()

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
            gates=self._gates(core.decision),
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

    def _gates(self, decision: Decision) -> dict[str, Gate]:
        core = self._core
        return {
            pool: Gate(
                pool=pool,
                waiting=gate.waiting,
                cause=gate.cause,
                until=core.until_wall(gate.until),
                detail=gate.detail,
            )
            for pool, gate in decision.gates.items()
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
            dollars=self._dollars(),
        )

    def _dollars(self) -> float | None:
        spent: dict[str, Usage] = {}
        for row in self._core.state.rows.values():
            if row.spec is None:
                continue
            used = row.tally.useful + row.tally.wasted
            spent[row.spec.model] = spent.get(row.spec.model, Usage()) + used
        return add_up(spent)


def add_up(spent: Mapping[str, Usage]) -> float | None:
    """Return dollars for usage by model; None as soon as one price is unknown."""
    total = 0.0
    for model, usage in spent.items():
        cost = dollars(model, usage) if usage.total else 0.0
        if cost is None:
            return None
        total += cost
    return total
