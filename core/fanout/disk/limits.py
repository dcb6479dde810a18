"""Limits that accounts have told, kept beside the runs: for forecasts, never to pace.

    .fanout/limits.json
    {"v": 1, "accounts": {"https://api.anthropic.com 3f2a…": {"claude-sonnet-5": {
        "at": 1764.5, "requests": [50, 50], "input tokens": [30000, 30000], …}}}}

Each bucket has what it may use per minute, and what it was seen to hold at once. An
account is named by its endpoint and a digest of its key, so that two keys do not
pass for one account. What cannot be read is not there; what cannot be written is
learned again.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fanout.decide.forecast.duration import Limit
from fanout.disk.files import write_atomic
from fanout.words.model import Dimension

FILE = "limits.json"
VERSION = 1
AGE_MAX = 90 * 86_400.0
"""Limits older than this many seconds say nothing any more."""

Buckets = Mapping[Dimension, Limit]


def read_limits(
    runs: Path, account: str, now: float
) -> tuple[Mapping[str, Buckets], float]:
    """Return the buckets by pool, and when the oldest of them was learned."""
    pools: dict[str, Buckets] = {}
    times = []
    for name, told in _accounts(runs).get(account, {}).items():
        # A hand or another version may have written anything.
        with suppress(AttributeError, TypeError, ValueError, IndexError):
            at = float(told["at"]) if "at" in told else 0.0
            if now - at <= AGE_MAX:
                pools[str(name)] = _buckets(told)
                times.append(at)
    return pools, min(times, default=0.0)


def keep_limits(
    runs: Path, account: str, pools: Mapping[str, Buckets], now: float
) -> None:
    """Remember the buckets of some pools. Blocking; says nothing when it fails."""
    accounts = _accounts(runs)
    known = accounts.setdefault(account, {})
    for name, buckets in pools.items():
        figures = {d.value: [b.per_minute, b.ready] for d, b in buckets.items()}
        known[name] = {"at": round(now, 3), **figures}
    text = json.dumps({"v": VERSION, "accounts": accounts}, indent=1)
    with suppress(OSError):
        write_atomic(runs / FILE, (text + "\n").encode())


def _buckets(told: Mapping[str, Any]) -> Buckets:
    found = {}
    for dimension in Dimension:
        if dimension.value in told:
            limit, ready = (float(figure) for figure in told[dimension.value][:2])
            if limit > 0:
                found[dimension] = Limit(per_minute=limit, ready=max(0.0, ready))
    return found


def _accounts(runs: Path) -> dict[str, Any]:
    try:
        told = json.loads((runs / FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    accounts = told.get("accounts") if isinstance(told, dict) else None
    if not isinstance(accounts, dict) or told.get("v") != VERSION:
        return {}
    return {str(name): a for name, a in accounts.items() if isinstance(a, dict)}
