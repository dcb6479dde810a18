"""What runs there are, and how each of them stands."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from fanout.decide.ended import word_of
from fanout.decide.fold.run_state import interrupted
from fanout.disk.lock import RunLock, holder
from fanout.disk.opening import open_counts
from fanout.disk.rundir import read_manifest, run_folders
from fanout.errors import UsageError
from fanout.words.snapshot import Counts, Totals

RUNNING = "running"
KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run, as a listing shows it."""

    id: str
    folder: Path
    script: str
    arguments: tuple[str, ...]
    simulated: bool
    state: str
    """`running` (a process works on it), `killed`, or what its end is called."""
    shown: bool
    """It has ended, and a process still holds it: its screen stays up."""
    accepted: bool
    """Its holes are within a stated tolerance."""
    exit_code: int | None
    life: int
    counts: Counts
    totals: Totals
    created: float
    last_at: float
    """When something last happened."""
    size: int
    """Bytes on disk."""
    damaged: bool
    """Its journal has records that cannot be read; `report` says which."""


def summary(folder: Path) -> RunSummary:
    """Return how a run stands, from its journal."""
    manifest = read_manifest(folder)
    opened = open_counts(folder)
    state, start = opened.state, opened.state.start
    held = holder(folder) is not None
    word = KILLED if not held else RUNNING
    if state.end is not None:
        word = word_of(state.end, state.script_end)
    return RunSummary(
        id=folder.name,
        folder=folder,
        script=manifest.script if manifest else (start.script if start else ""),
        arguments=(
            manifest.arguments if manifest else (start.arguments if start else ())
        ),
        simulated=(manifest.simulated if manifest else bool(start and start.simulated)),
        state=word,
        shown=held and state.end is not None,
        accepted=state.end is not None and state.end.accepted,
        exit_code=None if state.end is None else state.end.exit_code,
        life=state.life,
        # As its report says: what a dead process had left open is missing.
        counts=interrupted(state.counts) if word == KILLED else state.counts,
        totals=state.totals,
        created=manifest.created if manifest else state.started_at,
        last_at=state.at or (manifest.created if manifest else 0.0),
        size=_size(folder),
        damaged=bool(opened.tail.damage),
    )


def list_runs(runs: Path) -> list[RunSummary]:
    """Return all runs, the oldest first."""
    return [summary(folder) for folder in run_folders(runs)]


def check_deletable(folder: Path) -> None:
    """Raise `UsageError` for what is no run, and while it is worked on."""
    if folder.is_symlink() or read_manifest(folder) is None:
        raise UsageError(
            f"{folder} is not the folder of a run",
            hint="`fanout-tui runs` lists what can be deleted",
        )
    at_work = holder(folder)
    if at_work is not None:
        raise UsageError(
            f"{folder.name} is worked on by {at_work.name}, and is not deleted",
            hint="stop it first; `fanout-tui watch` shows what it does",
        )


def delete_run(folder: Path, *, now: float) -> None:
    """Remove a run and all it holds; raises `UsageError` while it is worked on.

    Outputs that went to a folder of their own stay where they are.
    """
    check_deletable(folder)
    with RunLock(folder, now=now):
        shutil.rmtree(folder)


def _size(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.lstat().st_size for path in files)
