"""Forecast against outcome, over workloads of many shapes, on virtual time.

A first run teaches what such agents use and what the account allows. A second one,
of other agents, says before its first call what it will take; then it takes it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, ClassVar

import pytest

from core.engine.bench import order
from core.engine.paced_service import PacedService
from core.engine.test_waves import Kept, Timed
from fanout.decide.forecast.outlook import Experience
from fanout.simulator.limiter import Limits
from fanout.words.ahead import Forecasted
from fanout.words.orders import AgentOrder
from fanout.words.tools import ToolResult
from fanout.world.planning import Known, Planning
from figures import record_figure

SMALL = Limits(requests=50, input_tokens=30_000, output_tokens=8_000)
MIDDLE = Limits(requests=300, input_tokens=200_000, output_tokens=40_000)
LARGE = Limits(requests=4_000, input_tokens=4_000_000, output_tokens=800_000)
TOKENS_WITHIN, MINUTES_WITHIN = 0.10, 0.15


class Look:
    name = "look"
    description = "look at something"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content="seen " * 20)


Shape = Callable[[Random, int], AgentOrder]


def single(size: tuple[int, int], out: tuple[int, int]) -> Shape:
    def make(r: Random, n: int) -> AgentOrder:
        prompt = f"turns=1 out={r.randint(*out)}"
        return order(f"k{n:03}", prompt=prompt, inputs="x" * r.randint(*size))

    return make


def talks(turns: tuple[int, int], results: tuple[int, int]) -> Shape:
    def make(r: Random, n: int) -> AgentOrder:
        prompt = (
            f"turns={r.randint(*turns)} out={r.randint(100, 400)} "
            f"results={r.randint(*results)}"
        )
        inputs = "x" * r.randint(2_000, 9_000)
        return order(f"k{n:03}", prompt=prompt, inputs=inputs, tools=(Look(),))

    return make


def skewed(r: Random, n: int) -> AgentOrder:
    size = int(min(120_000, 3_000 * r.paretovariate(1.2)))
    prompt = f"turns=1 out={r.randint(150, 600)}"
    return order(f"k{n:03}", prompt=prompt, inputs="x" * size)


WORK: dict[str, tuple[Limits, Shape]] = {
    "even, small account": (SMALL, single((10_000, 14_000), (200, 400))),
    "large inputs": (MIDDLE, single((20_000, 90_000), (300, 900))),
    "long answers": (MIDDLE, single((3_000, 6_000), (1_500, 4_000))),
    "many small ones": (SMALL, single((400, 1_200), (20, 60))),
    "agents with tools": (MIDDLE, talks((3, 6), (500, 1_500))),
    "agents with tools, small account": (SMALL, talks((2, 5), (300, 900))),
    "sizes of every kind": (MIDDLE, skewed),
    "an account with room": (LARGE, talks((3, 6), (500, 1_500))),
}


def run(  # noqa: PLR0917  one after the other, as they are
    folder: Path,
    work: str,
    seed: int,
    count: int,
    experience: Experience,
    known: Known,
) -> tuple[Timed, PacedService, dict[str, Any]]:
    limits, make = WORK[work]
    service, r = PacedService(limits, seed), Random(seed)
    kept: dict[str, Any] = {}
    earlier = Kept()
    earlier.experience = experience
    bench = Timed(
        service,
        folder,
        earlier=earlier,
        planning=Planning(known=known, keep=lambda pools, _: kept.update(pools)),
        chance=r.random,
    )
    bench.schedule(*(make(r, n) for n in range(count)))
    bench.returns()
    assert bench.run() == 0
    return bench, service, kept


@dataclass(frozen=True, slots=True)
class Off:
    """How far a forecast was off, as shares of what came."""

    tokens: float
    minutes: float
    inside: bool
    """The tokens that came lay within the range."""


def tried(folder: Path, work: str, seeds: Iterable[int]) -> list[Off]:
    """Forecast and run, over some seeds."""
    found = []
    for seed in seeds:
        first, _, pools = run(folder, work, seed, 80, Experience(), Known())
        known = Known(of=lambda pool, _, told=pools: told.get(pool, {}))
        learned = Experience([first.core.outlook])
        bench, service, _ = run(folder, work, 100 + seed, 100, learned, known)
        said = next(e for e in bench.journal.events if isinstance(e, Forecasted))
        tokens = said.figures["tokens"]["total"]
        actual, took = service.charged.total, bench.clock_at_end()
        found.append(
            Off(
                tokens["expected"] / actual - 1,
                said.figures["seconds"]["expected"] / took - 1,
                tokens["low"] <= actual <= tokens["high"],
            )
        )
    return found


def hold(off: list[Off]) -> None:
    assert mean(abs(one.tokens) for one in off) <= TOKENS_WITHIN
    assert mean(abs(one.minutes) for one in off) <= MINUTES_WITHIN


@pytest.mark.parametrize("work", WORK)
def test_a_forecast_is_what_comes(tmp_path: Path, work: str) -> None:
    hold(tried(tmp_path, work, range(2)))


@pytest.mark.long
@pytest.mark.parametrize("work", WORK)
def test_a_forecast_is_what_comes_whatever_the_seed(tmp_path: Path, work: str) -> None:
    off = tried(tmp_path, work, range(10))
    hold(off)
    inside = sum(one.inside for one in off)
    # Nine of ten are to lie within the range; of ten, luck may take some.
    assert inside >= 7
    tokens = [one.tokens for one in off]
    minutes = [one.minutes for one in off]
    record_figure(
        f"forecast against outcome: {work}",
        "on average within 10 % of tokens, 15 % of minutes",
        f"tokens {min(tokens):+.1%} to {max(tokens):+.1%}, "
        f"minutes {min(minutes):+.1%} to {max(minutes):+.1%}, {inside} of 10 in range",
    )
