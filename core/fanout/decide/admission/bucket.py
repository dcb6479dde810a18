"""One limit of a pool: what we believe the service's own bucket holds.

The service keeps a token bucket: it refills at `limit / 60` a second up to a
burst `capacity` and may go into debt. `Bucket.level` is our belief about that
very figure with everything we have sent charged to it. Reservations that the
service cannot have charged yet (calls not sent, output not produced) are not in
the level; the pool subtracts them.

**Following the headers.** Each header set says what the level was a moment ago,
rounded. Dead reckoning is more exact than that while nothing unexpected happens,
so headers do not replace the level; they bound it. Above the bound (somebody
else spends, or a call was larger than estimated): lowered at once. Below it,
less what may not have been counted yet: raised. In between: left alone.

**Debt** hides behind `remaining: 0`; it shows in `reset`, the moment at which
the bucket is full again: level = capacity - rate x (reset - now).

**Capacity** is not `limit`: an account may take ten seconds' worth at once, or
one. `remaining + rate x (reset - now)` says it, blurred by whole seconds; the
bounds from many answers are intersected and the lower one is used. The true one
lies above, so a call larger than the bucket waits until a bucket of the upper
bound would be full.

**Others on the account** show as a level that keeps being lower than reckoned.
Their mean use is taken off the refill, and the size of the surprises is kept as
a reserve, so that we leave room instead of colliding.
"""

import math
from dataclasses import dataclass

from fanout.words.model import Dimension
from fanout.words.outcome import Triple

MINUTE = 60.0

# Token figures are rounded to thousands: half of that either way says nothing.
# A tighter bound chases the rounding and takes it for other people's use.
ROUNDING = {Dimension.REQUESTS: 1.0, Dimension.INPUT: 500.0, Dimension.OUTPUT: 500.0}

# Small errors of ours add up between two headers. Without this reserve the head
# is sent with nothing to spare, and one answer in a hundred is a 429.
RESERVE = {Dimension.REQUESTS: 0.0, Dimension.INPUT: 500.0, Dimension.OUTPUT: 500.0}
# The service lets a call in by a count of its own, which is off by a little.
COUNTED_SHARE = 0.02
# The reserve of a small account must not be a large part of it: 1,000 of 8,000
# would cost an eighth of every burst.
RESERVE_SHARE_MAX = 0.05
# A request is on the wire for a moment in which a full bucket refills nothing
# while ours already does. Matters where the burst is a second's worth.
RESERVE_SECONDS = 0.1

# A burst of fewer roundings than this shows as nothing remaining; all of it would
# be taken for other people's use, and the pool would stand still.
BLURRED = 4.0
# How fast the estimate of other people's use follows; faster, and one large
# foreign call looks like a flood.
FOREIGN_SECONDS = 20.0
# Whatever others use, this share of the refill is still tried: an estimate of
# 100 % would never send the call whose headers correct it.
FOREIGN_SHARE_MAX = 0.9
# Surprises are remembered about this long.
SURPRISE_SECONDS = 30.0
# How many times the usual surprise is kept free when others are on the account.
SURPRISE_FACTOR = 1.5
# ... but never so much that nothing fits any more.
SURPRISE_SHARE_MAX = 0.4

# What an earlier life has used may be a debt or a burst larger than is known. Waited
# for is this much of it; then a call asks, and its headers tell.
RESTORED_DEBT_SECONDS = 4.0

# Arithmetic noise, not tokens: without it a head that fits "in 0.0 s" spins.
GRAIN = 1e-6


@dataclass(frozen=True, slots=True)
class Moment:
    """When a header set was true: by our clock, and by the server's."""

    now: float
    """Monotonic."""
    earliest: float | None
    """The server's clock at `now`, at least; None while unknown."""
    latest: float | None


class Bucket:
    """The believed level of one limit; unlimited until headers name the limit."""

    __slots__ = (
        "_at",
        "_followed_at",
        "_full_since",
        "_level",
        "_narrowed",
        "_owed",
        "_owed_at",
        "capacity",
        "capacity_most",
        "corrected",
        "dimension",
        "foreign",
        "limit",
        "surprise",
    )

    def __init__(self, dimension: Dimension) -> None:
        self.dimension = dimension
        self.limit: int | None = None
        """Per minute; None until the service has said so."""
        self.capacity = math.inf
        """The burst that is certain to be taken."""
        self.capacity_most = math.inf
        """The burst that may be taken at most."""
        self.foreign = 0.0
        """What others use, a second."""
        self.surprise = 0.0
        """How far a header set usually lies below what was reckoned."""
        self.corrected = 0.0
        """Sum of all corrections by headers, lowering ones positive."""
        self._level = 0.0
        self._at = -math.inf
        self._full_since = -math.inf
        self._followed_at = -math.inf
        self._narrowed = False
        self._owed = 0.0
        """What an earlier life had taken and not got back by then."""
        self._owed_at = -math.inf

    @property
    def known(self) -> bool:
        """Whether the service has named this limit."""
        return self.limit is not None

    @property
    def rate(self) -> float:
        """Refill a second."""
        return 0.0 if self.limit is None else self.limit / MINUTE

    @property
    def refill(self) -> float:
        """Refill a second that others leave to us."""
        if self.limit is None:
            return 0.0
        rate = self.limit / MINUTE
        left, least = rate - self.foreign, rate * (1 - FOREIGN_SHARE_MAX)
        return max(least, left)

    def level(self, now: float) -> float:
        """The believed level at `now`, everything sent being charged."""
        if self.limit is None:
            return math.inf
        level, capacity = self._level, self.capacity
        if now <= self._at or level >= capacity:
            return level
        level += self.refill * (now - self._at)
        return min(capacity, level)

    def reserve(self) -> float:
        """What is kept free beside the call itself."""
        steady = RESERVE[self.dimension] + self.rate * RESERVE_SECONDS
        surprise = min(
            SURPRISE_FACTOR * self.surprise, SURPRISE_SHARE_MAX * self.capacity
        )
        return min(steady, RESERVE_SHARE_MAX * self.capacity) + surprise

    def wait(self, amount: float, now: float, *, held: float = 0.0) -> float:
        """Seconds until `amount` fits beside what is `held`; 0 when it does now.

        More than the bucket holds waits for a full one, and takes it into debt.
        """
        if self.limit is None:
            return 0.0
        wanted = amount * (1 + COUNTED_SHARE) + self.reserve()
        over = max(0.0, min(wanted, self.capacity_most) - self.capacity)
        short = min(wanted, self.capacity) + held - self.level(now)
        if short > GRAIN:
            return (short + over) / self.refill
        if over <= GRAIN:
            return 0.0
        return max(0.0, over / self.refill - (now - self._full_from(now)))

    def charge(self, amount: float, now: float) -> None:
        """Take `amount` off, into debt where it must; below 0 gives back."""
        self._advance(now)
        if self.limit is None:
            return
        self._level = min(self.capacity, self._level - amount)
        self._full_since = now

    def learn_limit(self, limit: int, now: float) -> bool:
        """Take over the limit a minute; True where it is news."""
        if limit == self.limit:
            return False
        self._advance(now)
        first = self.limit is None
        self._scale_burst(limit)
        self.limit = limit
        self.foreign = self.surprise = 0.0
        if first:
            self._level, self._at = float(limit), now
        self._level = min(self._level, self.capacity)
        self._followed_at = -math.inf
        return True

    def _scale_burst(self, limit: int) -> None:
        """Keep the burst's share of the minute across a change of the limit.

        Forgotten, the first refusal under the new limit would be read as an empty
        bucket of unknown size, and a whole burst be waited for twice.
        """
        if self.limit is None or not self._narrowed:
            self.capacity = self.capacity_most = float(limit)
            return
        share = limit / self.limit
        self.capacity = max(1.0, self.capacity * share)
        self.capacity_most = max(1.0, self.capacity_most * share)

    def learn_capacity(self, triple: Triple, moment: Moment) -> None:
        """Narrow the burst by `remaining + rate x (reset - now)`."""
        if triple.remaining is None or triple.reset is None or self.limit is None:
            return
        if moment.earliest is None or moment.latest is None:
            return
        if triple.remaining == 0:
            self._empty(triple.reset - moment.earliest)
            return
        blur = ROUNDING[self.dimension]
        least = triple.remaining - blur + self.rate * (triple.reset - moment.latest)
        most = (
            triple.remaining + blur + self.rate * (triple.reset + 1 - moment.earliest)
        )
        least = max(least, triple.remaining - blur, 1.0)
        if most < least or least > self.limit * 2:
            return
        self._narrow(min(least, float(self.limit)), min(most, float(self.limit)))

    def follow(
        self,
        triple: Triple,
        moment: Moment,
        *,
        reckoned: float | None,
        uncounted: float,
        blur: float = 0.0,
    ) -> None:
        """Bound the level by what a header set says.

        `reckoned` is our level at the moment the figures were taken, None where
        there is nothing to compare with (a first sight, a changed limit): then
        the figure is taken over. `uncounted` is what we sent that the figures
        may not include yet, `blur` what we cannot know more exactly.
        """
        if triple.remaining is None or self.limit is None:
            return
        least, most = self._said(triple, moment)
        least -= uncounted
        self._advance(moment.now)
        if reckoned is None:
            self._set(least, moment.now)
        elif reckoned > most + blur:
            self._correct(reckoned - most - blur, moment.now)
        elif reckoned < least - blur:
            self._correct(reckoned - least + blur, moment.now)
        else:
            self._correct(0.0, moment.now)
        self._followed_at = moment.now

    def refused(self, retry_after: float, now: float) -> None:
        """Nothing is left, and one fits in `retry_after` seconds, rounded up.

        All of them are believed. The most that a refusal allows would be what was
        believed before it, and every second request would be refused for ever.
        """
        most = 1.0 - self.rate * retry_after
        if self.level(now) > most:
            self._advance(now)
            self._set(most, now)

    def _said(self, triple: Triple, moment: Moment) -> tuple[float, float]:
        """The level's bounds by one triple."""
        blur = ROUNDING[self.dimension]
        remaining = float(triple.remaining or 0)
        most = remaining + blur
        if remaining > 0:
            half = 0.5 if self.dimension is Dimension.REQUESTS else blur
            return remaining - half, most
        least = -blur
        if triple.reset is not None and moment.earliest is not None:
            latest = moment.latest or moment.earliest
            ahead_least = max(0.0, triple.reset - latest)
            ahead_most = max(0.0, triple.reset + 1 - moment.earliest)
            most = min(most, self.capacity_most - self.rate * ahead_least)
            least = min(least, self.capacity - self.rate * ahead_most)
        return least, most

    def _empty(self, ahead: float) -> None:
        """Nothing remaining: the burst is at most what refills until `reset`.

        A first call that took the bucket into debt shows its own size and not the
        bucket's. Until an answer shows more, each call waits for a full bucket.
        Output needs no room beforehand, so there a second's worth serves.
        """
        most = ROUNDING[self.dimension] + self.rate * max(0.0, ahead + 1)
        if self._narrowed and most >= self.capacity:
            return
        most = min(most, self.capacity_most)
        output = self.dimension is Dimension.OUTPUT
        self._narrow(min(most, max(1.0, self.rate)) if output else 1.0, most)

    def _correct(self, lower_by: float, now: float) -> None:
        """Shift the level, and learn from the shift what others use."""
        passed = now - self._followed_at
        blurred = self.capacity < BLURRED * ROUNDING[self.dimension]
        if math.isfinite(passed) and not blurred:
            kept = math.exp(-max(0.0, passed) / SURPRISE_SECONDS)
            self.surprise = max(self.surprise * kept, lower_by)
            use = self.foreign + lower_by / FOREIGN_SECONDS
            self.foreign = min(max(0.0, use), self.rate * FOREIGN_SHARE_MAX)
        if lower_by:
            self.corrected += lower_by
            self._set(self._level - lower_by, now)

    def suppose(self, limit: int, now: float, burst: float = 0.0) -> None:
        """Start with a limit that no header told; at least `burst` can be had at once.

        The limit of an earlier life, or the one that a refusal names in its text.
        """
        self.learn_limit(limit, now)
        self.capacity = min(float(limit), max(1.0, self.rate, burst))
        self._level = min(self._level, self.capacity)

    def owe(self, amount: float, at: float, now: float) -> None:
        """Charge what an earlier life took at a past second; the earliest first.

        What it was given at once is a burst that can be had; but a call larger than
        the bucket goes when it is full, and shows its own size only. A life that was
        kept waiting had taken all of its burst; one that was not had not.
        """
        if self.limit is None:
            return
        refilled = self.rate * max(0.0, at - self._owed_at)
        before = max(0.0, self._owed - refilled)
        self._owed, self._owed_at = before + amount, at
        if before >= amount:
            self.capacity = max(self.capacity, min(self._owed, float(self.limit)))
        owed = max(0.0, self._owed - self.rate * max(0.0, now - at))
        least = -RESTORED_DEBT_SECONDS * self.rate
        self._set(max(least, self.capacity - owed), now)

    def lacked(self, amount: float, now: float) -> None:
        """A refusal without headers: the level is below `amount`.

        Nothing is learned of others from it: no later figure could take it back.
        """
        self._advance(now)
        if self._level > amount:
            self._set(amount, now)

    def _narrow(self, least: float, most: float) -> None:
        low, high = least, most
        if self._narrowed:
            low, high = max(low, self.capacity), min(high, self.capacity_most)
            if low > high:
                low, high = least, most
        self.capacity, self.capacity_most, self._narrowed = low, high, True
        self._level = min(self._level, self.capacity)

    def _set(self, level: float, now: float) -> None:
        self._level = min(level, self.capacity)
        self._at = now
        self._full_since = now

    def _advance(self, now: float) -> None:
        if now <= self._at:
            return
        if self.limit is not None:
            full_from = self._full_from(now)
            self._level = self.level(now)
            if self._level >= self.capacity:
                self._full_since = full_from
            else:
                self._full_since = now
        self._at = now

    def _full_from(self, now: float) -> float:
        """Since when the bucket has been full, by now."""
        missing = self.capacity - self._level
        if missing <= 0:
            return self._full_since
        if not self.refill:
            return now
        return min(now, self._at + missing / self.refill)
