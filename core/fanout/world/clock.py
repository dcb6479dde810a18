"""The clocks: one that schedules, one that stops asleep, one that is written down.

Scheduling uses seconds that nobody can set and that go on while the machine
sleeps, so that a stepped wall clock wakes or starves nobody, and a lid closed for
an hour refills a bucket as an hour does. Only the difference to the seconds spent
awake tells that there was a sleep. Wall seconds go into records and onto the
screen. Everything that needs time takes a `Clock`.
"""

import time
from typing import Protocol

_ASLEEP_TOO = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on during a sleep: on Linux by this name, on macOS `CLOCK_MONOTONIC` does."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Seconds that only go forward, asleep too; only differences mean anything."""
        ...

    def awake(self) -> float:
        """The same, but standing still while the machine sleeps."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Seconds that go on while the machine sleeps."""
        return time.clock_gettime(_ASLEEP_TOO)

    def awake(self) -> float:
        """Seconds that do not."""
        return time.monotonic()  # noqa: TID251  the one place

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()  # noqa: TID251  the one place
