"""Run folders: made safely, named plainly, found by any fair name, locked once."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from core.disk.journals import story_of, write_segments
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.lock import RunLock, holder
from fanout.disk.reports.writing import report_of
from fanout.disk.rundir import (
    MANIFEST,
    create_run,
    find_run,
    open_runs_folder,
    probe,
    read_manifest,
    run_folders,
    run_id,
)
from fanout.disk.runs import delete_run, list_runs, summary
from fanout.errors import UsageError
from fanout.testing.bad_disks import FailingFiles
from fanout.testing.stories import Story
from fanout.words.events import RunEnded, ScriptEnded
from fanout.words.model import Status
from figures import record_figure

NOW = 1_796_080_500.0


def make(
    runs: Path, token: str = "7f3a", now: float = NOW, script: str = "/work/audit.py"
) -> Path:
    return create_run(
        runs,
        script=script,
        arguments=("src", "--x"),
        endpoint="simulated:demo",
        simulated=True,
        version="0.1.0",
        now=now,
        token=lambda: token,
    )


def test_the_runs_folder_is_private_and_ignored(tmp_path: Path) -> None:
    runs = open_runs_folder(tmp_path / "deep" / ".fanout")
    assert runs.stat().st_mode & 0o777 == 0o700
    assert (runs / ".gitignore").read_text() == "*\n"
    assert sorted(p.name for p in runs.iterdir()) == [".gitignore"]
    assert open_runs_folder(runs) == runs


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="runs cannot be kept in") as caught:
        open_runs_folder(tmp_path / "file")
    assert "--run-dir" in caught.value.hint
    with pytest.raises(UsageError, match=r"MiB are free, .* needed"):
        open_runs_folder(tmp_path / "x", space_min=1 << 60)


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_the_probe_tries_all_that_a_run_will_do(tmp_path: Path, call: int) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    files = FailingFiles(lambda n: full if n == call else None)
    with pytest.raises(OSError, match="No space"):
        probe(tmp_path, files=files)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("/w/audit.py", "audit"),
        ("/w/My Audit (2).py", "my-audit-2"),
        ("/w/日本.py", "run"),
        ("/w/..py", "run"),
        ("/w/" + "x" * 99 + ".py", "x" * 24),
    ],
    ids=range(5),
)
def test_a_run_is_named_by_its_script_and_minute(script: str, name: str) -> None:
    assert run_id(script, NOW, "7f3a") == f"{name}-20261130-2315-7f3a"


def test_a_manifest_reads_back(tmp_path: Path) -> None:
    folder = make(tmp_path)
    manifest = read_manifest(folder)
    assert manifest is not None
    assert (manifest.run, manifest.arguments, manifest.created) == (
        folder.name,
        ("src", "--x"),
        NOW,
    )
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in folder.iterdir()] == [MANIFEST]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"run": 1}', "[" * 90_000]
)
def test_a_manifest_that_makes_no_sense_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    assert read_manifest(tmp_path) is None


def test_ids_that_are_taken_are_not_used_again(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(UsageError, match="no free run id"):
        make(tmp_path)


def test_a_run_is_found_by_id_prefix_path_and_last(tmp_path: Path) -> None:
    first, second = make(tmp_path, "aaaa"), make(tmp_path, "abbb", NOW + 60)
    make(tmp_path, "cccc", NOW - 60, "/w/other.py")
    assert find_run(tmp_path, first.name) == first
    assert find_run(tmp_path, "audit-20261130-2316") == second
    assert find_run(tmp_path, "o").name.startswith("other")
    assert find_run(tmp_path, "last") == second
    assert find_run(tmp_path, str(first)) == first
    assert [f.name[:5] for f in run_folders(tmp_path)] == ["other", "audit", "audit"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("audit", "could be 2 runs"),
        ("nope", "no run is called"),
        ("", "no run is called"),
        ("./no", "is not the folder of a run"),
        ("..", "is not the folder"),
    ],
)
def test_a_name_that_is_not_one_run_says_so(
    tmp_path: Path, name: str, said: str
) -> None:
    make(tmp_path, "aaaa"), make(tmp_path, "bbbb")
    with pytest.raises(UsageError, match=said) as caught:
        find_run(tmp_path, name)
    assert caught.value.hint


def test_a_second_opener_is_told_who_holds_the_run(tmp_path: Path) -> None:
    folder = make(tmp_path)
    assert holder(folder) is None
    with RunLock(folder, now=NOW):
        held = holder(folder)
        assert held is not None
        assert (held.pid, held.since) == (os.getpid(), NOW)
        with pytest.raises(
            UsageError,
            match=f"worked on by process {os.getpid()} on {socket.gethostname()}",
        ) as caught:
            RunLock(folder, now=NOW)
        assert "fanout-tui report" in caught.value.hint
    assert holder(folder) is None
    RunLock(folder, now=NOW).release()


def test_a_lock_file_full_of_rubbish_still_locks(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (folder / "run.lock").write_bytes(b"\xff{")
    fd = os.open(folder / "run.lock", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="by another process"):
        RunLock(folder, now=NOW)
    os.close(fd)


def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    folder = make(tmp_path)
    code = "import sys, time, pathlib; from fanout.disk.lock import RunLock; lock = RunLock(pathlib.Path(sys.argv[1]), now=1.0); print('held', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        held = holder(folder)
        assert held is not None
        assert held.pid == child.pid
        assert summary(folder).state == "running"
        child.send_signal(signal.SIGKILL)
        child.wait()
    RunLock(folder, now=NOW).release()


def test_of_many_that_race_exactly_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout.disk.lock.PAUSE_SECONDS", 0.001)
    folder = make(tmp_path)
    for _ in range(200):
        won: list[RunLock] = []
        start = threading.Barrier(4)

        def race(won: list[RunLock] = won, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                won.append(RunLock(folder, now=NOW))
            except UsageError:
                return

        threads = [threading.Thread(target=race) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        won[0].release()
    record_figure("races for a run's lock", "≥ 200, exactly one writer", 200)


def test_a_file_system_without_locks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fanout.disk.lock.fcntl.flock", no_locks)
    with pytest.raises(UsageError, match="cannot be locked: No locks") as caught:
        RunLock(make(tmp_path), now=NOW)
    assert "--run-dir" in caught.value.hint


def test_a_child_that_outlives_its_parent_still_holds_the_lock(tmp_path: Path) -> None:
    """A script that forks gives the open file away; the holder named is gone."""
    folder = make(tmp_path)
    code = (
        "import os, sys, time, pathlib; from fanout.disk.lock import RunLock\n"
        "lock = RunLock(pathlib.Path(sys.argv[1]), now=1.0)\n"
        "child = os.fork()\n"
        "if child: print(child, flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        with pytest.raises(UsageError, match="a child that process") as caught:
            RunLock(folder, now=NOW)
        assert str(parent.pid) in str(caught.value)
        os.kill(child, signal.SIGKILL)
    for _ in range(200):
        if holder(folder) is None:
            break
        time.sleep(0.01)
    RunLock(folder, now=NOW).release()


def test_runs_are_listed_with_how_they_stand(tmp_path: Path) -> None:
    killed = make(tmp_path, "aaaa")
    write_segments(killed, story_of(3, 150))
    ended = make(tmp_path, "bbbb", NOW + 60)
    story = Story(3)
    records = list(story.tell(120))
    records.append(story.record(RunEnded(exit_code=3, complete=False, accepted=True)))
    write_segments(ended, records)
    make(tmp_path, "cccc", NOW + 120)
    (tmp_path / "stray").mkdir()
    listed = list_runs(tmp_path)
    assert [r.id[-4:] for r in listed] == ["aaaa", "bbbb", "cccc"]
    assert [r.state for r in listed] == ["killed", "incomplete, accepted", "killed"]
    assert (listed[1].exit_code, listed[1].accepted) == (3, True)
    assert listed[0].counts.expected > 0
    assert listed[0].size > 1_000
    assert listed[2].counts.expected == 0
    assert not any(run.damaged for run in listed)


@pytest.mark.parametrize("seed", range(6))
def test_a_listing_counts_as_the_report_does(tmp_path: Path, seed: int) -> None:
    """Also of a killed run, whose open rows are missing; with a checkpoint as without.

    A listing does not read the rows behind a checkpoint.
    """
    folder = make(tmp_path, "aaaa")
    write_segments(folder, story_of(seed, 150))
    before = summary(folder)
    write_checkpoint(folder)
    report = report_of(folder, generated_at=NOW)
    statuses = Counter(Status(one.status) for one in report.partitions)
    for one in (before, summary(folder)):
        assert one.state == "killed"
        assert one.counts == report.counts
        assert one.counts.missing == statuses[Status.MISSING] > 0
        assert one.counts.done == statuses[Status.DONE]


def test_a_run_that_has_ended_and_is_still_shown_says_both(tmp_path: Path) -> None:
    folder = make(tmp_path)
    story = Story(3)
    records = list(story.tell(120))
    write_segments(folder, records)
    with RunLock(folder, now=NOW):
        assert (summary(folder).state, summary(folder).shown) == ("running", False)
    records.append(story.record(RunEnded(exit_code=0, complete=True, accepted=False)))
    write_segments(folder, records)
    with RunLock(folder, now=NOW):
        assert (summary(folder).state, summary(folder).shown) == ("complete", True)
        with pytest.raises(UsageError, match="worked on"):
            delete_run(folder, now=NOW)
    assert (summary(folder).state, summary(folder).shown) == ("complete", False)


@pytest.mark.parametrize(
    ("outcome", "code", "word"),
    [
        ("raised", 1, "script raised"),
        ("exited", 1, "script exited"),
        ("incomplete", 3, "incomplete"),
        ("cancelled", 4, "incomplete"),
    ],
)
def test_how_a_script_ended_is_told_in_lists_as_in_reports(
    tmp_path: Path, outcome: str, code: int, word: str
) -> None:
    folder = make(tmp_path)
    story = Story(3)
    records = list(story.tell(120))
    records.append(story.record(ScriptEnded(outcome=outcome, text="KeyError: 1")))
    end = RunEnded(exit_code=code, complete=False, accepted=False)
    write_segments(folder, [*records, story.record(end)])
    assert summary(folder).state == word
    assert report_of(folder, generated_at=NOW).verdict == word
    write_checkpoint(folder)
    assert summary(folder).state == word


def test_only_a_run_that_rests_can_be_deleted(tmp_path: Path) -> None:
    folder = make(tmp_path)
    with RunLock(folder, now=NOW), pytest.raises(UsageError, match="worked on"):
        delete_run(folder, now=NOW)
    delete_run(folder, now=NOW)
    assert not folder.exists()
    (tmp_path / "precious").mkdir()
    with pytest.raises(UsageError, match="not the folder of a run"):
        delete_run(tmp_path / "precious", now=NOW)
