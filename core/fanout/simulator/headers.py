"""The rate-limit headers: what of the buckets a client gets to see.

Requests are exact, tokens are rounded to thousands and clamped at zero, and
`reset` is when a bucket is *full* again in whole seconds rounded down: more than
a minute ahead when the bucket is in debt. The combined `tokens` triple sums
input and output and shows the earlier reset.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from fanout.simulator.buckets import Bucket
from fanout.simulator.limiter import PoolLimiter

PREFIX = "anthropic-ratelimit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """One dimension as shown: limit, rounded remainder, epoch second of reset."""

    limit: int
    remaining: int
    reset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The three dimensions of a pool, possibly taken at different times."""

    requests: Triple
    input_tokens: Triple
    output_tokens: Triple


def triple(bucket: Bucket, now: float, *, thousands: bool, minute: bool) -> Triple:
    """What is shown of a bucket; `minute` shows the use against the whole limit."""
    level = bucket.settle(now)
    shown = bucket.limit - (bucket.capacity - level) if minute else level
    rounded = int((shown + 500) // 1000 * 1000) if thousands else int(shown + 1e-6)
    return Triple(
        limit=int(bucket.limit),
        remaining=max(0, rounded),
        reset=int(now + bucket.seconds_until_full(now)),
    )


def snapshot(limiter: PoolLimiter, now: float, *, minute: bool = False) -> Snapshot:
    """The pool as it is at `now`."""
    return Snapshot(
        requests=triple(limiter.requests, now, thousands=False, minute=minute),
        input_tokens=triple(limiter.input_tokens, now, thousands=True, minute=minute),
        output_tokens=triple(limiter.output_tokens, now, thousands=True, minute=minute),
    )


def render(shot: Snapshot, *, skew: float = 0.0) -> dict[str, str]:
    """The headers of a snapshot; `skew` seconds are added to every reset."""
    both = shot.input_tokens, shot.output_tokens
    combined = Triple(
        limit=sum(one.limit for one in both),
        remaining=sum(one.remaining for one in both),
        reset=min(one.reset for one in both),
    )
    named = {
        "requests": shot.requests,
        "input-tokens": shot.input_tokens,
        "output-tokens": shot.output_tokens,
        "tokens": combined,
    }
    lines: dict[str, str] = {}
    for name, shown in named.items():
        lines[f"{PREFIX}-{name}-limit"] = str(shown.limit)
        lines[f"{PREFIX}-{name}-remaining"] = str(shown.remaining)
        lines[f"{PREFIX}-{name}-reset"] = stamp(shown.reset + skew)
    return lines


def stamp(seconds: float) -> str:
    """RFC 3339 in whole seconds, UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def http_date(seconds: float) -> str:
    """The same moment as a `date` header."""
    return format_datetime(datetime.fromtimestamp(int(seconds), UTC), usegmt=True)
