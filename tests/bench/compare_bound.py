"""The least time in which an account can serve some work.

The largest, over the three buckets, of the moment at which burst and refill so far
reach what the work needs; and the longest agent's own path. Where limits change the
refill is the integral of what they are, less what others use by the profile.
"""

from dataclasses import dataclass

from compare_work import (
    LIMITS,
    TOKENS_PER_SECOND,
    TTFT_PER_1K,
    TTFT_SECONDS,
    Condition,
    Job,
)

MINUTE = 60.0


@dataclass(frozen=True)
class Bound:
    """Seconds, and which limit they come from."""

    seconds: float
    by: str


def path_seconds(job: Job) -> float:
    """How long an agent takes when it never waits, at the profile's speeds."""
    new = [job.prompt, *(result + job.note for result in job.results)]
    written = job.output + job.note * len(job.results)
    first = sum(TTFT_SECONDS + TTFT_PER_1K * tokens / 1000 for tokens in new)
    return first + written / TOKENS_PER_SECOND + job.pause * len(job.results)


def bound(
    needed: dict[str, float], work: list[Job], condition: Condition, began: float
) -> Bound:
    """The bound for what a run needed; `began` is its first request's epoch second."""
    found = [Bound(max(map(path_seconds, work)), "longest agent")]
    for name, total in needed.items():
        found.append(Bound(_bucket_seconds(name, total, condition), name))
    if condition.ramp is not None:
        start, step = condition.ramp
        seconds = _ramp_seconds(needed["input_tokens"], start, step, began)
        found.append(Bound(seconds, "ramp"))
    return max(found, key=lambda one: one.seconds)


def _bucket_seconds(name: str, total: float, condition: Condition) -> float:
    limit = LIMITS[name] * condition.scale
    capacity = limit * condition.burst
    rate = limit / MINUTE * (1 - condition.foreign)
    seconds = max(0.0, (total - capacity) / rate)
    if seconds <= condition.at:
        return seconds
    left = total - capacity - rate * condition.at
    if condition.halved:
        # What was used stays used, so half of the burst is gone as well. Others'
        # share of the limit stays the same.
        return condition.at + (left + capacity / 2) / (rate / 2)
    if condition.wall and name != "output_tokens":
        # What is written goes on in a wall; nothing new is admitted, and the
        # bucket can be full at its end at most.
        end = condition.at + condition.wall
        return max(seconds, end, end + (left - capacity) / rate)
    return seconds


def _ramp_seconds(total: float, start: int, step: int, began: float) -> float:
    """When minute by minute, each by its ceiling, the input is through."""
    used, ceiling, at = 0.0, float(start), began
    rate = LIMITS["input_tokens"] / MINUTE
    burst = LIMITS["input_tokens"] / 6
    while True:
        end = (at // MINUTE + 1) * MINUTE
        able = min(ceiling, burst + rate * (end - at))
        if used + able >= total:
            return at - began + max(0.0, (total - used - burst) / rate)
        used += able
        at, ceiling = end, max(float(start), able + step)
