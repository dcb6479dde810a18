"""How long batches take: learned from those that ended, said as a range.

No limit of the account decides it. Most batches are ready within an hour, and none
is worked on for longer than a day; what an account's own batches have taken says
more, but even of those the next one may be the exception.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from fanout.words.batched import BatchEnded, BatchGone, BatchOpened, BatchPlanned
from fanout.words.events import LifeStarted, Record
from fanout.words.forecast import Range

BATCHES = "batches"
"""What decides how long, where it is these."""
DAY = 86_400.0
MOST_OFTEN = 1 / 24
"""Of a batch's life: an hour of a day."""
SOONEST = 1 / 1_440
KEPT = 20
"""Newest batches that are learned from."""
ENOUGH = 5
"""From so many on, twice the longest is the most that is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """One batch that the service has."""

    at: float
    """Wall-clock second at which it was handed in."""
    count: int


@dataclass(slots=True, kw_only=True)
class Batches:
    """What one run's batches have taken, and which are under way."""

    took: list[float] = field(default_factory=list)
    """Seconds of those that ended, the newest last."""
    life: float = DAY
    """Seconds after which the service lets go of one."""
    at: float = 0.0
    """Wall-clock second of the newest fact."""
    open: dict[int, Open] = field(default_factory=dict)
    unread: int = 0
    """Calls of batches that ended, whose results are still to be read."""

    def take_in(self, record: Record) -> None:
        """Learn from one fact."""
        self.at = record.at
        handler = _HANDLERS.get(type(record.event))
        if handler is not None:
            handler(self, record.at, record.event)

    @property
    def under_way(self) -> int:
        """Calls in batches that the service has, or is through with."""
        return self.unread + sum(batch.count for batch in self.open.values())

    def read(self) -> None:
        """A result was read."""
        self.unread = max(0, self.unread - 1)

    def closed(self) -> "Batches":
        """The same without those under way: what is to come is in none of them."""
        return Batches(took=self.took, life=self.life, at=self.at)

    def whole(self, earlier: Sequence[float]) -> Range:
        """Seconds of a batch that is still to be handed in.

        `earlier`: what batches of earlier runs have taken.
        """
        known = [*earlier, *self.took][-KEPT:]
        if not known:
            life = self.life
            return Range(SOONEST * life, MOST_OFTEN * life, life)
        high = self.life
        if len(known) >= ENOUGH:
            high = min(high, 2 * max(known))
        middle = median(known)
        return Range(min(known), middle, max(middle, high))

    def rest(self, earlier: Sequence[float], now: float) -> Range:
        """Seconds until the last of those under way is ready.

        One that takes longer than usual is expected to take half as long again.
        """
        whole, latest = self.whole(earlier), Range()
        for batch in self.open.values():
            age = max(0.0, now - batch.at)
            most = max(0.0, self.life - age)
            high = whole.high - age if whole.high > age else most
            expected = min(high, max(whole.expected - age, age / 2))
            low = min(expected, max(0.0, whole.low - age))
            latest = latest.longer(Range(low, expected, high))
        return latest


def _planned(batches: Batches, at: float, event: BatchPlanned) -> None:
    batches.open[event.batch] = Open(at=at, count=event.count)


def _opened(batches: Batches, _at: float, event: BatchOpened) -> None:
    if event.seconds:
        batches.life = event.seconds


def _ended(batches: Batches, at: float, event: BatchEnded) -> None:
    batch = batches.open.pop(event.batch, None)
    if batch is not None:
        batches.unread += batch.count
    # What was looked at much later had ended before: the service knows when.
    took = event.took
    if took is None and batch is not None:
        took = at - batch.at
    if took is not None and took > 0:
        batches.took = [*batches.took, took][-KEPT:]


def _gone(batches: Batches, _at: float, event: BatchGone) -> None:
    batches.open.pop(event.batch, None)


def _life(batches: Batches, _at: float, _event: LifeStarted) -> None:
    batches.unread = 0


_HANDLERS: Mapping[type, Callable[[Batches, float, Any], None]] = {
    LifeStarted: _life,
    BatchPlanned: _planned,
    BatchOpened: _opened,
    BatchEnded: _ended,
    BatchGone: _gone,
}
FACTS = frozenset({BatchPlanned, BatchOpened, BatchEnded, BatchGone})
