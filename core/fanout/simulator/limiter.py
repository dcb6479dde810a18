"""The limits of one pool of models: requests, input tokens and output tokens.

A request passes if there is one request left, room for its estimated uncached
input, and any output at all: what it will write is charged while it writes, and
`max_tokens` plays no part. A refused request costs nothing unless the profile
says otherwise.
"""

from dataclasses import dataclass

from fanout.simulator.buckets import Bucket

DIMENSIONS = ("requests", "input_tokens", "output_tokens")
"""The three dimensions, in the order the books list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a pool may use per minute."""

    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """One number per dimension: a burst or foreign load as a share of the limit."""

    requests: float = 1.0
    input_tokens: float = 1.0
    output_tokens: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a request does not pass."""

    dimension: str
    """The dimension that makes it wait longest."""
    limit: int
    retry_after: int
    """Whole seconds after which all dimensions fit."""


class PoolLimiter:
    """The three buckets of one pool, on a clock its callers hold."""

    def __init__(self, limits: Limits, burst: Shares, now: float) -> None:
        self._burst = burst
        self.requests = self._bucket("requests", limits.requests, now)
        self.input_tokens = self._bucket("input_tokens", limits.input_tokens, now)
        self.output_tokens = self._bucket("output_tokens", limits.output_tokens, now)

    def _capacity(self, dimension: str, limit: float) -> float:
        share: float = getattr(self._burst, dimension)
        # A bucket that cannot hold one request would refuse for ever.
        return max(1.0, limit * share)

    def _bucket(self, dimension: str, limit: int, now: float) -> Bucket:
        capacity = self._capacity(dimension, limit)
        return Bucket(limit=limit, capacity=capacity, level=capacity, settled_at=now)

    def buckets(self) -> dict[str, Bucket]:
        """The buckets by dimension."""
        return {name: getattr(self, name) for name in DIMENSIONS}

    def shortage(self, now: float, input_tokens: float) -> Shortage | None:
        """Why a request of that much uncached input may not pass; None if it may."""
        waits: dict[str, int] = {}
        if not self.requests.fits(now, 1):
            waits["requests"] = self.requests.seconds_until_fits(now, 1)
        if not self.input_tokens.fits(now, input_tokens):
            waits["input_tokens"] = self.input_tokens.seconds_until_fits(
                now, input_tokens
            )
        if not self.output_tokens.is_positive(now):
            waits["output_tokens"] = self.output_tokens.seconds_until_positive(now)
        if not waits:
            return None
        worst = max(waits, key=lambda name: waits[name])
        return Shortage(
            dimension=worst,
            limit=int(self.buckets()[worst].limit),
            retry_after=waits[worst],
        )

    def charge_admission(self, now: float, input_tokens: float) -> None:
        """Take one request and its estimated input."""
        self.requests.take(now, 1)
        self.input_tokens.take(now, input_tokens)

    def correct_input(self, now: float, estimated: float, actual: float) -> None:
        """Replace the estimate by what the request really read uncached."""
        if estimated != actual:
            self.input_tokens.take(now, actual - estimated)

    def charge_output(self, now: float, tokens: float) -> None:
        """Take output tokens as they are written."""
        self.output_tokens.take(now, tokens)

    def set_limits(self, now: float, limits: Limits, burst: Shares) -> None:
        """Change the limits from `now` on; what was used stays used."""
        self._burst = burst
        for name, bucket in self.buckets().items():
            limit = getattr(limits, name)
            bucket.resize(now, limit=limit, capacity=self._capacity(name, limit))

    def set_foreign_load(self, now: float, load: Shares) -> None:
        """Let others take these shares of the limits from `now` on."""
        for name, bucket in self.buckets().items():
            bucket.settle(now)
            bucket.foreign = bucket.rate * getattr(load, name)
