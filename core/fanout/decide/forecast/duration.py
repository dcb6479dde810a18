"""How long work takes at an account's limits, and what decides it.

The work of a pool flows through three buckets side by side, so the slowest of them
decides; what a bucket holds at the beginning goes through at once. Beyond that no
run is faster than its longest agent, nor than its calls over the places there are.
Pools do not wait for each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanout.decide.admission.ceiling import INFORMED, MOST
from fanout.decide.admission.estimate import OUTPUT_PRIOR
from fanout.words.model import Dimension

MINUTE = 60.0
# Admission keeps a little back, and the last bit of a bucket is never used.
HEADROOM = 1.03
IN_FLIGHT = "calls in flight"
LONGEST = "the longest agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a pool's calls will use."""

    calls: float = 0.0
    input: float = 0.0
    """Charged tokens: cache reads are free."""
    output: float = 0.0
    seconds: float = 0.0
    """Of all calls, one after the other."""
    longest: float = 0.0
    """Seconds of the agent that takes longest, when nothing holds it up."""

    def of(self, dimension: Dimension) -> float:
        """What a bucket is charged."""
        return {
            Dimension.REQUESTS: self.calls,
            Dimension.INPUT: self.input,
            Dimension.OUTPUT: self.output,
        }[dimension]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One bucket."""

    per_minute: float
    ready: float = 0.0
    """What may be used at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is known of an account."""

    pools: Mapping[str, Mapping[Dimension, Limit]] = field(default_factory=dict)
    slots: int | None = None
    """Calls in flight at most; None: as many as the limits carry."""
    source: str = ""
    """Where it is known from, for people."""


@dataclass(frozen=True, slots=True)
class Duration:
    """How long, and why."""

    seconds: float
    binds: str


def duration(loads: Mapping[str, Load], limits: Limits) -> Duration | None:
    """Seconds until all is done; None when the limits of a pool are unknown."""
    found = [Duration(0.0, "")]
    for name, load in loads.items():
        if load.calls <= 0:
            continue
        known = limits.pools.get(name)
        if not known:
            return None
        found += _of_pool(load, known)
    calls = sum(load.calls for load in loads.values())
    slots = _slots(calls, limits.slots)
    if calls > slots:
        seconds = sum(load.seconds for load in loads.values())
        found.append(Duration(seconds / slots, IN_FLIGHT))
    return max(found, key=lambda one: one.seconds)


def _slots(calls: float, user: int | None) -> float:
    """Calls in flight on average: the adaptive ceiling grows by one for each."""
    slots = min(float(MOST), INFORMED + calls / 2)
    return slots if user is None else min(slots, float(user))


def _of_pool(load: Load, known: Mapping[Dimension, Limit]) -> list[Duration]:
    found = [Duration(load.longest, LONGEST)]
    # The last call is admitted when the bucket has room for it, and answers then.
    tail = load.seconds / max(1.0, load.calls)
    for dimension, limit in known.items():
        over = load.of(dimension) - limit.ready
        if over <= 0:
            continue
        if dimension is Dimension.OUTPUT and load.calls * OUTPUT_PRIOR <= limit.ready:
            # All of them are let out before anybody knows how much they write.
            continue
        seconds = HEADROOM * over / limit.per_minute * MINUTE
        if dimension is not Dimension.OUTPUT:
            seconds += tail
        found.append(Duration(seconds, dimension.value))
    return found
