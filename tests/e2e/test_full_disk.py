"""The real program on real disks that are full, small, read-only or bounded."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.program import PARALLEL, Program, account
from fanout.disk.reading import fold
from fanout.simulator.process import SimulatedAccount
from figures import record_figure

FILLS = (
    PARALLEL
    + """
import signal

FILLER = os.path.abspath("filler")

def fill():
    with open(FILLER, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            pass
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass

async def main():
    await work(6)
    if os.path.exists("again"):
        return "mended"
    open("again", "w").close()
    fill()
    {then}
    async with fanout.phase("more"):
        await fanout.parallel(
            fanout.agent(f"More {i}. [[sim: output=60 tps=30]]", key=f"m{i}")
            for i in range(94)
        )
    return "to the end"
"""
)
LATER = "threading.Timer({seconds}, lambda: {act}).start()"
RUN = f"{sys.executable} -m fanout_tui"


@pytest.fixture(scope="module")
def service() -> Iterator[SimulatedAccount]:
    with account() as one:
        yield one


def mounted(program: Program, options: str, *commands: str) -> Any:
    """Run commands in a folder on a small file system of their own."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    inside = program.folder / "small"
    inside.mkdir()
    script = " && ".join(
        [
            f"mount -t tmpfs -o {options} none {inside}",
            f"cp {program.folder}/job.py {inside} 2>/dev/null || true",
            f"cd {inside}",
        ]
    )
    if "ro" in options.split(","):
        script = f"mount -t tmpfs -o {options} none {inside} && cd {inside}"
    lines = [script, *commands, f"cp -r {inside}/.fanout {program.folder} || true"]
    ended = subprocess.run(
        ["unshare", "-m", "sh", "-c", "\n".join(lines)],
        env=program.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "mount:" in ended.stderr:
        pytest.skip(f"no mounts here: {ended.stderr.splitlines()[0]}")
    return ended


def report(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob(".fanout/*/report.json")
    told: dict[str, Any] = json.loads(path.read_text())
    return told


@pytest.mark.long
@pytest.mark.soak
def test_a_disk_that_fills_up_and_is_cleared_is_waited_for(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    program = Program(tmp_path, service)
    then = LATER.format(seconds=8, act="os.remove(FILLER)")
    (tmp_path / "job.py").write_text(FILLS.replace("{then}", then))
    ended = mounted(program, "size=90m", f"{RUN} job.py; echo code $?")
    assert "code 0" in ended.stdout, ended.stdout + ended.stderr
    assert "the disk refuses: No space left on device" in ended.stderr
    assert "No space left on device; nothing new is sent" in ended.stdout
    assert "the disk takes what it is given again" in ended.stdout
    assert "to the end" in ended.stdout
    assert report(tmp_path)["done"] == 100


@pytest.mark.long
@pytest.mark.soak
def test_a_run_stopped_on_a_full_disk_keeps_its_end_and_resumes(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    """The room that was kept takes the last facts and the report."""
    program = Program(tmp_path, service)
    then = LATER.format(seconds=6, act="os.kill(os.getpid(), signal.SIGINT)")
    (tmp_path / "job.py").write_text(FILLS.replace("{then}", then))
    ended = mounted(
        program,
        "size=90m",
        f"{RUN} job.py; echo code $?; df . | tail -1",
        f"cat .fanout/*/report.json > {tmp_path}/first.json",
        "rm filler",
        f"{RUN} resume last; echo then $?",
    )
    said = ended.stdout + ended.stderr
    assert "code 130" in ended.stdout, said
    first = json.loads((tmp_path / "first.json").read_text())
    assert first["exit_code"] == 130
    assert first["done"] + first["missing"] == first["expected"] == 100, said
    assert first["done"] >= 6
    assert "the end of the journal could not be written" not in ended.stderr
    assert "then 0" in ended.stdout, said
    last = report(tmp_path)
    assert last["complete"]
    (journal,) = tmp_path.glob(".fanout/*/journal")
    assert fold(journal.parent).tail.sealed
    record_figure(
        "a real file system that fills up in the middle of a run",
        "said, 0 lost, resumed after repair",
        "100 of 100 after repair, the end kept in the reserve",
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("size=2m", "1 MiB are free, 64 needed"),
        ("size=90m,ro", "Read-only file system"),
    ],
)
def test_a_place_that_cannot_keep_a_run_is_said_before_anything_is_sent(
    service: SimulatedAccount, tmp_path: Path, options: str, why: str
) -> None:
    program = Program(tmp_path, service)
    (tmp_path / "job.py").write_text(PARALLEL + "async def main(): pass\n")
    ended = mounted(program, options, f"{RUN} ../job.py; echo code $?")
    assert "code 2" in ended.stdout, ended.stdout + ended.stderr
    assert "runs cannot be kept in .fanout" in ended.stderr
    assert why in ended.stderr
    assert "hint: name another folder" in ended.stderr


def test_files_that_may_not_grow_are_many_small_ones(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    """A bound on the size of files cuts a segment; the next one goes on."""
    program = Program(tmp_path, service)
    program.script("async def main():\n    await work(40)\n")

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (48 * 1024, 48 * 1024))

    ended = subprocess.run(
        [sys.executable, "-m", "fanout_tui", "job.py"],
        cwd=tmp_path,
        env=program.environ,
        preexec_fn=bound,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert report(tmp_path)["done"] == 40
    (journal,) = tmp_path.glob(".fanout/*/journal")
    assert len(list(journal.iterdir())) > 1
    assert fold(journal.parent).state.counts.done == 40
