"""Admission on virtual time: how near the bound, and how many 429s.

    python tests/bench/admission_virtual.py [SEEDS]

prints one line a case: makespan / lower bound (median and range over the seeds),
429s per run, those after the first headers, agents lost, input wasted. The
bound is what no client can beat: the integral of the changing limits, net of
what others used, over what was really charged; and the longest agent's own path.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "core")]

from bench.admission_driver import Agent, Result, Rule, Run, Terms, longest_known, ours  # noqa: E402
from bench.admission_work import WORK, rig, short  # noqa: E402
from bench.compare_work import (  # noqa: E402
    BURST,
    TOKENS_PER_SECOND,
    TTFT_PER_1K,
    TTFT_SECONDS,
)
from bench.compare_work import WORK as SHORT  # noqa: E402


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    work: Callable[[int], list[Agent]]
    terms: Terms
    foreign: float = 0.0
    known: bool = False
    rule: Rule = ours

    def run(self, seed: int) -> Result:
        return Run(
            self.terms,
            self.work(seed),
            seed=seed,
            foreign=self.foreign,
            known=self.known,
            rule=self.rule,
        ).go()


RIG = Terms()
MINUTE = replace(RIG, burst=1.0)
SECOND = replace(RIG, burst=1 / 60)
LIVE = Terms(
    burst=BURST,
    speed=TOKENS_PER_SECOND,
    first_token=TTFT_SECONDS,
    input_speed=1000 / TTFT_PER_1K,
)
"""The account of `compare.py`."""
SMALL = Terms(50, 30_000, 8_000, burst=1.0)


def halved(at: float) -> float:
    return 1.0 if at < 200 else 0.5


def doubled(at: float) -> float:
    return 1.0 if at < 200 else 2.0


def sometimes(_: float, chance: float) -> bool:
    return chance < 0.05


def ramp(at: float) -> float:
    return 200_000 + 100_000 * (at // 60)


def cases() -> list[Case]:
    """All lines, short ones first."""
    lines = [
        Case("rig", rig, RIG),
        Case("rig, chains declared", rig, RIG, rule=longest_known),
        Case("rig, limits halved", rig, replace(RIG, scale=lambda _: 0.5)),
        Case("rig, limits doubled", rig, replace(RIG, scale=lambda _: 2.0)),
        Case("rig, a minute's burst", rig, MINUTE),
        Case("rig, a second's burst", rig, SECOND),
        Case("rig, limits known", rig, RIG, known=True),
        Case("rig, figures from admission", rig, replace(RIG, snapshot="admission")),
    ]
    lines += short_cases()
    for name, work in WORK.items():
        lines.append(Case(name, work, RIG))
        lines.append(Case(f"{name}, a minute's burst", work, MINUTE))
        lines.append(Case(f"{name}, a second's burst", work, SECOND))
    long = WORK["multi-turn"]
    lines += [
        Case("evaluation tier", lambda seed: rig(seed, 12), SMALL),
        Case("foreign load 30 %", WORK["even"], RIG, foreign=0.3),
        Case("foreign 30 %, minute's burst", WORK["even"], MINUTE, foreign=0.3),
        Case("foreign 30 %, multi-turn", long, RIG, foreign=0.3),
        Case("limit halved mid-run", WORK["even"], replace(RIG, scale=halved)),
        Case("limit doubled mid-run", WORK["even"], replace(RIG, scale=doubled)),
        Case("multi-turn, from admission", long, replace(RIG, snapshot="admission")),
        Case("529 wall of 15 min", long, replace(RIG, away=(60, 960))),
        Case("529 5 %, cut 6 %", rig, replace(RIG, overloaded=sometimes, cut=0.06)),
        Case(
            "the same, no headers at all",
            rig,
            replace(
                RIG,
                overloaded=sometimes,
                cut=0.06,
                headers=frozenset(),
                retry_after=False,
            ),
        ),
        Case(
            "the same, limits in texts",
            rig,
            replace(
                RIG,
                overloaded=sometimes,
                cut=0.06,
                headers=frozenset(),
                retry_after=False,
                texts=True,
            ),
        ),
        *(
            Case(f"ramp limit, {name}", work, replace(RIG, ramp=ramp, texts=True))
            for name, work in WORK.items()
            if name != "many small"
        ),
        Case("ramp limit, no texts", WORK["even"], replace(RIG, ramp=ramp)),
        Case("the same, multi-turn", long, replace(RIG, ramp=ramp)),
        Case("20 connections", long, replace(RIG, concurrency=20)),
    ]
    return lines


def short_cases() -> list[Case]:
    """The workloads of `compare.py` at its settings of the account."""
    settings = {
        "plain": LIVE,
        "half": replace(LIVE, scale=lambda _: 0.5),
        "double": replace(LIVE, scale=lambda _: 2.0),
        "minute": replace(LIVE, burst=1.0),
    }
    return [
        Case(f"short {name}, {setting}", short(name), terms)
        for setting, terms in settings.items()
        for name in SHORT
    ]


def main(seeds: int = 5, *only: str) -> None:
    """Print the table."""
    head = f"{'case':32} {'x bound':>22} {'bound s':>8} {'429s':>6} {'late':>6}"
    print(f"{head} {'lost':>4} {'wasted':>7} {'peak':>5} {'took':>5}")
    for case in cases():
        if not only or any(word in case.name for word in only):
            began = time.perf_counter()
            results = [case.run(seed) for seed in range(1, seeds + 1)]
            print(line(case.name, results, time.perf_counter() - began), flush=True)


def line(name: str, results: list[Result], took: float) -> str:
    ratios = sorted(result.ratio for result in results)
    spread = f"{ratios[0]:.3f}-{ratios[-1]:.3f}"
    middle = statistics.median
    return (
        f"{name:32} {middle(ratios):8.3f} {spread:>13}"
        f" {middle(r.bound for r in results):8.0f}"
        f" {middle(r.refused for r in results):6.0f}"
        f" {max(r.refused_after_first for r in results):6d}"
        f" {sum(r.lost for r in results):4d}"
        f" {middle(r.wasted_input for r in results) / 1000:6.0f}k"
        f" {max(r.peak for r in results):5d} {took:5.1f}"
    )


if __name__ == "__main__":
    main(*(int(n) for n in sys.argv[1:2]), *sys.argv[2:])
