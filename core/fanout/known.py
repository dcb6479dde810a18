"""What is known of an account before its first answer: for forecasts.

A simulated account has its profile; a real one may have told its limits to an
earlier run. Admission does not use any of it: it asks the account.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from fanout.access import Access
from fanout.config import Config
from fanout.decide.forecast.duration import Limit
from fanout.disk.limits import Buckets, keep_limits, read_limits
from fanout.words.model import Dimension
from fanout.world.spend.planning import Known


def known_of(config: Config, access: Access, runs: Path, now: float) -> Known:
    """Return what is known ahead of the account."""
    if config.simulate:
        return _profile(config.profile)
    pools, at = read_limits(runs, access.account, now)
    if not pools:
        return Known()

    def of(pool: str, model: str) -> Mapping[Dimension, Limit]:
        del model
        return pools.get(pool, {})

    day = datetime.fromtimestamp(at, UTC).date().isoformat()
    return Known(of=of, source=f"as learned on {day}")


def keeper(access: Access, runs: Path) -> "Keep":
    """Return what remembers limits for the next run; a simulated one has a profile."""
    return Keep(None if access.simulated else access.account, runs)


class Keep:
    """Remembers limits; called in a thread."""

    def __init__(self, account: str | None, runs: Path) -> None:
        self._account = account
        self._runs = runs

    def __call__(self, pools: Mapping[str, Buckets], now: float) -> None:
        """Keep these. Blocking."""
        if self._account is not None:
            keep_limits(self._runs, self._account, pools, now)


def _profile(name: str) -> Known:
    # Whoever opens a screen need not wait for these.
    from fanout.simulator.models import find  # noqa: PLC0415
    from fanout.simulator.profile import ProfileError, load  # noqa: PLC0415

    try:
        profile = load(name)
    except ProfileError:
        # Whoever starts the account says what is wrong with it.
        return Known()

    def of(pool: str, model: str) -> Mapping[Dimension, Limit]:
        del pool
        found = find(model)
        if found is None:
            return {}
        limits, burst = profile.limits_of(found.pool), profile.burst
        return {
            dimension: Limit(
                per_minute=getattr(limits, field),
                ready=getattr(limits, field) * getattr(burst, field),
            )
            for dimension, field in _FIELDS.items()
        }

    return Known(of=of, source=f"of the simulated profile {profile.name}")


_FIELDS = {
    Dimension.REQUESTS: "requests",
    Dimension.INPUT: "input_tokens",
    Dimension.OUTPUT: "output_tokens",
}
