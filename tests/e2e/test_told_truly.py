"""What a run says of itself, against what is on the disk and what it was asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.program import Program, account
from fanout.simulator.process import SimulatedAccount

pytestmark = pytest.mark.long

OUTPUTS = """
async def main():
    async with fanout.phase("work"):
        await fanout.parallel(
            fanout.agent(f"Say {i}.", key=f"k{i}", output=f"{i}.txt") for i in range(3)
        )
"""
TAKES_AWAY = """
import shutil
async def main():
    await work(2)
    shutil.rmtree("reports")
"""


@pytest.fixture(scope="module")
def service() -> Iterator[SimulatedAccount]:
    with account() as one:
        yield one


def test_emptied_and_edited_outputs_are_not_what_was_done(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = Program(tmp_path, service)
    program.script(OUTPUTS)
    first = program.run("--out", "made", "job.py")
    assert first.code == 0, first.said
    whole = (tmp_path / "made/0.txt").read_bytes()
    (tmp_path / "made/0.txt").write_bytes(b"")
    (tmp_path / "made/1.txt").write_text("a person's words")
    (tmp_path / "made/2.txt").unlink()
    told = program.run("report", "last").out
    assert (
        "3 of 3 done: complete when it ended, and 3 outputs have changed since" in told
    )
    assert "0.txt of work/k0 has been emptied since it was done" in told
    second = program.run("resume", "last")
    assert second.code == 3, second.said
    assert second.kinds() == {"done": 2, "no output": 1}
    assert (tmp_path / "made/0.txt").read_bytes() == b""
    results = (second.run / "results.jsonl").read_text()
    assert "a person's words" in results
    (tmp_path / "made/0.txt").unlink()
    third = program.run("resume", "last")
    assert third.code == 0, third.said
    assert (tmp_path / "made/0.txt").read_bytes() == whole
    assert (tmp_path / "made/2.txt").exists()
    assert not list((third.run / "out").glob("*")), "outputs stay where they were put"
    assert program.journaled("CallAnswered") == 3


def test_what_fresh_refused_does_not_come_back(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = Program(tmp_path, service)
    program.script(OUTPUTS)
    assert program.run().code == 0
    tried = program.run("--fresh", "--limit", "1", "job.py")
    assert tried.kinds() == {"done": 1, "stopped": 2}
    last = program.run("resume", "last")
    assert last.code == 0, last.said
    assert [p["reused_from"] is None for p in last.report["partitions"]] == [
        False,
        True,
        True,
    ]
    assert "it began afresh" in last.out


def test_a_report_that_cannot_be_written_is_no_success(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = Program(tmp_path, service)
    program.script(TAKES_AWAY)
    refused = program.run("--report", "/proc/r.json", "job.py")
    assert refused.code == 2, refused.said
    assert "nothing was sent" in refused.err
    assert not (tmp_path / ".fanout").exists()
    (tmp_path / "reports").mkdir()
    failed = program.run("--report", "reports/r.json", "job.py")
    assert failed.code == 1, failed.said
    assert failed.report["complete"] is True
    assert failed.report["exit_code"] == 1
    assert "cannot write reports/r.json" in failed.out
    assert f"report     {failed.run}/report.md" in failed.out
    assert "exit code  1" in failed.out


def test_holes_within_a_tolerance_are_called_accepted(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    program = Program(tmp_path, service)
    program.script("async def main():\n    await work(3)\n")
    end = program.run("--limit", "2", "--allow-missing", "1", "job.py")
    assert end.code == 0, end.said
    assert "missing, within the stated tolerance" in end.out
    listed = program.run("runs").out
    assert "incomplete, accepted" in listed
    assert "cost" in listed.splitlines()[0]
    assert "$0.0" in listed.splitlines()[1]


ORDER = """
async def main():
    for name in ("one", "two"):
        print("before", name)
        async with fanout.phase(name):
            os.write(1, b"raw %s\\n" % name.encode())
            fanout.log(f"logged {name}")
            print("after", name)
            await fanout.agent("Say it.", key="k")
"""


def test_what_a_script_does_is_told_in_its_order(
    tmp_path: Path, service: SimulatedAccount
) -> None:
    """However it was said, in a first life and in a resumed one."""
    program = Program(tmp_path, service)
    program.script(ORDER)
    asked = [
        f"{word} {name}"
        for name in ("one", "two")
        for word in ("before", "phase", "raw", "logged", "after")
    ]
    for words in (("job.py",), ("resume", "last")):
        end = program.run(*words)
        assert end.code == 0, end.said
        lines = [line.partition("] ")[2] for line in end.out.splitlines()]
        assert [line for line in lines if line in asked] == asked
