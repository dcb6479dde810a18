"""The acceleration limit: an input ceiling that may rise by a step a minute.

The ceiling of a minute is what was used in the one before plus the step, never
below the start. Minutes are the clock's own, as in the service's message.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Steepness:
    """Why a request rises too fast."""

    ceiling: int
    """Input tokens allowed in this minute."""
    following: int
    """Input tokens that will be allowed in the next."""
    retry_after: int
    """Whole seconds to the next minute."""


class Ramp:
    """How much input this minute may use, given what the last one did."""

    def __init__(self, *, start: int, step: int) -> None:
        self._start = start
        self._step = step
        self._minute = -1
        self._used = 0
        self._ceiling = start

    def _settle(self, now: float) -> None:
        minute = int(now // 60)
        if minute == self._minute:
            return
        used = self._used if minute == self._minute + 1 else 0
        self._ceiling = max(self._start, used + self._step)
        if self._minute < 0:
            self._ceiling = self._start
        self._minute, self._used = minute, 0

    def steepness(self, now: float, input_tokens: int) -> Steepness | None:
        """Why that much input may not pass in this minute; None if it may."""
        self._settle(now)
        if self._used == 0 or self._used + input_tokens <= self._ceiling:
            return None
        return Steepness(
            ceiling=self._ceiling,
            following=max(self._start, self._used + self._step),
            retry_after=max(1, math.ceil(60 - now % 60)),
        )

    def charge(self, now: float, input_tokens: int) -> None:
        """Count admitted input."""
        self._settle(now)
        self._used += input_tokens
