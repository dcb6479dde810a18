"""`runs --delete`: what goes is said before, and somebody says yes."""

import io
import sys
from pathlib import Path

import pytest

from core.disk.journals import story_of, write_segments
from core.disk.test_run_folders import NOW, make
from fanout.disk.lock import RunLock
from fanout_tui.command import listing
from fanout_tui.command.entry import entry


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A killed run with a few rows."""
    folder = make(tmp_path, "aaaa")
    write_segments(folder, story_of(3, 150))
    return folder


def delete(folder: Path, *more: str) -> int:
    runs = str(folder.parent)
    return entry(["runs", "--run-dir", runs, "--delete", folder.name, *more], {})


def answers(patch: pytest.MonkeyPatch, text: str) -> None:
    patch.setattr(listing, "can_ask", lambda *_: True)
    patch.setattr(sys, "stdin", io.StringIO(text))


@pytest.mark.parametrize(
    ("answer", "goes"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_what_goes_is_said_and_asked(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    answer: str,
    goes: bool,
) -> None:
    answers(monkeypatch, answer)
    counts = listing.summary(run).counts
    assert delete(run) == 0
    said = capsys.readouterr()
    assert f"this deletes {run.name}" in said.err
    assert f"{counts.done} of {counts.expected} rows done" in said.err
    assert all(word in said.err for word in (" tokens, $", "KiB", "[y/N]"))
    assert run.exists() is not goes
    assert said.out.split()[0] == ("deleted" if goes else "kept")


def test_with_nobody_to_ask_nothing_goes(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert delete(run) == 2
    assert run.exists()
    said = capsys.readouterr().err
    assert "nobody is there to be asked" in said
    assert "--yes" in said


def test_yes_is_an_answer(run: Path) -> None:
    assert delete(run, "--yes") == 0
    assert not run.exists()


@pytest.mark.parametrize("more", [(), ("--yes",)])
def test_a_live_run_is_never_deleted(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
) -> None:
    answers(monkeypatch, "y\n")
    with RunLock(run, now=NOW):
        assert delete(run, *more) == 2
    assert run.exists()
    assert "is worked on" in capsys.readouterr().err


def test_a_run_that_is_begun_while_it_is_asked_stays(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = []

    class Slow(io.StringIO):
        def readline(self, *_: object) -> str:
            locks.append(RunLock(run, now=NOW))
            return "y\n"

    answers(monkeypatch, "")
    monkeypatch.setattr(sys, "stdin", Slow())
    assert delete(run) == 2
    assert run.exists()
    locks[0].release()


def test_a_listing_says_which_journal_is_damaged(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = make(run.parent, "bbbb", NOW + 60)
    write_segments(whole, story_of(3, 150))
    (segment, *_) = sorted((run / "journal").iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"n":', b'"m":')
    segment.write_bytes(b"".join(lines))
    assert entry(["runs", "--run-dir", str(run.parent)], {}) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert "killed (simulated), damaged" in first
    assert "damaged" not in second
