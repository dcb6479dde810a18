"""The endpoint's breaker: when the service is away, one call knocks for all.

529, 5xx and lost connections say nothing about the account, so buckets learn
nothing from them. One of them is noise and its row alone backs off. Several in a
row, or half of the last many, mean that the service is away: the breaker opens
and nothing is sent but one knock at a time, at growing intervals. The first call
that gets through closes it for everybody.

Calls that were in flight when it opened tell nothing new; they neither extend
nor close it. (`overloaded_error` inside a stream comes with status 200, so
"through" means output was seen or the service refused for reasons of its own.)
"""

import math
from collections import deque
from collections.abc import Callable

from fanout.decide.admission.retry import Verdict

# Fewer, and a run at 5 % of 529s stops everyone now and then.
IN_A_ROW = 4
# A service that fails every other call never fails four times in a row.
SHARE = 0.5
SHARE_OF_LAST = 12
# The first knock comes soon: most overloads last seconds.
KNOCK_SECONDS_MIN = 1.0
# Longer, and a run sleeps on after a wall of 15 minutes has fallen.
KNOCK_SECONDS_MAX = 5.0


class Breaker:
    """Whether calls may be sent at all, by what became of the last ones."""

    __slots__ = (
        "_chance",
        "_interval",
        "_last",
        "_row",
        "generation",
        "knock",
        "knock_at",
        "offline",
        "reason",
        "since",
    )

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._row = 0
        self._last: deque[bool] = deque(maxlen=SHARE_OF_LAST)
        self._interval = KNOCK_SECONDS_MIN
        self.generation = 0
        """Counts openings; a call carries the number it was sent under."""
        self.knock: int | None = None
        """The call that knocks."""
        self.knock_at = -math.inf
        """Monotonic second of the next knock; in the past while closed."""
        self.since: float | None = None
        """Open second at which the trouble began; None while the service answers."""
        self.offline = False
        """The last call that failed had got no connection."""
        self.reason = ""
        """What the service said last."""

    @property
    def open(self) -> bool:
        """Whether calls are held back."""
        return math.isfinite(self.knock_at)

    def may_knock(self, now: float) -> bool:
        """Whether one call may be sent although the breaker is open."""
        return self.knock is None and now >= self.knock_at

    def sent(self, call: int) -> None:
        """Note a call as the knock, while open."""
        if self.open and self.knock is None:
            self.knock = call

    def failed(
        self,
        call: int,
        now: float,
        *,
        generation: int,
        open_seconds: float | None = None,
        verdict: Verdict | None = None,
    ) -> bool:
        """Take in trouble of the service; True when it opened the breaker.

        `open_seconds` is `now` on the clock that stands still while nothing could
        be sent; without one that never was so.
        """
        if verdict is not None:
            self.reason, self.offline = verdict.reason, verdict.unreachable
        if self.open:
            if call == self.knock:
                self.knock = None
                self._interval = min(KNOCK_SECONDS_MAX, self._interval * 2)
                self.knock_at = now + self._jittered()
            return False
        if generation < self.generation:
            return False
        clock = now if open_seconds is None else open_seconds
        self.since = clock if self.since is None else self.since
        self._row += 1
        self._last.append(False)
        full = len(self._last) == SHARE_OF_LAST
        if self._row < IN_A_ROW and not (full and self._share() >= SHARE):
            return False
        self.generation += 1
        self._interval = KNOCK_SECONDS_MIN
        self.knock_at = now + self._jittered()
        return True

    def worked(self, call: int) -> None:
        """A call got through: the service is there."""
        if self.open:
            if call != self.knock:
                return
            self._last.clear()
        else:
            self._last.append(True)
        self.knock = None
        self.knock_at = -math.inf
        self._row = 0
        self.since = None

    def ended(self, call: int) -> None:
        """A call ended, in whatever way: if it was the knock, another may go."""
        if call == self.knock:
            self.knock = None

    def _share(self) -> float:
        return self._last.count(False) / len(self._last)

    def _jittered(self) -> float:
        return self._interval * (0.75 + 0.25 * self._chance())
