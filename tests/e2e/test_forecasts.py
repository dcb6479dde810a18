"""What the real program says before it spends, and what it does with the answer."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.program import SECONDS_MAX, Ended, Program, account
from fanout.simulator.process import SimulatedAccount

pytestmark = [pytest.mark.long, pytest.mark.soak]

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


def program_of(
    folder: Path, service: SimulatedAccount | None, text: str = JOB
) -> Program:
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
    said = "NOTHING IS REUSED of the 8 results that earlier work left in work: "
    assert said in again.out
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


def journals(folder: Path) -> dict[str, bytes]:
    files = sorted(p for p in (folder / ".fanout").rglob("*") if p.is_file())
    return {str(path): path.read_bytes() for path in files}


def test_a_dry_run_sends_nothing_and_touches_nothing(tmp_path: Path) -> None:
    with account() as own:
        program = program_of(tmp_path, own)
        first = program.run("--no-tui", "--dry-run", "job.py")
        assert (first.code, own.state(5)["requests"]) == (0, []), first.said
        assert not (tmp_path / ".fanout").exists()
        assert "dry run of job on http://127.0.0.1" in first.out
        assert "would run  8 agents in work (claude-sonnet-5)" in first.out
        assert "main waits for these results" in first.out
        assert program.run("--no-tui", "job.py").code == 0
        sent, before = len(own.state(99)["requests"]), journals(tmp_path)
        again = program.run("--dry-run", "job.py", "10", "two")
        assert again.code == 0, again.said
        assert len(own.state(99)["requests"]) == sent
        assert journals(tmp_path) == before
    assert "reuses     5 rows" in again.out
    assert "would run  5 agents in work" in again.out
    assert "3 because their prompt changed" in again.out
    assert "at the limits as learned on" in again.out
    assert "in an earlier run: sum, 1 agent" in again.out


def test_a_dry_run_goes_on_through_what_is_known(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = program_of(tmp_path, service)
    assert program.run("--no-tui", "job.py").code == 0
    (told,) = events(program.run("--json", "--dry-run", "job.py"), "forecast")
    assert (told["reused"], told["agents"], told["waits"]) == (9, 0, False)
    program.script(JOB.replace("Sum.", "Sum up."))
    (told,) = events(program.run("--json", "--dry-run", "job.py"), "forecast")
    assert (told["reused"], told["agents"], told["waits"]) == (8, 1, True)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        ("fanout.agent('', key='a')", 2, "the prompt of an agent is empty"),
        (
            (
                "c = fanout.client()\n"
                "    n = await c.messages.count_tokens(model='m', messages=[])"
            ),
            0,
            "would run  nothing",
        ),
        (
            (
                "c = fanout.client()\n"
                "    await c.messages.create(model='claude-sonnet-5', max_tokens=9,"
                " messages=[{'role': 'user', 'content': 'hi'}])"
            ),
            0,
            "would run  1 agent in main",
        ),
    ],
)
def test_whatever_a_script_does_a_dry_run_ends(
    tmp_path: Path, body: str, code: int, said: str
) -> None:
    program = program_of(tmp_path, None, f"async def main():\n    {body}\n")
    ended = program.run("--dry-run", "job.py")
    assert ended.code == code, ended.said
    assert said in ended.said


def test_a_few_first_and_then_the_whole(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = program_of(tmp_path, service)
    few = program.run("--no-tui", "--limit", "2", "--report", "r.json", "job.py")
    assert few.code == 3, few.said
    assert few.kinds() == {"done": 3, "stopped": 6}
    reasons = {p["reason"] for p in read(tmp_path)["partitions"]} - {""}
    assert reasons == {"not selected (--limit 2)"}
    assert read(tmp_path)["finish"].startswith("fanout-tui resume job-")
    some = program.run("--no-tui", "--only", "work/k0[67],nobody/*", "job.py")
    assert some.code == 3, some.said
    assert "--only names nobody/*, and no row is called so" in some.said
    whole = program.run("resume", "--no-tui", "last")
    assert whole.code == 0, whole.said
    assert "reuses 4, will run 4" in whole.out
    wrong = program.run("--no-tui", "--fresh", "--only", "wrok/*", "job.py")
    assert wrong.code == 2, wrong.said


MUCH = """
async def main():
    await fanout.parallel(
        fanout.agent("Say it. [[sim: output=20]]", key=f"k{i}", inputs="x " * 450_000)
        for i in range(8)
    )
"""


def paid(own: SimulatedAccount) -> int:
    """Requests that cost something: to count tokens is free, and done before asking."""
    asked = own.state(500)["requests"]
    return sum(entry["endpoint"] != "count_tokens" for entry in asked)


def test_with_nobody_to_ask_nothing_is_sent_and_yes_goes_ahead(tmp_path: Path) -> None:
    with account() as own:
        program = program_of(tmp_path, own, MUCH)
        ended = program.run("--no-tui", "job.py")
        assert ended.code == 2, ended.said
        assert paid(own) == 0
        assert "8 agents are expected to take about 3.6M tokens" in ended.err
        assert "nobody is there to be asked" in ended.err
        assert "hint: --yes goes ahead" in ended.err
        assert ended.kinds() == {"stopped": 8}
        bounded = program.run("--no-tui", "--max-tokens-total", "1000", "job.py")
        assert "nobody is there" not in bounded.err
        ended = program.run("--no-tui", "--yes", "job.py")
        assert ended.code == 0, ended.said


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"\n", 130), (b"no\n", 130)])
def test_a_terminal_without_a_screen_is_asked_on_stderr(
    tmp_path: Path, typed: bytes, code: int
) -> None:
    with account() as own:
        program = program_of(tmp_path, own, MUCH)
        mine, its = os.openpty()
        with (tmp_path / "out").open("wb") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "fanout_tui", "--no-tui", "job.py"],
                cwd=tmp_path,
                env=program.environ,
                stdin=its,
                stdout=out,
                stderr=its,
            )
        os.close(its)
        said = b""
        end = time.monotonic() + SECONDS_MAX
        while b"[y/N]" not in said and time.monotonic() < end:
            if select.select([mine], [], [], 0.2)[0]:
                said += os.read(mine, 4_096)
        assert paid(own) == 0
        os.write(mine, typed)
        assert child.wait(SECONDS_MAX) == code
        os.close(mine)
        sent = paid(own)
    assert b"spend this?" in said
    assert b"8 agents in main (claude-sonnet-5)" in said
    assert sent == (8 if code == 0 else 0)
