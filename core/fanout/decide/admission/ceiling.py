"""The ceiling on calls in flight: a number that learns what an account takes.

Buckets pace an account whose headers name its limits; the ceiling is for what no
header says: a limit on connections, a throttled service, an account without
headers. It must never be what makes a healthy account slow.

- **Slow start.** Every call that gets through raises it, until the first cut by
  several, which multiplies it per time-to-first-byte.
- **Growth only while used.** Calls that get through at a quarter of the ceiling
  are no evidence that more would.
- **One cut per episode.** Forty refusals of one burst are one cut: only calls
  sent after the last cut can cut again.
- **Only load cuts.** A limiter's 429 is the buckets' business.

After a cut it grows by one per ceiling-full of successes. A cut near the figure
that was refused before is a small one, so it ends near what the account takes
instead of halving for ever.
"""

import math

# The first second of a run on an unknown account opens this many at most.
START = 8
# With the limits known, the ceiling guards against what no header says. Much less,
# and the first seconds of a fast account are spent on raising it.
INFORMED = 32
# Below it a run would be one call at a time because of one bad moment.
LEAST = 1
# The HTTP pool holds 1,000 connections and then queues silently.
MOST = 500
# Until the first cut each call that gets through raises it by so many: a minute's
# burst is then opened within two times to first byte.
UNCUT_GROWTH = 3.0
# What "really used" means; nearer to 1, and rounding stops all growth.
USED_SHARE = 0.7
FIRST_CUT = 0.5
# Halving at every touch of a known edge would waste a quarter of it.
NEAR_CUT = 0.8
NEAR_EDGE = 0.7


class Ceiling:
    """How many calls may be in flight."""

    __slots__ = ("_auto", "_edge", "_most", "_threshold", "generation", "user")

    def __init__(self, *, start: int = START, most: int = MOST) -> None:
        self._auto = float(min(start, most))
        self._most = most
        self._threshold = math.inf
        """Below it growth is one per success, above it one per ceiling-full."""
        self._edge = math.inf
        """How many were in flight at the last refusal."""
        self.generation = 0
        """Counts cuts; a call carries the number it was sent under."""
        self.user: int | None = None
        """The user's figure, a ceiling over the adaptive one."""

    @property
    def limit(self) -> int:
        """What holds now."""
        auto = int(self._auto)
        return auto if self.user is None else min(auto, self.user)

    def lift(self, ceiling: int) -> None:
        """Let a figure that a person asked for hold now; a refusal still cuts it."""
        self._auto = max(self._auto, float(min(ceiling, self._most)))

    def informed(self) -> None:
        """The account's limits are known: the buckets pace from here on."""
        if self.generation == 0:
            self._auto = max(self._auto, float(min(INFORMED, self._most)))

    def got_through(self, in_flight: int) -> None:
        """A call was taken while `in_flight` were out."""
        if in_flight < USED_SHARE * self.limit:
            return
        slow = self._auto >= self._threshold
        quick = UNCUT_GROWTH if self.generation == 0 else 1.0
        self._auto = min(self._most, self._auto + (1 / self._auto if slow else quick))

    def refused(self, in_flight: int, *, generation: int, lasting: bool) -> bool:
        """A call was refused for load; True when that cut the ceiling.

        `lasting` is a limit of the account, to be approached slowly from now on;
        otherwise it is the service's bad moment, and growth is quick afterwards.
        """
        if generation < self.generation:
            return False
        self.generation += 1
        before = min(self._auto, float(max(in_flight, 1)))
        near = lasting and before <= self._edge and before >= NEAR_EDGE * self._edge
        was = self._auto
        self._auto = max(float(LEAST), before * (NEAR_CUT if near else FIRST_CUT))
        # After a bad moment growth is quick up to where it was, and not up to the
        # few that happened to be out.
        self._threshold = self._auto if lasting else was
        if lasting:
            self._edge = before
        return True
