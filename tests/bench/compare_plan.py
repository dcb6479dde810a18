"""What `compare.py` runs, and how long that will take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compare_bound import bound
from compare_work import CONDITIONS, WORK, Job, jobs

# What a run takes beyond its bound, over all clients; and processes to start.
USUAL_RATIO = 1.6
START_SECONDS = 4.0
# Where in the clock's minute a run begins matters for the ramp only.
MID_MINUTE = 30.0

QUICK = "quick"


CONTENDERS = (
    "gather-2",
    "semaphore-8",
    "aiolimiter-tokens",
    "fanout",
    "fanout-client",
    "fanout-pair",
)
"""One of each kind, where what is asked is how trouble is met."""


@dataclass(frozen=True)
class Part:
    """A workload under a condition, and by whom it is done."""

    workload: str
    condition: str
    clients: tuple[str, ...]


def everything(clients: Iterable[str]) -> list[Part]:
    """All workloads by all as the account is, and all conditions on the quick one.

    Each condition on each workload by each client would say the same for seven hours.
    """
    every = tuple(clients)
    few = tuple(client for client in CONTENDERS if client in every)
    plain = [Part(workload, "plain", every) for workload in WORK if workload != QUICK]
    return plain + [Part(QUICK, condition, few) for condition in CONDITIONS]


def chosen(
    workloads: Iterable[str], conditions: Sequence[str], clients: Iterable[str]
) -> list[Part]:
    """Each of these workloads under each of these conditions."""
    who = tuple(clients)
    return [Part(one, other, who) for one in workloads for other in conditions]


def needs(work: list[Job]) -> dict[str, float]:
    """What the agents will use, by their own plan."""
    written = sum(job.output + job.note * len(job.results) for job in work)
    noted = sum(job.note * len(job.results) for job in work)
    read = sum(job.prompt + sum(job.results) for job in work)
    return {
        "requests": float(sum(job.calls for job in work)),
        "input_tokens": float(read + noted),
        "output_tokens": float(written),
    }


def seconds(part: Part, seed: int, cap: float) -> float:
    """About how long one client takes."""
    work = jobs(part.workload, seed)
    least = bound(needs(work), work, CONDITIONS[part.condition], MID_MINUTE)
    return min(cap, USUAL_RATIO * least.seconds + START_SECONDS)


def forecast(parts: Sequence[Part], seeds: int, cap: float) -> str:
    """What is ahead, as a line."""
    runs = seeds * sum(len(part.clients) for part in parts)
    ahead = sum(
        len(part.clients) * seconds(part, seed, cap)
        for part in parts
        for seed in range(1, seeds + 1)
    )
    told = f"{ahead / 60:.0f} minutes" if ahead >= 120 else f"{ahead:.0f} seconds"
    return f"{runs} runs, about {told}"
