"""`fanout-tui runs`: what runs there are, and taking one away."""

import sys
from datetime import datetime
from pathlib import Path

from fanout.disk.files import is_folder
from fanout.disk.rundir import find_run
from fanout.disk.runs import (
    RunSummary,
    check_deletable,
    delete_run,
    list_runs,
    summary,
)
from fanout.errors import UsageError
from fanout.world.clock import SystemClock
from fanout_tui.command.asking import YES, can_ask
from fanout_tui.command.say import warn, write
from fanout_tui.text import dollars, one_line, plural

KIB = 1024
COLUMNS = ("run", "state", "done", "missing", "tokens", "cost", "size", "when")
FIGURES = frozenset({"done", "missing", "tokens", "cost", "size"})
"""Columns against their right edge."""


def show(runs: Path) -> None:
    """Print one line per run, the newest last."""
    found = list_runs(runs) if is_folder(runs) else []
    if not found:
        write(f"no runs in {runs}")
        return
    rows = [COLUMNS, *(_columns(run) for run in found)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    for row in rows:
        cells = (
            cell.rjust(width) if name in FIGURES else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=True)
        )
        write("  ".join(cells).rstrip())


def delete(runs: Path, name: str, *, yes: bool) -> None:
    """Delete one run with all it holds; asks before, unless `yes`."""
    folder = find_run(runs, name)
    check_deletable(folder)
    run = summary(folder)
    if not yes and not _agrees(run):
        write(f"kept {run.id}")
        return
    delete_run(folder, now=SystemClock().wall())
    write(f"deleted {run.id}")


def _agrees(run: RunSummary) -> bool:
    """Say what would go, and ask; raises `UsageError` with nobody to ask."""
    what = f"{run.id} of {one_line(run.script)}: {_holds(run)}"
    if not can_ask(sys.stdin, sys.stderr):
        raise UsageError(
            f"nothing is deleted: nobody is there to be asked about {what}",
            hint="--yes deletes without a question",
        )
    warn(f"fanout-tui: this deletes {what}")
    warn("Its outputs below its own folder go with it. Delete it? [y/N]")
    return sys.stdin.readline().strip().lower() in YES


def _holds(run: RunSummary) -> str:
    """`12 of 40 rows done, 1,204,331 tokens, $3.10, 12 MiB`."""
    usage = run.totals.useful + run.totals.wasted
    return (
        f"{run.counts.done} of {plural(run.counts.expected, 'row')} done, "
        f"{usage.total:,} tokens, {dollars(run.totals.dollars)}, {_size(run.size)}"
    )


def _columns(run: RunSummary) -> tuple[str, ...]:
    usage = run.totals.useful + run.totals.wasted
    when = datetime.fromtimestamp(run.last_at).astimezone()
    state = f"{run.state} (simulated)" if run.simulated else run.state
    if run.shown:
        state += ", on screen"
    if run.damaged:
        state += ", damaged"
    return (
        run.id,
        state,
        f"{run.counts.done}/{run.counts.expected}",
        str(run.counts.missing),
        f"{usage.total:,}",
        dollars(run.totals.dollars),
        _size(run.size),
        when.strftime("%Y-%m-%d %H:%M"),
    )


def _size(size: int) -> str:
    if size < KIB * KIB:
        return f"{max(1, size // KIB):,} KiB"
    return f"{size // (KIB * KIB):,} MiB"
