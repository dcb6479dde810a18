"""The trailing minute of one limit: what was charged, second by second.

Only the screen reads it; admission goes by levels (`fanout.decide.admission.bucket`). A
charge that turns out larger or smaller is corrected in the second in which the
news came, so that a gauge never rewrites what it has shown.
"""

from collections import deque

MINUTE = 60


class TrailingMinute:
    """Sums of the last 60 s in slots of one second."""

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque()

    def add(self, now: float, amount: float) -> None:
        """Record a charge (or, below 0, what was given back) at `now`."""
        second = float(int(now))
        self._drop(now)
        if self._slots and self._slots[-1][0] >= second:
            self._slots[-1][1] += amount
        else:
            self._slots.append([second, amount])

    def add_earlier(self, at: float, amount: float) -> None:
        """Record a charge of the past, from the journal of an earlier life."""
        slots = [*self._slots, [float(int(at)), amount]]
        self._slots = deque(sorted(slots, key=lambda slot: slot[0]))

    def total(self, now: float, seconds: float = MINUTE) -> int:
        """What was charged in the last `seconds`; never below 0."""
        since = now - seconds
        return max(
            0, round(sum(n for at, n in self._slots if since < at + 1 <= now + 1))
        )

    def _drop(self, now: float) -> None:
        while self._slots and self._slots[0][0] + 1 <= now - MINUTE:
            self._slots.popleft()
