"""A pool as the screen and the journal read it: frozen, complete, from the ledger."""

from collections.abc import Iterable, Mapping

from fanout.decide.admission.pool import Pool
from fanout.words.events import LimitsLearned
from fanout.words.model import Dimension
from fanout.words.snapshot import BucketView, PoolView

Starts = Mapping[str, float | None]
"""By pool, the monotonic second at which something starts next; None: not known."""

# What the trailing minute is expected to be this much later.
FORECAST_SECONDS = 15.0


def limits_of(pool: Pool) -> LimitsLearned:
    """A pool's limits, as the journal keeps them."""
    return LimitsLearned(
        pool=pool.name,
        requests=pool.buckets[Dimension.REQUESTS].limit,
        input_tokens=pool.buckets[Dimension.INPUT].limit,
        output_tokens=pool.buckets[Dimension.OUTPUT].limit,
    )


def pool_views(
    pools: Iterable[Pool], now: float, starts: Starts, *, sends: bool
) -> tuple[PoolView, ...]:
    """Pools at `now`.

    `sends`: what waits is let out as there is room, and not before the second that
    the plan has named for its pool.
    """
    return tuple(
        _pool_view(pool, now, sends=sends, next_start=starts.get(pool.name))
        for pool in pools
    )


def _pool_view(
    pool: Pool, now: float, *, sends: bool, next_start: float | None
) -> PoolView:
    until = max(pool.hold.until, now if next_start is None else next_start)
    held = min(FORECAST_SECONDS, max(0.0, until - now))
    starting = 1 - held / FORECAST_SECONDS if sends and len(pool.line) else 0.0
    return PoolView(
        name=pool.name,
        models=pool.models,
        buckets=tuple(
            _bucket_view(pool, dimension, now, starting) for dimension in Dimension
        ),
        cached=pool.cached.total(now),
    )


def _bucket_view(
    pool: Pool, dimension: Dimension, now: float, starting: float
) -> BucketView:
    """One bucket; `starting` is the share of the time to come in which calls start."""
    bucket, minute = pool.buckets[dimension], pool.minutes[dimension]
    requests, tokens = pool.unsent
    held = {
        Dimension.REQUESTS: float(requests),
        Dimension.INPUT: tokens,
        Dimension.OUTPUT: pool.output_to_come,
    }[dimension]
    lately = minute.total(now, FORECAST_SECONDS)
    coming = max(held, lately * starting)
    if bucket.known and bucket.limit:
        # No more than there is, and what flows in by then.
        room = bucket.level(now) + bucket.limit * FORECAST_SECONDS / 60
        coming = min(coming, max(held, room))
    return BucketView(
        dimension=dimension,
        limit=bucket.limit,
        capacity=bucket.capacity if bucket.known else None,
        free=bucket.level(now) - held if bucket.known else None,
        spent=minute.total(now),
        held=round(held),
        forecast=round(minute.total(now, 60 - FORECAST_SECONDS) + coming),
    )
