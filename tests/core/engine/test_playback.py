"""A run played from its journal is the run as it was shown while it lived."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from core.disk.journals import write_segments
from core.engine.bench import Bench, order
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.playback import Playback
from fanout.disk.reading import follow
from fanout.disk.spans import Span, spans
from fanout.disk.tape import Tape
from fanout.testing.scripted_api import ScriptedApi, answered, refused
from fanout.testing.stories import Story
from fanout.words.commands import Pause, Resume
from fanout.words.events import Noted, Record, RowRequeued, RunEnded
from fanout.words.model import RowId, Status
from fanout.words.observed import Observed
from fanout.words.snapshot import KILLED, Snapshot


def lived(tmp_path: Path) -> tuple[Bench, list[tuple[int, Snapshot]]]:
    """A run with refusals, a pause and an end; and what was shown meanwhile."""

    def reply(_body: object, number: int) -> object:
        if number in (5, 6):
            return refused(429, "rate_limit_error", retry_after=20.0)
        return answered("done")

    api = ScriptedApi(reply, seconds=3.0)
    bench = Bench(api, tmp_path)
    seen: list[tuple[int, Snapshot]] = []

    def show() -> None:
        seen.append((bench.state.seq, bench.engine.publisher.build()))

    def prepare() -> None:
        for second in range(1, 60):
            bench.at(second + 0.5, show)
        bench.at(26, lambda: bench.core.post(Pause()))
        bench.at(40, lambda: bench.core.post(Resume()))

    bench.schedule(*(order(f"k{n:03}") for n in range(90)))
    bench.returns("fine")
    assert bench.run(prepare) == 0
    return bench, seen


def test_every_moment_is_shown_as_it_was(tmp_path: Path) -> None:
    bench, seen = lived(tmp_path)
    records = list(bench.journal.records())
    assert {s.state for _, s in seen} >= {"running", "paused"}
    assert any(snapshot.counts.throttled for _, snapshot in seen)
    playback = Playback(tmp_path)
    at = 0
    for seq, snapshot in seen:
        while at < len(records) and records[at].seq <= seq:
            playback.take(records[at])
            at += 1
        played = playback.snapshot(snapshot.at)
        assert played.rows == snapshot.rows
        assert played.counts == snapshot.counts
        assert played.state == snapshot.state
        assert played.phases == snapshot.phases
        assert played.ceiling.in_flight == snapshot.ceiling.in_flight
        assert played.log == snapshot.log
        assert played.foreseen == snapshot.foreseen
        waiting = {
            row.id
            for row in snapshot.rows.values()
            if row.status in (Status.QUEUED, Status.THROTTLED)
        }
        for gate in played.gates.values():
            assert set(gate.waiting) <= waiting | {r.id for r in snapshot.rows.values()}
    for record in records[at:]:
        playback.take(record)
    ended = playback.snapshot(99.0)
    assert ended.state == "finished"
    assert ended.rows == bench.state.rows
    assert ended.end == bench.end
    assert ended.totals.useful == bench.state.totals.useful
    assert ended.totals.dollars


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_run_that_is_opened_is_the_run_that_was_played(
    tmp_path: Path, share: float
) -> None:
    """With a checkpoint of a part of it or of all of it, and without one."""
    bench, _ = lived(tmp_path / "lived")
    records = list(bench.journal.records())
    folder = tmp_path / "run"
    write_segments(folder, records)
    if share:
        upto = max(1, int(len(records) * share))
        assert write_checkpoint(folder, upto=upto, records_min=1)
    played = Playback(folder)
    for record in records:
        played.take(record)
    opened, mark = Playback.opened(folder)
    assert opened.snapshot(99.0) == played.snapshot(99.0)
    assert len(opened.snapshot(99.0).log) > 50
    assert opened.snapshot(99.0).pools
    assert follow(folder, mark).records == ()
    assert mark.seq == len(records)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_moment_looks_the_same_whichever_way_it_was_reached(
    tmp_path: Path, share: float
) -> None:
    """Played to, gone back to, and begun at a checkpoint of half of it or of all."""
    bench, _ = lived(tmp_path / "lived")
    records = list(bench.journal.records())
    folder = tmp_path / "run"
    write_segments(folder, records)
    if share:
        upto = max(1, int(len(records) * share))
        assert write_checkpoint(folder, upto=upto, records_min=1)
    tape = Tape(folder, at_once=30, mark_every=40)
    start, end = records[0].at, records[-1].at
    chance = random.Random(7)
    for _ in range(40):
        wall = chance.uniform(start - 1.0, end + 1.0)
        steps = 1
        while not tape.reach(wall):
            steps += 1
        played = Playback(folder)
        for record in records:
            if record.at > wall:
                break
            played.take(record)
        assert tape.playback.snapshot(wall) == played.snapshot(wall)
        assert steps < len(records) // 30 + 2


def test_a_second_seek_reads_little(tmp_path: Path) -> None:
    bench, _ = lived(tmp_path / "lived")
    records = list(bench.journal.records())
    folder = tmp_path / "run"
    write_segments(folder, records)

    def steps(tape: Tape, wall: float) -> int:
        count = 1
        while not tape.reach(wall):
            count += 1
        return count

    tape = Tape(folder, at_once=10, mark_every=20)
    end, late = records[-1].at, records[-40].at
    assert steps(tape, end) > len(records) // 10
    assert steps(tape, late) < 8
    assert write_checkpoint(folder, records_min=1)
    assert steps(Tape(folder, at_once=10, mark_every=20), end) < 4


def test_reasons_and_gauges_are_those_that_were_noted(tmp_path: Path) -> None:
    bench, seen = lived(tmp_path)
    noted = [r for r in bench.journal.records() if isinstance(r.event, Observed)]
    moments = [record.at for record in noted]
    assert len(moments) > 8
    assert all(b - a > 0.99 for a, b in itertools.pairwise(moments))
    causes = {gate.cause for _, snap in seen for gate in snap.gates.values()}
    played = {gate["cause"] for record in noted for gate in record.event.gates.values()}
    # One that lasts less than a second may fall between two notes.
    assert {cause.value for cause in causes if cause} & played >= {
        "429 limit",
        "paused",
    }
    spent = [
        record.event.pools[0]["buckets"][0][4] for record in noted if record.event.pools
    ]
    assert max(spent) > 5


def test_what_is_left_is_what_the_screen_showed(tmp_path: Path) -> None:
    bench, seen = lived(tmp_path)
    shown = [snapshot.left for _, snapshot in seen if snapshot.left is not None]
    records = list(bench.journal.records())
    playback, noted = Playback(tmp_path), []
    for record in records:
        playback.take(record)
        left = playback.snapshot(record.at).left
        if isinstance(record.event, Observed) and left is not None:
            noted.append(left)
    assert len({left.rows for left in noted}) > 5
    assert noted[-1].learned
    live = {(left.rows, round(left.tokens.total.expected)) for left in shown}
    told = {(left.rows, round(left.tokens.total.expected)) for left in noted}
    assert len(live & told) > 5
    assert playback.snapshot(99.0).left is None


def test_a_killed_run_says_so_and_holds_nothing_in_flight(tmp_path: Path) -> None:
    bench, _ = lived(tmp_path)
    records = list(bench.journal.records())
    half = next(
        n for n, r in enumerate(records) if isinstance(r.event, Observed) and n > 230
    )
    playback = Playback(tmp_path)
    for record in records[:half]:
        playback.take(record)
    before = playback.snapshot(5.0)
    assert before.counts.running > 0
    playback.die()
    after = playback.snapshot(5.0, killed=True)
    assert after.state == KILLED
    assert after.counts.running == after.counts.throttled == 0
    assert after.gates == {}
    assert after.end is not None
    assert after.end.complete is False
    assert after.end.finish.startswith("fanout-tui resume ")


def test_lives_are_found_by_their_stamps(tmp_path: Path) -> None:
    bench, _ = lived(tmp_path)
    records = list(bench.journal.records())
    write_segments(tmp_path, records)
    (span,) = spans(tmp_path)
    assert (span.start, span.end) == (records[0].at, records[-1].at)


def test_what_a_screen_stayed_up_for_is_no_time_of_the_run(tmp_path: Path) -> None:
    """Also where a row is requeued on it, and in the next life; whatever was said."""
    records = [*Story(3).tell(1)]
    started = records[0].at
    end = RunEnded(exit_code=3, complete=False, accepted=False)
    told = '"e":"RunEnded"'

    def at(seconds: float, event: Any, life: int = 1) -> None:
        number = records[-1].seq + 1
        records.append(Record(number, life, started + seconds, event))

    at(900, Noted(source="script", text=told))
    at(1_000, end)
    at(1_001, Noted(source="engine", text="wrote report.md"))
    at(9_000, RowRequeued(row=RowId("a", "b"), fresh=False))
    at(9_010, Noted(source="log", text="goes on"))
    at(9_020, end)
    at(9_500, Noted(source="engine", text="SIGQUIT"))
    at(20_000, records[0].event, life=2)
    at(20_005, Noted(source="log", text="killed after this"), life=2)
    write_segments(tmp_path, records)
    assert spans(tmp_path) == [
        Span(started, started + 1_000),
        Span(started + 9_000, started + 9_020),
        Span(started + 20_000, started + 20_005),
    ]
