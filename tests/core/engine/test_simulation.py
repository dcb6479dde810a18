"""Random runs by seed: what must hold holds, whatever happens, and mutants are caught.

A failure names its seed; `story(seed, weather, lives=…)` tells it again.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from core.engine.mutants import MUTANTS
from core.engine.simulated_service import Weather
from core.engine.stories import story

SCALE = float(os.environ.get("FANOUT_SCALE", "1"))
CALM = Weather()
WEATHERS: dict[str, tuple[Weather, int]] = {
    "calm": (CALM, 1),
    "meddled with": (Weather(commands=30, stop=0.1, poor_answers=0.5), 1),
    "a bad disk": (Weather(disk_failures=3, commit_seconds=2.0, commands=20), 1),
    "in the wrong moment": (
        Weather(
            meddling=0.4,
            final=0.0,
            refusals=0.05,
            broken=0.05,
            stop=0.05,
            late_script=0.0,
            script_fails=0.0,
            commit_seconds=0.3,
        ),
        1,
    ),
    "killed twice": (CALM, 3),
    "killed often": (
        Weather(
            commit_seconds=0.3,
            refusals=0.02,
            broken=0.02,
            poor_answers=0.05,
            final=0.01,
            commands=20,
            disk_failures=1,
        ),
        5,
    ),
}


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs' own syncs are another test's business, and slow."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def run(seeds: range, weather: Weather, lives: int) -> list[str]:
    found: list[str] = []
    for seed in seeds:
        try:
            wrong = story(seed, weather, lives=lives)
        except BaseException as error:
            wrong = [repr(error)]
            if isinstance(error, KeyboardInterrupt):
                raise
        found += [f"seed {seed}: {text}" for text in wrong]
    return found


@pytest.mark.parametrize("name", WEATHERS)
def test_random_runs(name: str) -> None:
    assert run(range(25), *WEATHERS[name]) == []


@pytest.mark.long
@pytest.mark.parametrize("name", WEATHERS)
def test_many_random_runs(name: str) -> None:
    assert run(range(1_000, 1_000 + int(500 * SCALE)), *WEATHERS[name]) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant: Callable[[Any], None] = MUTANTS[name]
    plant(monkeypatch)
    for seeds in (range(10), range(10, 80), range(80, 200)):
        for weather, lives in WEATHERS.values():
            for seed in seeds:
                if run(range(seed, seed + 1), weather, lives):
                    return
    pytest.fail(f"{name} was not caught")
