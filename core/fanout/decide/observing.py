"""What admission and the forecast showed, as a fact of the journal, and back.

A gauge's figures and a gate's reason are decisions of the moment: nobody who has only
the calls can work them out again. So the engine notes them once a second while they
change, and whoever watches from outside, or plays the run again, is shown the same.

Of a line only its head is kept; the others stand behind it in the rows' order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide import observing_left
from fanout.words.forecast import Forecast
from fanout.words.model import Cause, Dimension, RowId
from fanout.words.observed import Observed
from fanout.words.snapshot import BucketView, CeilingView, Gate, PoolView

HEAD = 24
"""Rows of a line that are noted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a screen shows of admission."""

    pools: tuple[PoolView, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    ceiling: CeilingView = CeilingView(limit=1, user=None, in_flight=0)
    left: Forecast | None = None


def observe(seen: Seen) -> Observed:
    """Return the fact that says what is shown."""
    return Observed(
        pools=[_pool(pool) for pool in seen.pools],
        gates={name: _gate(gate) for name, gate in seen.gates.items()},
        ceiling=[seen.ceiling.limit, seen.ceiling.user, seen.ceiling.in_flight],
        left=observing_left.told(seen.left),
    )


def seen_in(event: Observed, waiting: Mapping[str, Iterable[RowId]]) -> Seen:
    """Return what was shown; `waiting` has each pool's waiting rows, in any order.

    Raises `ValueError`, `KeyError` or `TypeError` for a fact of another form.
    """
    limit, user, in_flight = event.ceiling
    return Seen(
        pools=tuple(_read_pool(pool) for pool in event.pools),
        gates={
            name: _read_gate(name, gate, waiting.get(name, ()))
            for name, gate in event.gates.items()
        },
        ceiling=CeilingView(limit=limit, user=user, in_flight=in_flight),
        left=observing_left.read(event.left),
    )


def _pool(pool: PoolView) -> dict[str, Any]:
    return {
        "name": pool.name,
        "models": list(pool.models),
        "cached": pool.cached,
        "buckets": [
            [
                bucket.dimension.value,
                bucket.limit,
                _rounded(bucket.capacity),
                _rounded(bucket.free),
                bucket.spent,
                bucket.held,
                bucket.forecast,
            ]
            for bucket in pool.buckets
        ],
    }


def _rounded(figure: float | None) -> int | None:
    return None if figure is None else round(figure)


def _read_pool(pool: Mapping[str, Any]) -> PoolView:
    return PoolView(
        name=pool["name"],
        models=tuple(pool["models"]),
        cached=pool["cached"],
        buckets=tuple(_read_bucket(*bucket) for bucket in pool["buckets"]),
    )


def _read_bucket(
    dimension: str,
    limit: int | None,
    capacity: float | None,
    free: float | None,
    *sums: int,
) -> BucketView:
    spent, held, forecast = sums
    return BucketView(
        dimension=Dimension(dimension),
        limit=limit,
        capacity=capacity,
        free=free,
        spent=spent,
        held=held,
        forecast=forecast,
    )


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "cause": None if gate.cause is None else gate.cause.value,
        "until": None if gate.until is None else round(gate.until, 1),
        "detail": gate.detail,
        "head": [list(row) for row in gate.waiting[:HEAD]],
    }


def _read_gate(name: str, gate: Mapping[str, Any], waiting: Iterable[RowId]) -> Gate:
    rows = set(waiting)
    head = [row for row in (RowId(*pair) for pair in gate["head"]) if row in rows]
    known = set(head)
    behind = (row for row in waiting if row not in known)
    return Gate(
        pool=name,
        waiting=(*head, *behind),
        cause=None if gate["cause"] is None else Cause(gate["cause"]),
        until=gate["until"],
        detail=gate["detail"],
    )
