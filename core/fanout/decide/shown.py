"""What a screen shows of a run beside its state: the log, and what was observed."""

from collections import deque
from itertools import islice

from fanout.decide.logline import describe
from fanout.words.ahead import Forecasted
from fanout.words.events import LifeStarted, Noted, PhaseEntered, Record
from fanout.words.observed import Observed
from fanout.words.snapshot import LogLine

LOG_LINES = 1_000
"""Lines the screen can scroll back; the journal has them all."""


class Shown:
    """Takes in a run's records; holds the newest lines and the newest observation."""

    def __init__(self, keep: int = LOG_LINES) -> None:
        """`keep`: so many lines are held."""
        self.log: deque[LogLine] = deque(maxlen=keep)
        self.lines = 0
        """Lines there were, also those that are no longer held."""
        self.observed: Observed | None = None
        self.entered: set[str] = set()
        """Phases that the newest life has entered."""

    def newest(self, after: int) -> tuple[LogLine, ...]:
        """Return what a screen scrolls back, and all that came after line `after`."""
        count = max(LOG_LINES, self.lines - after)
        return tuple(islice(reversed(self.log), count))[::-1]

    def take_in(self, record: Record) -> None:
        """Learn from one record."""
        event = record.event
        if isinstance(event, Observed):
            self.observed = event
        line = describe(record)
        if line is None:
            return
        self.lines += 1
        self.log.append(
            LogLine(
                number=self.lines,
                at=record.at,
                level=line.level,
                text=line.text,
                row=line.row,
                said=isinstance(event, Noted | Forecasted),
                phase=self._phase(event),
            )
        )

    def _phase(self, event: object) -> str | None:
        """The phase that this life enters with it, for the first time."""
        if isinstance(event, LifeStarted):
            self.entered.clear()
        if not isinstance(event, PhaseEntered) or event.phase in self.entered:
            return None
        self.entered.add(event.phase)
        return event.phase
