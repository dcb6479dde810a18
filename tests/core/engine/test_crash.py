"""An engine that fails: what is shown is what its journal will tell."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.engine.bench import INFO, Bench, order
from fanout.decide.ended import broken_off, finish_command, named
from fanout.decide.fold.run_state import RunState
from fanout.disk.reports.report import from_snapshot
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.testing.virtual_loop import VirtualLoop
from fanout.words.commands import SetCeiling
from fanout.words.model import MissingKind, Status
from fanout.words.snapshot import CRASHED, KILLED, Snapshot


def crashed(tmp_path: Path) -> Snapshot:
    """A run of six with a ceiling of two, whose engine fails in the 25th second."""
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=10.0), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(6)))

    def fail() -> None:
        raise RuntimeError("planned")

    bench.core.post(SetCeiling(2))
    with pytest.raises(ExceptionGroup):
        bench.run(lambda: bench.core.at(25.0, fail))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(_crash(bench))
    latest = bench.engine.publisher.latest
    assert latest is not None
    return latest


async def _crash(bench: Bench) -> None:
    bench.engine.publisher.crash()


def test_no_row_stays_running_when_the_engine_has_failed(tmp_path: Path) -> None:
    snapshot = crashed(tmp_path)
    counts = snapshot.counts
    assert (counts.done, counts.missing, counts.expected) == (3, 3, 6)
    assert not snapshot.live
    reasons = [
        row.end.reason
        for row in snapshot.rows.values()
        if row.end and row.end.kind is MissingKind.INTERRUPTED
    ]
    assert len(reasons) == 3
    assert sum(reason.startswith("in doubt") for reason in reasons) == 2
    assert snapshot.totals.in_doubt.total > 0
    assert snapshot.end is not None
    assert snapshot.end.exit_code == 70
    assert "3 of 6 partitions are missing" in snapshot.end.reason


def test_a_report_can_be_had_of_it(tmp_path: Path) -> None:
    report = from_snapshot(crashed(tmp_path), generated_at=1.0)
    assert report.exit_code == 70
    assert not report.complete
    assert report.because == "fanout-tui itself failed"
    assert report.finish == "fanout-tui resume test-1"
    statuses = {partition.status for partition in report.partitions}
    assert statuses == {Status.DONE.value, Status.MISSING.value}


def test_only_a_run_that_was_broken_off_has_such_an_end() -> None:
    state = RunState()
    state.at = 12.5
    assert broken_off("running", INFO, state) is None
    killed = broken_off(KILLED, INFO, state)
    assert killed is not None
    assert killed.at == 12.5
    assert (killed.exit_code, killed.cause) == (None, "killed before its end")


def test_what_a_script_has_replaced_is_no_failure_of_ours() -> None:
    spoilt = broken_off(CRASHED, INFO, RunState(), "asyncio.sleep")
    assert spoilt is not None
    assert spoilt.exit_code == 1
    assert spoilt.reason.startswith("the script has replaced asyncio.sleep")


def test_a_run_is_named_by_what_finds_it() -> None:
    """By its id below the usual folder, by its path elsewhere; quoted for a shell."""
    assert named(INFO) == "test-1"
    kept = replace(INFO, folder="/my runs/kept/test-1")
    assert finish_command(kept, " --limit 2") == (
        "fanout-tui resume --limit 2 '/my runs/kept/test-1'"
    )
