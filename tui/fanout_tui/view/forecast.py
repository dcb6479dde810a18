"""What will be: how long the rest takes, what one more call in flight does.

Every figure here is derived from a snapshot alone, and is `None` where too
little is known to say it honestly.
"""

from dataclasses import dataclass
from math import ceil

from fanout.words.model import Cause, Dimension, Row, Status
from fanout.words.snapshot import BucketView, PoolView, Snapshot

SETTLED_MIN = 10
"""Rows that must have ended before a mean is worth saying."""

TIGHT = 0.8
FULL = 0.9
"""From this share of a limit on, a gauge is amber."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a row that was done has taken, on average."""

    count: int = 0
    input: float = 0.0
    output: float = 0.0
    calls: float = 0.0
    seconds: float = 0.0
    total: float = 0.0


def means(rows: list[Row]) -> Means:
    """Over the rows that were worked on and done in this life."""
    done = [
        row
        for row in rows
        if row.status is Status.DONE
        and row.started_at is not None
        and not (row.end and row.end.reused_from)
    ]
    if not done:
        return Means()
    count = len(done)
    return Means(
        count=count,
        input=sum(row.tally.useful.charged_input for row in done) / count,
        output=sum(row.tally.useful.output_tokens for row in done) / count,
        calls=sum(max(1, row.tally.turns) for row in done) / count,
        seconds=sum(row.since - (row.started_at or row.since) for row in done) / count,
        total=sum(row.tally.useful.total for row in done) / count,
    )


def eta(snapshot: Snapshot, now: float) -> float | None:
    """Seconds the rest will take: the slower of limits and calls in flight.

    Where the engine has a forecast that is more than a guess, it is that.
    """
    if _stands(snapshot):
        return None
    seen = snapshot.left
    if seen is not None and seen.learned and seen.seconds is not None:
        return max(0.0, seen.seconds.expected - (now - snapshot.at))
    if any(live.cause is Cause.BATCH for live in snapshot.live.values()):
        # Its end is the service's to choose, within a day.
        return None
    return _by_rows(snapshot, now)


def _by_rows(snapshot: Snapshot, now: float) -> float | None:
    """From what the rows that are done have taken."""
    rows = list(snapshot.rows.values())
    mean = means(rows)
    if mean.count < min(SETTLED_MIN, max(1, len(rows) // 2)):
        return None
    left = 0.0
    for row in rows:
        if row.status is Status.QUEUED:
            left += 1.0
        elif row.status in {Status.RUNNING, Status.THROTTLED}:
            took = now - (row.started_at or now)
            left += max(0.1, 1.0 - took / max(mean.seconds, 0.001))
    if not left:
        return 0.0
    slots = max(1, snapshot.ceiling.limit)
    by_slots = mean.seconds * max(1.0, left / slots)
    return max(by_slots, *_by_limits(snapshot, mean, left))


def _stands(snapshot: Snapshot) -> bool:
    """Nothing moves, for as long as a disk or the network likes."""
    gates = snapshot.gates.values()
    return bool(snapshot.disk) or any(gate.cause is Cause.OFFLINE for gate in gates)


def _by_limits(snapshot: Snapshot, mean: Means, left: float) -> list[float]:
    """Seconds the limits alone would take, for each bucket that is known."""
    need = {
        Dimension.INPUT: mean.input,
        Dimension.OUTPUT: mean.output,
        Dimension.REQUESTS: mean.calls,
    }
    return [0.0] + [
        left * need[bucket.dimension] / bucket.limit * 60
        for pool in snapshot.pools[:1]
        for bucket in pool.buckets
        if bucket.limit
    ]


def share(bucket: BucketView) -> float:
    """How full a bucket is or is about to be; 0 while its limit is unknown."""
    if not bucket.limit:
        return 0.0
    return max(bucket.spent, bucket.forecast) / bucket.limit


def tightest(pools: tuple[PoolView, ...]) -> PoolView | None:
    """The pool nearest to a limit."""
    return max(
        pools, key=lambda pool: max(map(share, pool.buckets), default=0.0), default=None
    )


def bottleneck(pool: PoolView) -> BucketView | None:
    """The fullest bucket of a pool, from four fifths of its limit on."""
    fullest = max(pool.buckets, key=share, default=None)
    return fullest if fullest is not None and share(fullest) > TIGHT else None


@dataclass(frozen=True, slots=True)
class CeilingForecast:
    """What another ceiling would do to the fullest bucket."""

    dimension: Dimension
    before: float
    after: float
    waiting: int
    """Calls that would only wait for the bucket."""


def ceiling_forecast(snapshot: Snapshot, ceiling: int) -> CeilingForecast | None:
    """The fullest bucket's share if `ceiling` calls were in flight."""
    pool = tightest(snapshot.pools)
    flying = snapshot.ceiling.in_flight
    if pool is None or not flying:
        return None
    fullest = max(pool.buckets, key=share, default=None)
    if fullest is None or not fullest.limit:
        return None
    before = share(fullest)
    reach = min(ceiling, flying + snapshot.counts.queued + snapshot.counts.throttled)
    after = before * reach / flying
    over = 0 if after <= 1 else ceil(reach - reach / after)
    return CeilingForecast(fullest.dimension, before, after, over)
