"""`fanout-tui runs`: what runs there are, and taking one away."""

from datetime import datetime
from pathlib import Path

from fanout.disk.rundir import find_run
from fanout.disk.runs import RunSummary, delete_run, list_runs
from fanout.world.clock import SystemClock
from fanout_tui.command.say import write

KIB = 1024
COLUMNS = ("run", "state", "done", "missing", "tokens", "size", "when")


def show(runs: Path) -> None:
    """Print one line per run, the newest last."""
    found = list_runs(runs) if runs.is_dir() else []
    if not found:
        write(f"no runs in {runs}")
        return
    rows = [COLUMNS, *(_columns(run) for run in found)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write("  ".join(cells).rstrip())


def delete(runs: Path, name: str) -> None:
    """Delete one run with all it holds."""
    folder = find_run(runs, name)
    delete_run(folder, now=SystemClock().wall())
    write(f"deleted {folder.name}")


def _columns(run: RunSummary) -> tuple[str, ...]:
    usage = run.totals.useful + run.totals.wasted
    when = datetime.fromtimestamp(run.last_at).astimezone()
    state = f"{run.state} (simulated)" if run.simulated else run.state
    return (
        run.id,
        state,
        f"{run.counts.done}/{run.counts.expected}",
        str(run.counts.missing),
        f"{usage.total:,}",
        _size(run.size),
        when.strftime("%Y-%m-%d %H:%M"),
    )


def _size(size: int) -> str:
    if size < KIB * KIB:
        return f"{max(1, size // KIB):,} KiB"
    return f"{size // (KIB * KIB):,} MiB"
