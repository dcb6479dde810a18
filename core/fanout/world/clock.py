"""The two clocks: one that schedules, one that is written down.

Scheduling uses monotonic seconds only, so that a stepped wall clock or a lid
closed for hours cannot wake or starve anybody. Wall seconds go into records and
onto the screen. Everything that needs time takes a `Clock`.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()  # noqa: TID251  the one place

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()  # noqa: TID251  the one place
