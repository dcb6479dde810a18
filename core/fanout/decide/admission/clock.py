"""The server's clock, seen through the `date` headers of its answers.

`reset` is an instant by the server's clock, so its clock is needed and ours is
not: a laptop that is an hour off paces as well as any other. A `date` of whole
seconds that arrived at our `now` says two things about the offset between the
two: it is at least `date - now`, for an answer cannot arrive before it was sent;
and at most a second more, for a slow arrival. Many answers narrow it to the
length of the fastest one's way.
"""

import math

# How long headers may be on their way and still count as fresh.
TRANSIT_SECONDS = 0.5
MINUTE = 60.0
# So many old dates in a row are not old dates: the server's clock was set back.
STALE_IN_A_ROW_MAX = 5


class ServerClock:
    """Bounds of the server's time at a monotonic second of ours."""

    __slots__ = ("_least", "_most", "_stale")

    def __init__(self) -> None:
        self._least = -math.inf
        self._most = math.inf
        self._stale = 0

    def learn(self, date: float, now: float) -> bool:
        """Take in one `date`; False when the answer is too old to say anything."""
        least, most = date - now, date + 1 - now + TRANSIT_SECONDS
        if most < self._least and self._stale < STALE_IN_A_ROW_MAX:
            self._stale += 1
            return False
        self._stale = 0
        if least > self._most or most < self._least:
            self._least, self._most = least, most
        self._least, self._most = max(least, self._least), min(most, self._most)
        return True

    def earliest(self, now: float) -> float | None:
        """The server's time at `now`, at least."""
        return now + self._least if math.isfinite(self._least) else None

    def latest(self, now: float) -> float | None:
        """The server's time at `now`, at most."""
        return now + self._most if math.isfinite(self._most) else None

    def minute_ends_in(self, now: float, said: float | None) -> float | None:
        """Seconds to the server's next minute boundary; None while unknown.

        `said` is a `retry-after` that means the same, rounded up to whole seconds.
        Never too early: what is sent before the boundary belongs to the old minute.
        """
        earliest = self.earliest(now)
        told = said if said is not None and 0 < said <= MINUTE else None
        if earliest is None:
            return told
        ends_in = MINUTE - earliest % MINUTE
        if told is None:
            return ends_in
        return ends_in if told - 1 <= ends_in <= told else told


class OpenSeconds:
    """Seconds in which calls could have been sent.

    A run that is paused, or whose limits are met, does not wait for the service
    to come back; that time is not counted against it.
    """

    __slots__ = ("_at", "_open", "_seconds", "sends")

    def __init__(self) -> None:
        self._seconds = 0.0
        self._at = -math.inf
        self._open = False
        self.sends = True
        """The run lets calls out: it is not paused, draining or held by its disk."""

    def at(self, now: float) -> float:
        """The count at a monotonic second."""
        return self._seconds + max(0.0, now - self._at if self._open else 0.0)

    def set(self, now: float, *, is_open: bool, held: bool) -> None:
        """From `now` on the run lets calls out or not, and the service holds them."""
        self._seconds = self.at(now)
        self._at, self._open, self.sends = now, is_open and not held, is_open

    def slept(self, seconds: float) -> None:
        """The clock of `now` went on, and nothing could be sent."""
        if self._open:
            self._seconds -= seconds
