"""Reports of runs on disk, and reports written to disk."""

from collections.abc import Callable, Mapping
from pathlib import Path

from fanout.decide.fold.state import RunState, interrupt
from fanout.disk.files import write_atomic
from fanout.disk.lock import holder
from fanout.disk.opening import open_run
from fanout.disk.reports.as_csv import report_csv
from fanout.disk.reports.as_html import report_html
from fanout.disk.reports.as_json import report_json
from fanout.disk.reports.as_md import report_md
from fanout.disk.reports.report import Report, from_state
from fanout.disk.rundir import Manifest, read_manifest
from fanout.errors import UsageError
from fanout.words.snapshot import KILLED, RunInfo

FORMATS: Mapping[str, Callable[[Report], str]] = {
    "json": report_json,
    "md": report_md,
    "csv": report_csv,
    "html": report_html,
}


def report_of(run_folder: Path, *, generated_at: float) -> Report:
    """Return the report of a run that lives, ended or was killed.

    What nobody works on any more and never came to its end was killed; its rows
    in flight are missing, and in doubt.
    """
    lives = holder(run_folder) is not None
    opened = open_run(run_folder)
    state = opened.state
    word = "finished" if state.end is not None else KILLED
    if lives and state.end is None:
        word = "paused" if state.paused else "running"
    elif state.end is None:
        interrupt(state, state.at)
    tail = opened.tail
    return from_state(
        state,
        run_info(run_folder, state),
        word,
        generated_at=generated_at,
        notes=[*tail.damage, *tail.notes],
    )


def run_info(run_folder: Path, state: RunState) -> RunInfo:
    """Return what does not change during a life, from the journal and manifest."""
    start, manifest = state.start, read_manifest(run_folder)
    known = start or manifest or _NOTHING
    return RunInfo(
        id=known.run or run_folder.name,
        name=Path(known.script).stem,
        folder=str(run_folder.absolute()),
        script=known.script,
        arguments=known.arguments,
        endpoint=known.endpoint,
        simulated=known.simulated,
        model=start.model if start is not None else "",
        life=state.life,
        started_at=state.started_at or (manifest.created if manifest else 0.0),
        out=(start.out if start is not None else "")
        or str(run_folder.absolute() / "out"),
    )


def format_of(path: Path) -> str:
    """Return the format that a file's suffix names, or raise `UsageError`."""
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        raise UsageError(
            f"`{path}` does not say in which format a report is wanted",
            hint=f"end its name in {', '.join('.' + f for f in FORMATS)}",
        )
    return name


def write_report(report: Report, path: Path) -> None:
    """Write a report whole or not at all, in the format its suffix names."""
    text = FORMATS[format_of(path)](report)
    try:
        write_atomic(path, text.encode())
    except OSError as exc:
        raise UsageError(
            f"the report cannot be written to {path}: {exc.strerror or exc}",
            hint="name another file, in a folder that is there",
        ) from exc


_NOTHING = Manifest(
    run="",
    script="",
    arguments=(),
    endpoint="",
    simulated=False,
    version="",
    created=0.0,
)
"""Stands in where a folder has neither a journal nor a manifest."""
