"""When no client could have ended sooner: the integral of what was allowed."""

from typing import TYPE_CHECKING

from bench.admission_server import INPUT, OUTPUT, REQUESTS

if TYPE_CHECKING:
    from bench.admission_driver import Run


def lower_bound(run: "Run") -> float:
    """No client can end sooner: buckets, and the longest agent's own path."""
    path = max(a.at + sum(run.seconds_of(t) for t in a.turns) for a in run.agents)
    return max([path, *(_bucket_bound(run, name) for name in run.charged)])


def _bucket_bound(run: "Run", name: str) -> float:
    """When the integral of the limit, net of others' use, covers the total."""
    limit = {
        REQUESTS: run.terms.requests,
        INPUT: run.terms.input,
        OUTPUT: run.terms.output,
    }[name]
    foreign = run.service.foreign[name] / max(run.now, 1.0)
    level = limit * run.terms.burst * run.terms.scale(0.0)
    at, step, served = 0.0, 0.05, 0.0
    away = run.terms.away or (0.0, 0.0)
    while served < run.charged[name] and at < run.cap:
        scale = run.terms.scale(at)
        level += step * (limit / 60 * scale - foreign)
        level = min(level, limit * run.terms.burst * scale)
        if not away[0] <= at < away[1]:
            served, level = served + level, 0.0
        at += step
    if name == INPUT and run.terms.ramp is not None:
        at = max(at, _ramp_bound(run))
    return at


def _ramp_bound(run: "Run") -> float:
    """Minute by minute what the ramp allows; the last one at the limit's own pace."""
    assert run.terms.ramp is not None
    total, at, minute = run.charged[INPUT], 0.0, 0
    end = 60 - run.service.clock(0.0) % 60
    while total > run.terms.ramp(minute * 60.0):
        total -= run.terms.ramp(minute * 60.0)
        at, end, minute = end, end + 60, minute + 1
    burst = run.terms.input * run.terms.burst
    return at + max(0.0, total - burst) / (run.terms.input / 60)
