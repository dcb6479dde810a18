"""Completeness reports: asked for on the command line, by a key, or at the end."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock

from fanout.decide.ending import COMPLETE, SCRIPT_RAISED
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.files import is_folder, write_atomic
from fanout.disk.reports.report import Report, from_snapshot, held_against
from fanout.disk.reports.writing import FORMATS, report_of, write_report
from fanout.disk.results import write_results
from fanout.errors import FanoutError, UsageError
from fanout.files.audit import Change, moved, sentences
from fanout.words.snapshot import Snapshot
from fanout.world.clock import SystemClock
from fanout_tui.command.say import write_raw
from fanout_tui.view.report import FILES

UNWRITTEN = SCRIPT_RAISED
"""Exit code of a run that went well but for a report that was asked for."""

ALWAYS = ("report.json", "report.md")
"""Written into the run's folder at every end."""

_WRITING = Lock()
"""A key may ask for reports while an end is written, and for the same files."""


def export(snapshot: Snapshot, paths: Sequence[str]) -> list[str]:
    """Write the report now, and say for the log where it went. Blocking."""
    folder = Path(snapshot.run.folder)
    wanted = [Path(path) for path in paths] or [folder / name for name in FILES]
    report, _ = _seen(snapshot)
    with _WRITING:
        return [_write(report, path) or f"wrote {path}" for path in wanted]


def check_writable(paths: Sequence[Path]) -> None:
    """Raise `UsageError` for a report that could not be written where it is wanted."""
    for path in paths:
        if is_folder(path):
            raise UsageError(
                f"the report cannot be written to {path}: it is a folder",
                hint="name a file in it",
            )
        try:
            with suppress(FileNotFoundError):
                path.lstat()  # a name may be too long for any file
            with TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise UsageError(
                f"the report cannot be written to {path}: {error.strerror or error}",
                hint="nothing was sent; name a file in a folder that is there and "
                "can be written",
            ) from error


@dataclass(frozen=True, slots=True)
class Written:
    """What could be written at the end of a life."""

    snapshot: Snapshot
    """The life's end, with its exit code as it is after that."""
    reports: list[Path]
    """What people are told of: what they asked for, else the one to read."""
    problems: list[str]
    notes: list[str]
    """Outputs that are not as they were checked."""


def write_all(
    snapshot: Snapshot, asked: Sequence[Path], *, stays: bool = False
) -> Written:
    """Write everything that is due at the end of a life.

    What was asked for and cannot be written is no success. `stays`: the life may go
    on from this end, and its keeper still writes its checkpoints.
    """
    with _WRITING:
        return _write_all(snapshot, asked, stays=stays)


def _write_all(snapshot: Snapshot, asked: Sequence[Path], *, stays: bool) -> Written:
    folder = Path(snapshot.run.folder)
    report, changes = _seen(snapshot)
    failed = {path: said for path in asked if (said := _write(report, path))}
    if failed:
        snapshot = _failed(snapshot, next(iter(failed.values())))
        report = _beside(from_snapshot(snapshot, generated_at=snapshot.at), changes)
    problems = list(failed.values())
    always = [folder / name for name in ALWAYS]
    problems += [said for path in always if (said := _write(report, path))]
    with suppress(OSError):  # without one the next look at the run takes longer
        if not stays:
            write_checkpoint(folder)
    try:
        write_results(folder)
        if snapshot.end is not None and snapshot.end.result:
            write_atomic(folder / "result.json", _result(snapshot.end.result))
    except OSError as error:
        problems.append(f"cannot write the results: {error.strerror or error}")
    shown = [path for path in asked if path not in failed]
    if len(shown) < len(asked) or not asked:
        shown += [path for path in always[1:] if path.exists()]
    return Written(snapshot, shown, problems, sentences(changes))


def _failed(snapshot: Snapshot, why: str) -> Snapshot:
    """Return the end of a life that did all but what was asked of it last."""
    end = snapshot.end
    if end is None or end.exit_code != COMPLETE:
        return snapshot
    end = replace(end, exit_code=UNWRITTEN, reason=f"{end.reason}; {why}")
    return replace(snapshot, end=end)


def print_report(folder: Path, form: str) -> None:
    """Print the report of a run on disk."""
    report = report_of(folder, generated_at=SystemClock().wall())
    write_raw(FORMATS[form](_beside(report, moved(report.partitions, report.outputs))))


def _beside(report: Report, changes: Sequence[Change]) -> Report:
    """Hold a report against what the disk has become since."""
    now = {change.row: change.what for change in changes}
    return held_against(report, now, sentences(changes))


def _seen(snapshot: Snapshot) -> tuple[Report, Sequence[Change]]:
    """Return the report of a life at its moment, and what it says of the disk."""
    report = from_snapshot(snapshot, generated_at=snapshot.at)
    changes = moved(report.partitions, report.outputs)
    return _beside(report, changes), changes


def _write(report: Report, path: Path) -> str:
    """Write one report; return why it cannot be, empty when it was."""
    try:
        write_report(report, path)
    except OSError as error:
        return f"cannot write {path}: {error.strerror or error}"
    except FanoutError as error:
        return f"cannot write {path}: {error}"
    return ""


def _result(text: str) -> bytes:
    """What `main` returned, as JSON: text as a string."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return (json.dumps(value, ensure_ascii=True, indent=2) + "\n").encode()
