"""When each row was what, and how full the limits were: a run along its time.

Made from the records, one after the other, by whoever folds them anyway. Time
between lives is left out: what matters is how long the run worked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide.fold.run_state import RunState
from fanout.words.events import LifeStarted, Record, RowsExpected
from fanout.words.model import RowId, Status
from fanout.words.observed import Observed


@dataclass(slots=True)
class Stretch:
    """A row was one thing from `start` to `end`, in seconds of the run."""

    status: Status
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One limit of a pool at one moment."""

    at: float
    spent: int
    """Charged in the trailing minute."""
    limit: int | None
    """Per minute; None while unknown."""


@dataclass(slots=True)
class Timeline:
    """A run along its time."""

    rows: dict[RowId, list[Stretch]] = field(default_factory=dict)
    """In the order in which they were expected; ends last as long as the run."""
    readings: dict[tuple[str, str], list[Reading]] = field(default_factory=dict)
    """By pool and limit."""
    lives: list[float] = field(default_factory=list)
    """Seconds at which a process began to work on it."""
    length: float = 0.0


class Clockwork:
    """Builds a timeline; `take` every record once it was applied."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self._offset = 0.0
        self._begin = 0.0
        self._open: dict[RowId, Stretch] = {}

    def take(self, record: Record, state: RunState) -> None:
        """Note what the record has changed."""
        event = record.event
        if isinstance(event, LifeStarted):
            self._life(record.at, state)
        at = max(self.timeline.length, record.at - self._begin + self._offset)
        self.timeline.length = at
        if isinstance(event, Observed):
            self._observed(at, event)
        row = getattr(event, "row", None)
        for one in event.rows if isinstance(event, RowsExpected) else (row,):
            if isinstance(one, RowId) and one in state.rows:
                self._moved(one, state.rows[one].status, at)

    def finish(self) -> Timeline:
        """Return it, with what is still open going on to the end."""
        for stretch in self._open.values():
            stretch.end = self.timeline.length
        return self.timeline

    def _life(self, at: float, state: RunState) -> None:
        self._offset, self._begin = self.timeline.length, at
        self.timeline.lives.append(self._offset)
        # A new life finds rows where the old one's end has put them.
        for row in state.rows.values():
            self._moved(row.id, row.status, self._offset)

    def _moved(self, row: RowId, status: Status, at: float) -> None:
        known = self._open.get(row)
        if known is not None and known.status is status:
            return
        if known is not None:
            known.end = at
        self._open[row] = stretch = Stretch(status, at, at)
        self.timeline.rows.setdefault(row, []).append(stretch)

    def _observed(self, at: float, event: Observed) -> None:
        for pool in _listed(event.pools):
            for bucket in _listed(pool.get("buckets")):
                try:
                    dimension, limit, _, _, spent, _, _ = bucket
                except (TypeError, ValueError):
                    continue
                name = (str(pool.get("name")), str(dimension))
                reading = Reading(at, int(spent), limit)
                self.timeline.readings.setdefault(name, []).append(reading)


def _listed(value: Any) -> list[Any]:
    """A list of mappings or lists, as far as it is one."""
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, Mapping | list)]
