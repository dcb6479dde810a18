"""A recorded run, reached at any second: by playing on, or from where one has been.

Played on, every record is folded once. Whoever goes back begins at the nearest mark
before: a copy of the fold, kept every some thousand records. Whoever goes far ahead
begins at the newest checkpoint on disk that is not too late. Whichever way a second
was reached, it shows the same.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanout.disk.checkpoints.checkpoint import Checkpoint, UnusableError, found
from fanout.disk.checkpoints.folding import Fold, Parts
from fanout.disk.lock import holder
from fanout.disk.playback import Playback
from fanout.disk.reading import Reading, Tail, keeping_all
from fanout.words.events import Record

AT_ONCE = 2_000
"""Records that are read between two looks at the clock and the keys."""
MARK_EVERY = 10_000
MARKS_MAX = 16
"""Then every other is dropped, and they are made half as often."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A fold up to a record, and where to read on."""

    high: float
    """The latest second of any record so far."""
    playback: Playback
    begin: tuple[int, int]
    tail: Tail


class Tape:
    """A run's records, read as far as somebody wants to see them."""

    def __init__(
        self, folder: Path, *, at_once: int = AT_ONCE, mark_every: int = MARK_EVERY
    ) -> None:
        self._folder = folder
        self._at_once = at_once
        self._mark_every = mark_every
        self._marks: list[_Mark] = []
        self._far = False
        """What was wanted last lies further ahead than is read at once."""
        self._looked = False
        """Checkpoints on disk were looked at."""
        self._kept: _Mark | None = None
        """What the newest of them holds."""
        self._begin(_Mark(0.0, Playback(folder), (0, 0), Tail()))

    def _begin(self, mark: _Mark) -> None:
        self.playback = mark.playback.copied()
        self.killed = False
        """It has no end, and nobody works on it: it stops where it was killed."""
        self._high = mark.high
        self._since = 0
        self._reading = Reading(
            self._folder, begin=mark.begin, tail=copy.deepcopy(mark.tail)
        )
        self._records: Iterator[Record] = iter(self._reading)
        self._next = next(self._records, None)

    def reach(self, wall: float) -> bool:
        """Take records up to this second, a few at a time; says whether all are."""
        self._leap(wall)
        for _ in range(self._at_once):
            if self._next is None:
                self._stop_there()
            if self._next is None or self._next.at > wall:
                self._far = False
                return True
            self._take(self._next)
        self._far = True
        return False

    def _take(self, record: Record) -> None:
        self.playback.take(record)
        self._high = max(self._high, record.at)
        self._since += 1
        if self._since >= self._mark_every:
            self._since = 0
            self._mark()
        self._next = next(self._records, None)

    def _mark(self) -> None:
        """Remember how it stands; the record that was read last is in it."""
        reading = self._reading
        if self._marks and self._marks[-1].high >= self._high:
            return
        tail = copy.deepcopy(reading.tail)
        self._marks.append(_Mark(self._high, self.playback.copied(), reading.end, tail))
        if len(self._marks) > MARKS_MAX:
            del self._marks[::2]
            self._mark_every *= 2

    def _leap(self, wall: float) -> None:
        """Begin where it is nearest to this second, if that is not where it stands."""
        back = self._high > wall
        known = [mark for mark in self._marks if mark.high <= wall]
        kept = self._from_disk(wall) if self._far or (back and self._looked) else None
        if kept is not None:
            known.append(kept)
        best = max(known, key=lambda mark: mark.high, default=None)
        if back:
            self._begin(best or _Mark(0.0, Playback(self._folder), (0, 0), Tail()))
        elif best is not None and best.high > self._high:
            self._begin(best)

    def _from_disk(self, wall: float) -> _Mark | None:
        """Return what a checkpoint holds that is not later than this second."""
        if not self._looked:
            self._looked = True
            self._kept = _read_newest(self._folder)
        kept = self._kept
        return kept if kept is not None and kept.high <= wall else None

    def _stop_there(self) -> None:
        if self.killed or self.playback.state.end is not None:
            return
        if holder(self._folder) is None:
            self.killed = True
            # What died here lives on in no mark.
            self.playback.die()


def _read_newest(folder: Path) -> _Mark | None:
    """Read the newest checkpoint that can be used."""
    for path in found(folder):
        fold = Fold(folder)
        try:
            with path.open("rb") as file, keeping_all():
                checkpoint = Checkpoint(folder, file)
                head = checkpoint.head
                checkpoint.load(fold, Parts(shown=True))
        except (UnusableError, OSError):
            continue
        playback = Playback.standing_at(folder, fold)
        return _Mark(head.tail.last_at, playback, head.begin, head.tail)
    return None
