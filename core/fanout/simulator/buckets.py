"""One token bucket on plain numbers: it fills all the time and may go into debt.

The level is settled lazily: it is exact whenever it is read or changed, and
nothing runs in between. A bucket admits what fits; a request larger than the
whole bucket fits when the bucket is full, after which everyone waits.
"""

import math
from dataclasses import dataclass

_ROUNDING = 1e-6


@dataclass(slots=True, kw_only=True)
class Bucket:
    """A limit per minute, its burst capacity and its present level."""

    limit: float
    """Units per minute."""
    capacity: float
    """The most it can hold, in units."""
    level: float
    """Units left at `settled_at`; negative means debt."""
    settled_at: float
    """Seconds on the clock of `now`."""
    foreign: float = 0.0
    """Units per second that other processes of the organisation take."""

    @property
    def rate(self) -> float:
        """Units that flow in per second."""
        return self.limit / 60

    def settle(self, now: float) -> float:
        """Bring the level up to `now` and return it."""
        elapsed = now - self.settled_at
        if elapsed <= 0:
            return self.level
        self.settled_at = now
        if self.level < 0:
            # Others are refused as well while the bucket is in debt.
            repaying = min(elapsed, -self.level / self.rate)
            self.level += repaying * self.rate
            elapsed -= repaying
        if elapsed > 0:
            net = self.level + elapsed * (self.rate - self.foreign)
            self.level = min(self.capacity, max(0.0, net))
        return self.level

    def take(self, now: float, units: float) -> None:
        """Charge `units`, into debt if need be; negative gives them back."""
        self.settle(now)
        self.level = min(self.capacity, self.level - units)

    def fits(self, now: float, units: float) -> bool:
        """Whether a request of `units` may pass; above capacity a full one does."""
        return self.settle(now) + _ROUNDING >= min(units, self.capacity)

    def is_positive(self, now: float) -> bool:
        """Whether anything is left, which is all that output asks for."""
        return self.settle(now) > _ROUNDING

    def seconds_until_fits(self, now: float, units: float) -> int:
        """The fewest whole seconds, at least one, after which `units` fit."""
        lacking = min(units, self.capacity) - self.settle(now)
        return max(1, math.ceil((lacking - _ROUNDING) / self.rate))

    def seconds_until_positive(self, now: float) -> int:
        """The fewest whole seconds, at least one, after which anything is left."""
        return max(1, math.floor((_ROUNDING - self.settle(now)) / self.rate) + 1)

    def seconds_until_full(self, now: float) -> float:
        """Seconds until the level is back at capacity, others aside."""
        return (self.capacity - self.settle(now)) / self.rate

    def resize(self, now: float, *, limit: float, capacity: float) -> None:
        """Change limit and capacity; what was used stays used."""
        used = self.capacity - self.settle(now)
        self.limit = limit
        self.capacity = capacity
        self.level = min(capacity, capacity - used)

    def levels(self, now: float) -> dict[str, float]:
        """Everything about it, for the books."""
        return {
            "level": self.settle(now),
            "capacity": self.capacity,
            "limit": self.limit,
            "rate_per_second": self.rate,
            "foreign_per_second": self.foreign,
        }
