"""What the real program says before it spends, and what it does with the answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.program import Ended, Program, account
from fanout.simulator.process import SimulatedAccount

JOB = """
async def main(n="8", word="one"):
    async with fanout.phase("work"):
        results = await fanout.parallel(
            fanout.agent(
                f"Say {i} {word if i < 3 else ''} [[sim: output=60]]",
                key=f"k{i:02}",
                inputs="text " * 400,
            )
            for i in range(int(n))
        )
    async with fanout.phase("sum"):
        made = await fanout.agent("Sum. [[sim: output=60]]", key="all", inputs=results)
    return made.value
"""


@pytest.fixture(scope="module")
def service() -> Iterator[SimulatedAccount]:
    with account() as one:
        yield one


def program_of(folder: Path, service: SimulatedAccount, text: str = JOB) -> Program:
    program = Program(folder, service)
    program.script(text)
    return program


def read(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return told


def test_a_resume_says_what_it_reuses_and_why_the_rest_runs(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = program_of(tmp_path, service)
    first = program.run("--no-tui", "job.py")
    assert first.code == 0, first.said
    assert "will run 8, about" in first.out
    assert "will run 1 more in sum, about" in first.out
    wanted = ("--report", "r.json", "--report", "r.md")
    again = program.run("--no-tui", *wanted, "job.py", "10", "two")
    assert again.code == 0, again.said
    assert "reuses 5, will run 5, about" in again.out
    assert ": 3 because their prompt changed, 2 new" in again.out
    why = {p["key"]: p["again"] for p in read(tmp_path)["partitions"]}
    assert why["k00"] == "its prompt changed"
    assert why["all"] == "its inputs changed"
    assert why["k05"] == why["k09"] == ""
    report = (tmp_path / "r.md").read_text()
    assert "Ran again, although earlier work knew them: 3 because" in report


def test_nothing_reused_of_a_run_that_is_there_is_said_loudly(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = program_of(tmp_path, service)
    assert program.run("--no-tui", "job.py").code == 0
    program.script(JOB.replace("Say", "Tell").replace("Sum.", "Sum up."))
    again = program.run("--no-tui", "job.py")
    assert "NOTHING IS REUSED of the 9 results that earlier work left" in again.out
    assert "8 because their prompt changed" in again.out


def events(ended: Ended, kind: str) -> list[dict[str, object]]:
    told = [json.loads(line) for line in ended.out.splitlines() if line]
    return [one for one in told if one["event"] == kind]


def test_the_json_stream_has_the_figures(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = program_of(tmp_path, service)
    ended = program.run("--json", "job.py")
    told = events(ended, "forecast")
    assert told
    assert told[-1]["agents"] == 9
    figures = told[-1]["tokens"]
    assert isinstance(figures, dict)
    assert figures["total"]["low"] <= figures["total"]["expected"]
