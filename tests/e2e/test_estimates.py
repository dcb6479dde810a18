"""What the real program says of input before it spends, beside what was charged."""

import json
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from e2e.program import Program, account

pytestmark = pytest.mark.long

JOB = f"""
async def main():
    parts = fanout.partition(
        {str(Path(sysconfig.get_paths()["stdlib"], "asyncio"))!r},
        "*.py", max_tokens=6_000,
    )
    async with fanout.phase("audit"):
        await fanout.parallel(
            fanout.agent("Say it. [[sim: output=40]]", key=part.key, inputs=part)
            for part in parts
        )
"""
KINDS = ("rate_limit", "server_error")


def said(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return told


def test_the_forecast_is_within_a_tenth_of_what_was_charged(tmp_path: Path) -> None:
    with account() as service:
        program = Program(tmp_path, service)
        program.script(JOB)
        ended = program.run("--no-tui", "--report", "r.json", "job.py")
        assert ended.code == 0, ended.said
        charged = service.state(0)["charged"]
    told = said(tmp_path)["forecast"]
    first = told["first"]["tokens"]["input_tokens"]
    read = charged["input_tokens"] + charged["cache_creation_input_tokens"]
    assert abs(first["expected"] / read - 1) <= 0.1
    assert first["low"] <= read <= first["high"]
    assert told["first"]["calibrated"]["counted"] == 24
    assert abs(told["input"]["off"]) <= 0.1
    assert "calibrated on 24 first requests counted" in ended.out
    # What was learned is enough for the next run: a dry one says so, and sends nothing.
    program.script(JOB.replace("Say it.", "Say it again."))
    again = program.run("--no-tui", "--dry-run", "job.py")
    assert "requests of earlier runs" in again.out


@pytest.mark.parametrize("kind", KINDS)
def test_an_account_that_does_not_count_holds_nothing_up(
    tmp_path: Path, kind: str
) -> None:
    with account({"faults": [{"kind": kind, "endpoint": "count_tokens"}]}) as service:
        program = Program(tmp_path, service)
        program.script(JOB)
        ended = program.run("--no-tui", "--report", "r.json", "job.py")
    assert ended.code == 0, ended.said
    assert "uncalibrated (" in ended.out
    assert said(tmp_path)["forecast"]["first"]["calibrated"]["counted"] == 0
