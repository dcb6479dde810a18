"""A header set, judged before the buckets follow it.

Three questions are answered here for each set:

- **Is it news?** Answers overtake each other. A set whose `date` is older than
  one already followed is left alone.
- **When was it true?** Streamed answers carry figures from the moment their
  headers left. Some servers take them at admission instead, a time-to-first-byte
  earlier. Both readings are compared with what was reckoned for requests, the
  one exact figure, and the better one is used.
- **What can it not know?** Calls sent within the last fastest-first-byte may not
  be counted yet, output of the last moment is not known to us yet, and calls
  whose input nobody has told are an estimate on both sides.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fanout.decide.admission.bucket import Bucket, Moment
from fanout.decide.admission.clock import ServerClock
from fanout.decide.admission.flight import Flight
from fanout.words.model import Dimension
from fanout.words.outcome import Limits, Triple

# How long a call may be on its way and still not be counted, until the fastest
# first byte shows it.
TRANSIT_SECONDS = 0.5
TRANSIT_SECONDS_MIN = 0.05
TRANSIT_SECONDS_MAX = 1.0
# The level is not raised for what may only be our estimate of calls on their way:
# the same tokens would be given back again when their input is known.
GUESSED_SHARE = 0.25
# Output we have not seen yet: what is on the wire, and what progress is late by.
UNSEEN_SECONDS = 0.3
# Both readings of a set's age are compared over about this many sets.
ERROR_GAIN = 0.1
# So many sets are needed, and so much better must the older reading be, before
# figures are taken to be from admission.
SETS_MIN = 8
BETTER = 0.5


@dataclass(frozen=True, slots=True)
class Sky:
    """What is in the air when a header set arrives."""

    flights: dict[int, Flight]
    guessed: float
    """Input charged by estimate only."""
    drain: float
    """Output all streams produce a second."""


class Follower:
    """Judges the header sets of one pool, in the order in which they arrive."""

    __slots__ = ("_errors", "_newest_date", "_sets", "transit")

    def __init__(self) -> None:
        self.transit = TRANSIT_SECONDS
        """How long a call sent may not be counted yet."""
        self._newest_date = -math.inf
        self._sets = 0
        self._errors = {False: 0.0, True: 0.0}

    @property
    def from_admission(self) -> bool:
        """Whether the figures are taken when a call is admitted."""
        enough = self._sets >= SETS_MIN
        return enough and self._errors[True] < BETTER * self._errors[False]

    def first_byte(self, seconds: float) -> None:
        """A call was answered this long after it was sent."""
        if seconds > 0:
            least = min(self.transit, seconds)
            self.transit = min(TRANSIT_SECONDS_MAX, max(TRANSIT_SECONDS_MIN, least))

    def follow(
        self,
        limits: Limits,
        flight: Flight,
        now: float,
        *,
        buckets: dict[Dimension, Bucket],
        clock: ServerClock,
        sky: Sky,
    ) -> bool:
        """Take in one header set; True when a limit became known or changed."""
        if not self._fresh(limits.date, clock, now):
            return False
        self._compare(buckets[Dimension.REQUESTS], limits, flight, now)
        moment = self._moment(limits.date, clock, flight, now)
        news = False
        for dimension, triple in limits.triples.items():
            news |= self._follow(buckets[dimension], triple, moment, flight, sky)
        return news

    def _fresh(self, date: float | None, clock: ServerClock, now: float) -> bool:
        if date is None:
            return True
        fresh = clock.learn(date, now) and date >= self._newest_date - 1
        self._newest_date = date if fresh else self._newest_date
        return fresh

    def _compare(
        self, bucket: Bucket, limits: Limits, flight: Flight, now: float
    ) -> None:
        triple = limits.triples.get(bucket.dimension)
        if triple is None or triple.remaining is None or not bucket.known:
            return
        if flight.sent_at is None or triple.limit != bucket.limit:
            return
        self._sets += 1
        for old in (False, True):
            error = abs(triple.remaining - _reckoned(bucket, flight, now, old=old))
            self._errors[old] += ERROR_GAIN * (error - self._errors[old])

    def _moment(
        self, date: float | None, clock: ServerClock, flight: Flight, now: float
    ) -> Moment:
        if date is None:
            return Moment(now, None, None)
        at = now
        if self.from_admission and flight.sent_at is not None:
            at = flight.sent_at
        return Moment(now, clock.earliest(at), clock.latest(at))

    def _follow(
        self,
        bucket: Bucket,
        triple: Triple,
        moment: Moment,
        flight: Flight,
        sky: Sky,
    ) -> bool:
        now = moment.now
        news = triple.limit is not None and bucket.learn_limit(triple.limit, now)
        if not bucket.known:
            return False
        bucket.learn_capacity(triple, moment)
        old = self.from_admission and bucket.dimension is not Dimension.OUTPUT
        since = flight.sent_at or now if news or old else now - self.transit
        uncounted, blur = self._unknown(bucket.dimension, since, flight, sky)
        bucket.follow(
            triple,
            moment,
            reckoned=None if news else _reckoned(bucket, flight, now, old=old),
            uncounted=uncounted if news or not old else 0.0,
            blur=blur,
        )
        return news

    def _unknown(
        self, dimension: Dimension, since: float, flight: Flight, sky: Sky
    ) -> tuple[float, float]:
        """What a set may not count yet, and what it cannot be compared with."""
        if dimension is Dimension.OUTPUT:
            return 0.0, sky.drain * UNSEEN_SECONDS
        lately = [
            each.charged_input
            for each in _sent_since(sky.flights, since)
            if each is not flight and each.opened_at is None
        ]
        if dimension is Dimension.REQUESTS:
            return float(len(lately)), 0.0
        return sum(lately) + GUESSED_SHARE * sky.guessed, 0.0


def _reckoned(bucket: Bucket, flight: Flight, now: float, *, old: bool) -> float:
    """Our level now, or as it was when the call was sent and corrected since."""
    then = flight.levels.get(bucket.dimension)
    if not old or then is None or math.isinf(then):
        return bucket.level(now)
    return then - bucket.corrected


def _sent_since(flights: dict[int, Flight], since: float) -> Iterable[Flight]:
    for flight in reversed(flights.values()):
        if flight.sent_at is None:
            continue
        if flight.sent_at < since:
            return
        yield flight
