"""Stories by seed: the invariants hold in all of them, and planted bugs are caught.

A failure names its seed, and the command that tells that one story again.
FANOUT_SCALE=5 tells five times as many.
"""

import os
import re
import subprocess
import sys
import time

import pytest

from core.engine.mutants import MUTANTS
from core.engine.stories import Story, story
from core.engine.weathers import WEATHERS
from figures import ROOT, record_figure

SCALE = float(os.environ.get("FANOUT_SCALE", "1"))
SEEDS = int(204 * SCALE)
"""Of each weather: 2,040 in all."""
SHARDS = 2
SEEDS_MAX = 500
"""Within so many stories a planted bug must be caught."""
INVARIANTS = re.compile(r"I([1-9]|1[0-8]): ")


def again(name: str, seed: int) -> str:
    return f'PYTHONPATH=tests python -m core.engine.stories "{name}" {seed}'


def tell(name: str, seeds: range) -> list[Story]:
    """Tell these stories; fails with the first that went wrong."""
    weather, lives = WEATHERS[name]
    told = []
    for seed in seeds:
        told.append(story(seed, weather, lives=lives))
        wrong = "\n".join(told[-1].wrong)
        assert not wrong, f"seed {seed}: {wrong}\n\n{again(name, seed)}"
    return told


@pytest.mark.parametrize("name", WEATHERS)
def test_random_runs(name: str) -> None:
    tell(name, range(8))


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", WEATHERS)
def test_many_random_runs(name: str, shard: int) -> None:
    begun = time.process_time()
    told = tell(name, range(1_000 + shard, 1_000 + SEEDS, SHARDS))
    rate = len(told) / (time.process_time() - begun)
    print(f"{name}: {rate:.0f} seeds a second")
    seeds = "≥ 2,000 seeds, 0 violations of the invariants"
    record_figure("simulated runs", seeds, len(told), unit="seeds, 0 violations")
    for what, count in (
        ("kills", sum(one.kills for one in told)),
        ("power cuts among them", sum(one.power_cuts for one in told)),
        ("calls", sum(one.calls for one in told)),
        ("virtual hours", round(sum(one.seconds for one in told) / 3600)),
    ):
        record_figure(f"simulated runs: {what}", "", count)


TRACES = """
from core.engine.stories import story
from core.engine.weathers import WEATHERS
for name, (weather, lives) in WEATHERS.items():
    print(name, *(story(s, weather, lives=lives).trace for s in (7, 8)), sep="\\t")
"""


def test_a_seed_tells_one_story() -> None:
    """The same in this process and in another that hashes differently."""
    other = subprocess.Popen(
        [sys.executable, "-c", TRACES],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": "tests"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    here = {
        name: [story(seed, weather, lives=lives).trace for seed in (7, 8)]
        for name, (weather, lives) in WEATHERS.items()
    }
    out, _ = other.communicate()
    assert other.returncode == 0
    there = [line.split("\t") for line in out.splitlines()]
    assert {name: traces for name, *traces in there} == here
    for name, traces in here.items():
        assert len(set(traces)) == 2, name


@pytest.mark.parametrize("name", MUTANTS)
def test_a_bug_can_still_be_planted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it replaces is still there under that name."""
    MUTANTS[name](monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    count = 0
    for seed in range(SEEDS_MAX):
        for weather, lives in WEATHERS.values():
            count += 1
            wrong = story(seed, weather, lives=lives).wrong
            if wrong:
                caught(name, count, wrong[0])
                return
            assert count < SEEDS_MAX, f"not caught: {name}"


def caught(name: str, count: int, wrong: str) -> None:
    by = INVARIANTS.match(wrong)
    assert by is not None, f"by no invariant: {wrong}"
    told = f"caught in story {count}, by I{by[1]}"
    print(f"{name}: {told}")
    record_figure(f"planted bug: {name}", f"≤ {SEEDS_MAX} stories", told)
    record_figure("planted bugs", "≥ 30, all caught", 1, unit="planted, all caught")
    slowest = f"≤ {SEEDS_MAX} stories each"
    record_figure("planted bugs, the last to be caught", slowest, count, highest=True)
