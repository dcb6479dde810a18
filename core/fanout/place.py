"""Where a life takes place: the run's folder, locked, and what it holds so far.

Going on with a run is the normal case: the newest run of the same script with
the same arguments on the same account is continued unless it is complete. What
is complete, or was asked for otherwise, begins a new run, which still reuses
every result of the earlier ones.
"""

from dataclasses import dataclass, field
from pathlib import Path

from fanout.config import Config
from fanout.decide.fold.state import RunState
from fanout.disk.lock import RunLock
from fanout.disk.opening import open_counts, open_run
from fanout.disk.recent import MINUTE, Spent
from fanout.disk.rundir import (
    Manifest,
    create_run,
    find_run,
    open_runs_folder,
    read_manifest,
    run_folders,
)
from fanout.errors import UsageError
from fanout.world.clock import Clock


@dataclass(slots=True, kw_only=True)
class Place:
    """A run's folder in this process's hands."""

    folder: Path
    runs: Path
    lock: RunLock
    state: RunState
    notes: list[str] = field(default_factory=list)
    """What reading the journal had to cut or skip."""
    recent: list[Spent] = field(default_factory=list)
    """What the last minute has used, which the account still remembers."""
    since: int = 0
    """Number of the record up to which a checkpoint was used."""

    @property
    def life(self) -> int:
        """Number of the life that begins now."""
        return self.state.life + 1

    @property
    def out(self) -> Path:
        """Where outputs go by default."""
        return self.folder / "out"

    def outputs(self, config: Config) -> Path:
        """Where they go; whoever resumes without saying it leaves them there."""
        if config.out_dir is not None:
            return config.out_dir
        before = self.state.start
        kept = before is not None and config.resume is not None and before.out
        return Path(kept or self.out)


def open_place(config: Config, endpoint: str, version: str, clock: Clock) -> Place:
    """Choose or make the run's folder and lock it. Raises `UsageError`."""
    runs = open_runs_folder(config.run_dir)
    script = str(config.script.absolute())
    found = _chosen(config, runs, script, endpoint)
    if found is None:
        found = create_run(
            runs,
            script=script,
            arguments=config.arguments,
            endpoint=endpoint,
            simulated=config.simulate,
            version=version,
            now=clock.wall(),
        )
    lock = RunLock(found, now=clock.wall())
    try:
        return _read(found, runs, lock, clock)
    except BaseException:
        lock.release()
        raise


def _chosen(config: Config, runs: Path, script: str, endpoint: str) -> Path | None:
    if config.resume is not None:
        folder = find_run(runs, config.resume)
        manifest = read_manifest(folder)
        if manifest is None:
            raise UsageError(
                f"{folder} has no readable manifest",
                hint="begin again without --resume; finished work is reused",
            )
        _check_same(manifest, script, endpoint)
        return folder
    if config.fresh:
        return None
    for folder in reversed(run_folders(runs)):
        manifest = read_manifest(folder)
        if manifest is None or manifest.arguments != config.arguments:
            continue
        if (manifest.script, manifest.endpoint) == (script, endpoint):
            return None if is_complete(folder) else folder
    return None


def is_complete(folder: Path) -> bool:
    """Say whether a run has ended with nothing missing."""
    end = open_counts(folder).state.end
    return end is not None and end.complete


def _check_same(manifest: Manifest, script: str, endpoint: str) -> None:
    if manifest.script != script:
        raise UsageError(
            f"run {manifest.run} belongs to the script {manifest.script}",
            hint=f"use `fanout-tui resume {manifest.run}`, which knows its script",
        )
    if manifest.endpoint != endpoint:
        raise UsageError(
            f"run {manifest.run} belongs to {manifest.endpoint}, not to {endpoint}",
            hint="simulated and real work, and other endpoints, never mix: "
            "begin a new run without --resume",
        )


def _read(folder: Path, runs: Path, lock: RunLock, clock: Clock) -> Place:
    opened = open_run(folder)
    tail = opened.tail
    return Place(
        folder=folder,
        runs=runs,
        lock=lock,
        state=opened.state,
        notes=[*tail.notes, *tail.damage, *opened.passed_over],
        recent=opened.recent.since(clock.wall() - MINUTE),
        since=opened.since,
    )
