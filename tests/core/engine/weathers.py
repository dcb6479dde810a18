"""The weathers that stories are told under, and in how many lives."""

from typing import Any

from core.engine.simulated_service import Weather
from fanout.simulator.limiter import Limits

FEW_REQUESTS = Limits(requests=20, input_tokens=400_000, output_tokens=40_000)
FEW_TOKENS = Limits(requests=400, input_tokens=24_000, output_tokens=40_000)

STEADY: dict[str, Any] = {
    "refusals": 0.05,
    "broken": 0.02,
    "final": 0.0,
    "stop": 0.0,
    "script_fails": 0.0,
}

WEATHERS: dict[str, tuple[Weather, int]] = {
    "calm": (Weather(second_phase=True), 1),
    "meddled with": (Weather(commands=30, stop=0.1, poor_answers=0.5), 1),
    "a bad disk": (
        Weather(disk_failures=3, commit_seconds=2.0, commands=20, second_phase=True),
        1,
    ),
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
            second_phase=True,
        ),
        1,
    ),
    "killed twice": (Weather(second_phase=True, lost_files=0.3, new_tools=True), 3),
    "killed often": (
        Weather(
            commit_seconds=0.3,
            refusals=0.02,
            broken=0.02,
            poor_answers=0.05,
            final=0.01,
            commands=20,
            disk_failures=1,
            lost_files=0.2,
        ),
        5,
    ),
    "few requests a minute": (
        Weather(limits=FEW_REQUESTS, burst=0.3, limit_changes=0.3, rows=20, **STEADY),
        3,
    ),
    "few tokens a minute": (
        Weather(
            limits=FEW_TOKENS,
            burst=0.5,
            padding=8_000,
            limit_changes=0.3,
            rows=20,
            **STEADY,
        ),
        3,
    ),
    "a service that is away": (
        Weather(outages=0.8, refusals=0.1, broken=0.1, commands=3, second_phase=True),
        2,
    ),
    "budgets that ask": (
        Weather(
            budget=0.4,
            phase_budget=1.0,
            output_max=400,
            refusals=0.05,
            broken=0.1,
            stop=0.1,
            second_phase=True,
        ),
        3,
    ),
    "a small budget": (
        Weather(budget=1.0, output_max=400, refusals=0.05, broken=0.1, stop=0.1),
        3,
    ),
}
