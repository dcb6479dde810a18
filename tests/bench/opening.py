"""How long a run takes to open: with a checkpoint, without, as results, as a report.

PYTHONPATH=tests python tests/bench/opening.py [events] [folder]

Every figure is a fresh process's, with the files in the system's cache. The CPU's
seconds count where others keep the machine busy. Memory is what was needed at most,
above what the imports take.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench.journal_acks import EVENT
from bench.state_fold import story
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.codec import encode
from fanout.disk.files import DISK
from fanout.disk.journal import SEGMENT_BYTES_MAX
from fanout.disk.rundir import create_run
from fanout.disk.segment import Segment
from fanout.words.events import CallAnswered, Record, RowScheduled, RunEnded

MEASURE = """
import json, sys, time
from pathlib import Path
{imports}

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(l for l in lines if l.startswith(name)).split()[1]) / 1024

before = memory("VmRSS")
began, cpu = time.perf_counter(), time.process_time()
found = {what}
print(json.dumps({{
    "seconds": time.perf_counter() - began,
    "cpu": time.process_time() - cpu,
    "mib": memory("VmHWM") - before,
    "found": {told},
}}))
"""
SCRIPT = "/work/audit.py"
PLACE = {"script": SCRIPT, "endpoint": "simulated:demo", "simulated": True}


@dataclass(frozen=True)
class Figure:
    """What one process has measured."""

    seconds: float
    cpu: float
    mib: float
    found: object


def fresh(what: str, told: str, imports: str) -> Figure:
    """Evaluate `what` in a fresh process."""
    code = MEASURE.format(what=what, told=told, imports=imports)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return Figure(**json.loads(done.stdout))


def make_run(
    runs: Path, events: int, rows: int, name: str = "7f3a", now: float = 1.8e9
) -> Path:
    """A finished run of about so many events, in segments as the journal writes them."""
    run = create_run(
        runs, arguments=(), version="0", now=now, token=lambda: name, **PLACE
    )
    (run / "journal").mkdir()
    segment, seq, at = None, 0, now
    end = RunEnded(exit_code=0, complete=True, accepted=True)
    for told in (*story(events, rows), end):
        event = told
        seq, at = seq + 1, at + 0.01
        if isinstance(event, CallAnswered):
            event = replace(event, answer=EVENT.answer)
        elif isinstance(event, RowScheduled):
            mark = f"1:{name}:{event.row.key}"
            event = replace(event, spec=replace(event.spec, fingerprint=mark))
        record = Record(seq, 1, at, event)
        if segment is None:
            number = len(list((run / "journal").iterdir())) + 1
            segment = Segment(run / "journal", number, DISK)
        segment.write(encode(record), [record])
        if segment.size >= SEGMENT_BYTES_MAX:
            segment.seal()
            segment = None
    if segment is not None:
        segment.seal()
    return run


OPENING = "from fanout.disk.opening import open_counts, open_fold, open_run"
REUSE = "from fanout.disk.reuse import find_reusable"


def opened(run: Path, how: str = "open_run") -> Figure:
    """Open a run."""
    return fresh(
        f"{how}(Path({str(run)!r}))",
        "[found.since, found.tail.records, len(found.passed_over)]",
        OPENING,
    )


def shown(run: Path) -> Figure:
    """Make the first snapshot of a run that is watched."""
    return fresh(
        f"Playback.opened(Path({str(run)!r}))[0].snapshot(1.9e9)",
        "[found.counts.done]",
        "from fanout.disk.playback import Playback",
    )


def command(*words: str) -> Figure:
    """Run a command from its start to its end."""
    began, cpu = time.perf_counter(), os.times()
    subprocess.run(
        [sys.executable, "-m", "fanout_tui", *words],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    spent = os.times()
    used = spent.children_user + spent.children_system
    before = cpu.children_user + cpu.children_system
    return Figure(time.perf_counter() - began, used - before, 0, None)


def one_run(runs: Path, events: int, rows: int, target: str, bare: str) -> None:
    """Rows of the table for one finished run."""
    run = make_run(runs, events, rows)
    without = opened(run)
    began, cpu = time.perf_counter(), time.process_time()
    path = write_checkpoint(run)
    wrote = Figure(time.perf_counter() - began, time.process_time() - cpu, 0, None)
    assert path is not None
    within = opened(run)
    assert within.found[0] == within.found[1] == without.found[1], within  # type: ignore[index]
    row(f"{without.found[1]:,} events, {rows:,} rows: open", within, target)  # type: ignore[index]
    row("open its counts alone", opened(run, "open_counts"))
    row("open it for the screen", shown(run), "≤ 2")
    row("open without a checkpoint", without, bare)
    row(f"fold, and write one of {path.stat().st_size / 2**20:.1f} MiB", wrote)
    row("`runs`", command("runs", "--run-dir", str(runs)))
    row("`report last`", command("report", "last", "--run-dir", str(runs)))
    shutil.rmtree(run)


def many_runs(runs: Path, count: int, events: int) -> None:
    """Rows of the table for looking earlier work up in many runs."""
    made = [
        make_run(runs, events, events // 5, f"{n:04x}", 1.8e9 + n) for n in range(count)
    ]
    find = f"find_reusable(Path({str(runs)!r}), **{PLACE!r})"
    told = "[found.results, len(found.runs)]"
    without = fresh(find, told, REUSE)
    for run in made:
        write_checkpoint(run)
    within = fresh(find, told, REUSE)
    assert within.found == without.found
    row(f"{count} runs of {events:,} events: index", within)
    row("index without checkpoints", without)
    row(f"`runs` over {count}", command("runs", "--run-dir", str(runs)))


def row(name: str, figure: Figure, target: str = "") -> None:
    """Print a row of the table."""
    mib = f"{figure.mib:.0f}" if figure.mib else ""
    print(
        f"| {name} | {figure.cpu:.2f} | {figure.seconds:.2f} | {target} | {mib} |",
        flush=True,
    )


def main(events: str = "1000000", base: str | None = None) -> None:
    """Print the table."""
    print("| what | CPU s | s | target | MiB |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=base) as name:
        one_run(Path(name), int(events), 5_000, "≤ 1", "≤ 10")
    with tempfile.TemporaryDirectory(dir=base) as name:
        one_run(Path(name), 200_000, 50_000, "≤ 2", "")
    with tempfile.TemporaryDirectory(dir=base) as name:
        many_runs(Path(name), 50, 20_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
