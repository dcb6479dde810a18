"""A run as a screen shows it, from its journal alone: watched, or replayed.

Rows, counts and sums are the fold of the records, as in the engine. What admission
showed is what the engine noted (`fanout.decide.observing`); what a running row was
doing within a call is nowhere kept, and not shown.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from fanout.decide.ended import broken_off, ended
from fanout.decide.fold.lifecycle import IllegalEvent
from fanout.decide.fold.run_state import RUN, standing
from fanout.decide.fold.state import RunState, apply, interrupt
from fanout.decide.money.spent import budgets_of
from fanout.decide.observing import Seen, seen_in
from fanout.decide.shown import Shown
from fanout.disk.checkpoints.folding import Fold, Parts
from fanout.disk.opening import open_fold
from fanout.disk.reading import Mark
from fanout.disk.reports.writing import run_info
from fanout.words.events import Record
from fanout.words.model import RowId, Status
from fanout.words.observed import Observed
from fanout.words.snapshot import KILLED, Gate, Snapshot

_WAITING = frozenset({Status.QUEUED, Status.THROTTLED})


class Playback:
    """Takes a run's records in order, and shows the run as it was then."""

    def __init__(self, run_folder: Path) -> None:
        self.state = RunState()
        self._folder = run_folder
        self._seen = Seen()
        self._event: Observed | None = None
        """The newest observation that reads."""
        self._shown = Shown()

    @classmethod
    def opened(cls, run_folder: Path) -> tuple[Self, Mark]:
        """Return a run as it stands now, and how far its journal was read for it.

        Rows that wait stand behind those that had waited first when admission was
        observed last.
        """
        opened = open_fold(run_folder, Parts(shown=True))
        playback = cls.standing_at(run_folder, opened.fold)
        return playback, Mark(*opened.reading.end, opened.tail.last_seq)

    @classmethod
    def standing_at(cls, run_folder: Path, fold: Fold) -> Self:
        """Return a run as it was folded; the fold is its own from now on."""
        playback = cls(run_folder)
        playback.state, playback._shown = fold.state, fold.shown
        if playback._shown.observed is not None:
            playback._observed(playback._shown.observed)
        return playback

    def copied(self) -> Self:
        """Return the same again, for going on from here more than once.

        Rows are frozen and stay shared; so there may be many of them.
        """
        facts = dict(vars(self.state))
        rows = facts.pop("rows")
        state, shown = RunState(), copy.copy(self._shown)
        vars(state).update(copy.deepcopy(facts), rows=dict(rows))
        shown.log = self._shown.log.copy()
        other = copy.copy(self)
        vars(other).update(state=state, _shown=shown)
        return other

    def take(self, record: Record) -> None:
        """Fold one record; one that cannot follow is left out."""
        try:
            apply(self.state, record)
        except IllegalEvent:
            return
        if isinstance(record.event, Observed):
            self._observed(record.event)
        self._shown.take_in(record)

    def die(self) -> None:
        """Nobody works on the run any more: what was in flight is in doubt."""
        if self.state.end is None:
            interrupt(self.state, self.state.at)

    def snapshot(self, at: float, *, killed: bool = False) -> Snapshot:
        """Return the run as it stands after the records so far, at second `at`."""
        state = self.state
        word = KILLED if killed and state.end is None else standing(state)
        flying = sum(row.flight is not None for row in state.rows.values())
        budgets = budgets_of(state)
        info = run_info(self._folder, state)
        over = word in ("finished", KILLED)
        return Snapshot(
            at=at,
            run=info,
            state=word,
            rows=state.copy_rows(),
            counts=state.counts,
            phases=tuple(state.phases),
            pools=self._seen.pools,
            gates={} if over else self._gates(),
            ceiling=replace(self._seen.ceiling, in_flight=flying),
            totals=state.totals,
            prices=state.prices,
            budget=budgets[RUN],
            phase_budgets={n: one for n, one in budgets.items() if n != RUN},
            log=tuple(self._shown.log),
            end=ended(state, info) or broken_off(word, info, state),
            again=dict(state.again),
            foreseen=state.foreseen,
            left=None if over else self._seen.left,
        )

    def _observed(self, event: Observed) -> None:
        try:
            self._seen = seen_in(event, {})
        except (ValueError, KeyError, TypeError):
            # Of another version: gauges stay as they were, the rows are right.
            return
        self._event = event

    def _gates(self) -> Mapping[str, Gate]:
        """Who waits now, in the line that was observed last."""
        if self._event is None:
            return {}
        waiting: dict[str, list[RowId]] = {}
        for row in self.state.rows.values():
            if row.status in _WAITING and row.spec is not None:
                waiting.setdefault(row.spec.pool, []).append(row.id)
        return seen_in(self._event, waiting).gates
