"""Checkpoints: never another state than the journal's, whatever became of them."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from core.disk.journals import segments_of, state_of, story_of
from fanout.disk.checkpoints import checkpoint as checkpoint_module
from fanout.disk.checkpoints.checkpoint import found
from fanout.disk.checkpoints.checkpointing import alike, write_checkpoint
from fanout.disk.checkpoints.folding import ALL
from fanout.disk.checkpoints.keeper import Keeper
from fanout.disk.codec import _line
from fanout.disk.opening import Opened, open_counts, open_fold, open_harvest, open_run
from fanout.disk.reading import fold
from fanout.disk.recent import MINUTE, Spent
from fanout.disk.results import results
from fanout.testing.bad_disks import FailingFiles, after_power_cut
from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Record,
)
from fanout.words.model import Usage

SCALE = int(os.environ.get("FANOUT_SCALE", "1"))
UNKNOWN = _line('"n":%d,"life":1,"at":9.0,"e":"MoonRose"}')


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sync is for is another test's business; here are thousands of them."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)


def write(folder: Path, upto: int | None = None) -> Path:
    path = write_checkpoint(folder, upto=upto, records_min=1)
    assert path is not None
    return path


def whole(folder: Path, upto: int | None = None) -> Opened:
    """The journal folded from its first record on, whatever checkpoints there are."""
    aside = [(path, path.rename(path.with_suffix(".aside"))) for path in found(folder)]
    opened = open_fold(folder, ALL, upto=upto)
    for path, hidden in aside:
        hidden.rename(path)
    assert opened.since == 0
    return opened


def assert_opens_as_whole(folder: Path) -> Opened:
    """All ways to open the run give what its journal gives."""
    true = whole(folder)
    assert vars(true.state) == vars(fold(folder).state)
    opened = open_fold(folder, ALL)
    assert alike(opened.fold, true.fold)
    assert opened.tail == true.tail
    assert opened.reading.end == true.reading.end
    counts = open_counts(folder)
    assert counts.state.by_status == true.state.by_status
    assert counts.state.totals == true.state.totals
    harvest, tail = open_harvest(folder)
    assert tail.last_seq == true.tail.last_seq
    for one, other in (
        (harvest.finished(), true.fold.harvest.finished()),
        (harvest.partials(), true.fold.harvest.partials()),
    ):
        assert [(p.row, p.fingerprint, p.usage) for p in one] == [
            (p.row, p.fingerprint, p.usage) for p in other
        ]
    return opened


def opens_as(folder: Path, true: Opened) -> Opened:
    """The run opens to what was folded from its whole journal before."""
    opened = open_fold(folder, ALL)
    assert alike(opened.fold, true.fold)
    assert opened.tail == true.tail
    return opened


def drop_checkpoints(folder: Path) -> None:
    for path in found(folder):
        path.unlink()


@pytest.mark.parametrize("seed", [3, 7, 11])
def test_a_checkpoint_and_the_rest_are_the_whole_for_every_record(
    tmp_path: Path, seed: int
) -> None:
    records = story_of(seed, 90)
    segments_of(tmp_path, records, 4_000)
    assert len(list((tmp_path / "journal").iterdir())) > 3
    true = whole(tmp_path)
    assert vars(true.state) == vars(state_of(records))
    for record in records:
        path = write(tmp_path, record.seq)
        assert path.name == f"checkpoint-{record.seq}.jsonl"
        opened = opens_as(tmp_path, true)
        assert (opened.since, opened.passed_over) == (record.seq, [])
        drop_checkpoints(tmp_path)


@pytest.mark.long
@pytest.mark.soak
def test_many_runs_open_from_a_checkpoint_of_any_record(tmp_path: Path) -> None:
    for seed in range(100, 100 + 4 * SCALE):
        folder = tmp_path / str(seed)
        records = story_of(seed, 200)
        segments_of(folder, records, 6_000)
        true = whole(folder)
        for record in records:
            write(folder, record.seq)
            opens_as(folder, true)
            if record.seq % 7:  # else the next is made upon it
                drop_checkpoints(folder)
        assert_opens_as_whole(folder)


def test_one_made_upon_another_is_the_same(tmp_path: Path) -> None:
    records = story_of(5, 300)
    segments_of(tmp_path, records, 6_000)
    step, random = 0, Random(1)
    while step < len(records):
        step = min(len(records), step + random.randint(1, 40))
        upon = write(tmp_path, step).read_bytes()
        aside = [p.rename(p.with_suffix(".aside")) for p in found(tmp_path)]
        assert write(tmp_path, step).read_bytes() == upon
        drop_checkpoints(tmp_path)
        for path in aside:
            path.rename(path.with_suffix(".jsonl"))
        assert len(found(tmp_path)) <= 2
    assert assert_opens_as_whole(tmp_path).since == len(records)


def test_the_end_of_a_run_is_covered_with_its_seal(tmp_path: Path) -> None:
    records = story_of(7, 300)
    segments_of(tmp_path, records, 6_000)
    write(tmp_path)
    opened = assert_opens_as_whole(tmp_path)
    assert opened.tail.sealed
    assert opened.tail.damage == []
    assert write_checkpoint(tmp_path, records_min=1) is None, "there is one already"


def test_results_are_the_same_lines(tmp_path: Path) -> None:
    records = story_of(10, 400)
    segments_of(tmp_path, records, 6_000)
    lines = list(results(tmp_path))
    assert any('"status":"done","value":"x"' in line for line in lines)
    write(tmp_path, 200)
    assert list(results(tmp_path)) == lines
    write(tmp_path)
    assert list(results(tmp_path)) == lines


def spent_by(records: list[Record], since: float) -> list[str]:
    """What calls have taken of their pools at `since` or later, call by call."""
    taken: list[Spent] = []
    for record in records:
        sent = record.event
        if not isinstance(sent, CallAdmitted) or sent.batch is not None:
            continue
        ends = (
            r
            for r in records
            if isinstance(r.event, CallAnswered | CallRefused | CallAbandoned)
            and r.event.call == sent.call
            and r.life == record.life
        )
        end = next(ends, None)
        if end is None:
            taken.append(Spent(record.at, sent.pool, Usage(sent.need.input), 1))
            continue
        answered = isinstance(end.event, CallAnswered)
        used = end.event.usage if answered else end.event.wasted  # type: ignore[union-attr]
        if used.total:
            taken.append(Spent(record.at, sent.pool, Usage(used.charged_input), 1))
            taken.append(Spent(end.at, sent.pool, Usage(0, used.output_tokens)))
    return sorted(repr(spent) for spent in taken if spent.at >= since)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_the_account_still_remembers_is_what_was_spent_of_late(
    tmp_path: Path, seed: int
) -> None:
    records = story_of(seed, 400)
    segments_of(tmp_path, records, 6_000)
    since = records[-1].at - MINUTE
    true = spent_by(records, since)
    assert 10 < len(true) < len(spent_by(records, 0.0))
    for upto in (None, 390, 200):
        if upto is not None:
            write(tmp_path, upto)
        recent = open_run(tmp_path).recent
        assert sorted(repr(spent) for spent in recent.since(since)) == true
        drop_checkpoints(tmp_path)


def test_damage_below_a_checkpoint_stays_known(tmp_path: Path) -> None:
    """What was wrong with the journal when it was folded is wrong with it still."""
    records = story_of(7, 400)
    first, *_ = segments_of(tmp_path, records, 6_000)
    lines = first.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"!" + lines[3][21:]
    first.write_bytes(b"".join(lines))
    write(tmp_path)
    opened = assert_opens_as_whole(tmp_path)
    assert opened.since == len(records)
    assert "00001.jsonl is damaged" in opened.tail.damage[0]


def test_a_torn_tail_is_never_covered(tmp_path: Path) -> None:
    records = [r for r in story_of(3, 200) if r.life == 1][:40]
    (path,) = segments_of(tmp_path, records, 1 << 20, sealed=False)
    data = path.read_bytes()
    write(tmp_path, 20)
    for offset in range(len(data) - 1, len(data) - 600, -9):
        path.write_bytes(data[:offset])
        assert assert_opens_as_whole(tmp_path).since == 20
    assert write_checkpoint(tmp_path, records_min=1) is None


# -- checkpoints that must not be used --------------------------------------


def run_with_checkpoint(folder: Path) -> tuple[list[Path], Path]:
    records = story_of(3, 300)
    paths = segments_of(folder, records, 6_000)
    return paths, write(folder, 250)


def small_run(folder: Path) -> tuple[Path, bytes, Opened]:
    """Its checkpoint, the bytes of that, and what the run amounts to."""
    segments_of(folder, story_of(3, 80), 6_000)
    path = write(folder, 70)
    return path, path.read_bytes(), whole(folder)


def torn(folder: Path, states: int) -> None:
    path, data, true = small_run(folder)
    for n in range(states):
        path.write_bytes(data[: len(data) * n // states])
        opened = opens_as(folder, true)
        assert opened.since == 0
        assert "does not read" in opened.passed_over[0]


def test_a_checkpoint_that_ends_with_a_whole_line_is_torn_all_the_same(
    tmp_path: Path,
) -> None:
    path, data, true = small_run(tmp_path)
    lines = data.splitlines(keepends=True)
    assert len(lines) >= 7
    for count in range(len(lines)):
        path.write_bytes(b"".join(lines[:count]))
        assert opens_as(tmp_path, true).since == 0
        # Whoever asks for the rows alone needs no line behind them.
        assert vars(open_run(tmp_path).state) == vars(true.state)


def flipped(folder: Path, states: int) -> None:
    path, data, true = small_run(folder)
    random = Random(states)
    for _ in range(states):
        changed = bytearray(data)
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        assert opens_as(folder, true).since == 0


def power_cut(folder: Path, states: int) -> None:
    path, data, true = small_run(folder)
    for seed in range(states):
        path.write_bytes(after_power_cut(data, 0, Random(seed)))
        assert opens_as(folder, true).since in {0, 70}


SPOILT = pytest.mark.parametrize("spoil", [torn, flipped, power_cut])


@SPOILT
def test_a_spoilt_checkpoint_is_never_believed(
    tmp_path: Path, spoil: Callable[[Path, int], None]
) -> None:
    spoil(tmp_path, 120)


@pytest.mark.long
@pytest.mark.soak
@SPOILT
def test_many_spoilt_checkpoints(
    tmp_path: Path, spoil: Callable[[Path, int], None]
) -> None:
    spoil(tmp_path, 1_500 * SCALE)


@pytest.mark.parametrize("seed", range(8))
def test_a_journal_that_was_changed_below_it_is_believed_instead(
    tmp_path: Path, seed: int
) -> None:
    paths, _ = run_with_checkpoint(tmp_path)
    random = Random(seed)
    changed = random.choice(paths[: len(open_run(tmp_path).covered) - 1])
    data = bytearray(changed.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    changed.write_bytes(data)
    opened = assert_opens_as_whole(tmp_path)
    assert opened.since == 0
    said = f"checkpoint-250.jsonl was not used: {changed.name} is not as it was"
    assert opened.passed_over == [said]


def test_a_journal_that_is_shorter_or_longer_below_it(tmp_path: Path) -> None:
    paths, _ = run_with_checkpoint(tmp_path)
    for path in paths[: len(open_run(tmp_path).covered) - 1]:
        data = path.read_bytes()
        for other in (data[:-1], data + b"\n", b""):
            path.write_bytes(other)
            assert open_run(tmp_path).since == 0
        path.write_bytes(data)
    moved = paths[1].rename(paths[1].with_suffix(".gone"))
    opened = assert_opens_as_whole(tmp_path)
    assert "the journal has other segments" in opened.passed_over[0]
    moved.rename(paths[1])
    assert assert_opens_as_whole(tmp_path).since == 250


def test_one_of_another_version_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_with_checkpoint(tmp_path)
    monkeypatch.setattr(checkpoint_module, "fold_id", lambda: "another")
    opened = assert_opens_as_whole(tmp_path)
    assert opened.passed_over == [
        "checkpoint-250.jsonl was not used: another version wrote it"
    ]
    assert write(tmp_path, 260)
    assert assert_opens_as_whole(tmp_path).since == 260


def test_code_that_folds_otherwise_is_another_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fold_id = checkpoint_module.fold_id.__wrapped__
    before = fold_id()
    read = Path.read_bytes
    monkeypatch.setattr(
        Path,
        "read_bytes",
        lambda path: read(path) + (b"#" if path.name == "lifecycle.py" else b""),
    )
    assert fold_id() != before


def test_the_one_before_serves_where_the_newest_is_damaged(tmp_path: Path) -> None:
    segments_of(tmp_path, story_of(3, 300), 6_000)
    for seq in (100, 200, 250):
        newest = write(tmp_path, seq)
    assert [path.name for path in found(tmp_path)] == [
        "checkpoint-250.jsonl",
        "checkpoint-200.jsonl",
    ]
    newest.write_bytes(newest.read_bytes()[:-1])
    opened = assert_opens_as_whole(tmp_path)
    assert opened.since == 200
    assert len(opened.passed_over) == 1


def test_a_fact_of_a_newer_version_below_it_is_still_noted(tmp_path: Path) -> None:
    records = [r for r in story_of(3, 200) if r.life == 1][:30]
    (path,) = segments_of(tmp_path, records, 1 << 20, sealed=False)
    newer = _line('"n":31,"life":1,"at":9.0,"e":"MoonRose"}')
    path.write_bytes(path.read_bytes() + newer)
    write(tmp_path)
    opened = assert_opens_as_whole(tmp_path)
    assert (opened.since, opened.state.seq) == (31, 31)
    assert opened.tail.notes == [
        "skipped MoonRose: this version does not know the kind"
    ]


def test_a_read_only_copy_opens(tmp_path: Path) -> None:
    paths, path = run_with_checkpoint(tmp_path)
    for one in (*paths, path):
        one.chmod(0o400)
    (tmp_path / "journal").chmod(0o500)
    tmp_path.chmod(0o500)
    try:
        assert open_run(tmp_path).since == 250
    finally:
        tmp_path.chmod(0o700)
        (tmp_path / "journal").chmod(0o700)


def test_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    run_with_checkpoint(tmp_path)
    for name in ("checkpoint-x.jsonl", "checkpoint-.jsonl", "checkpoint-9.json"):
        (tmp_path / name).write_text("{}")
    assert assert_opens_as_whole(tmp_path).passed_over == []


# -- writing that fails or is killed ----------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_fault_at_any_call_of_writing_leaves_a_run_that_opens(
    tmp_path: Path, code: int
) -> None:
    segments_of(tmp_path, story_of(3, 300), 6_000)
    write(tmp_path, 100)
    call, failed = 1, True
    while failed:
        files = FailingFiles(
            lambda n, call=call: OSError(code, "") if n == call else None  # type: ignore[misc]
        )
        try:
            write_checkpoint(tmp_path, upto=250, records_min=1, files=files)
        except OSError:
            assert files.failed
        failed = files.failed > 0
        assert assert_opens_as_whole(tmp_path).since in {100, 250}
        (tmp_path / "checkpoint-250.jsonl").unlink(missing_ok=True)
        call += 1
    assert call > 5
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "checkpoint-100.jsonl",
        "journal",
    ]


def start_child(folder: Path, upto: int) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fanout.disk.checkpoints.checkpointing",
            str(folder),
            str(upto),
        ],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def kill_while_writing(folder: Path, kills: int) -> None:
    """Kill writers all along their way; what they leave opens, twice the same."""
    records = story_of(3, 600)
    segments_of(folder, records, 20_000)
    random, done = Random(kills), 0
    for n in range(kills):
        with start_child(folder, len(records) - kills + n) as child:
            limit = time.monotonic() + 5
            moment = random.choice([None, None, 0.0, random.random() * 0.02])
            while moment is not None and child.poll() is None:
                if list(folder.glob(".checkpoint-*")) or time.monotonic() > limit:
                    break
            time.sleep(random.random() * 0.4 if moment is None else moment)
            child.send_signal(signal.SIGKILL)
        done += child.returncode == 0
        first = assert_opens_as_whole(folder)
        again = assert_opens_as_whole(folder)
        assert alike(first.fold, again.fold)
        assert first.passed_over == again.passed_over == []
    write(folder)
    assert not list(folder.glob(".checkpoint-*")), "a killed writer's leavings"


def test_a_kill_while_a_checkpoint_is_written(tmp_path: Path) -> None:
    kill_while_writing(tmp_path, 4)


@pytest.mark.long
@pytest.mark.soak
def test_many_kills_while_checkpoints_are_written(tmp_path: Path) -> None:
    kill_while_writing(tmp_path, 30 * SCALE)


# -- who has them written ----------------------------------------------------


@pytest.fixture
def keepers() -> Iterator[list[Keeper]]:
    made: list[Keeper] = []
    yield made
    for keeper in made:
        keeper.close()


def settle(keeper: Keeper) -> None:
    assert keeper._thread is not None
    keeper._thread.join(30)
    assert not keeper._thread.is_alive()


def test_a_keeper_has_one_written_when_enough_has_come(
    tmp_path: Path, keepers: list[Keeper]
) -> None:
    """By a real child, and of no record behind the one that is committed."""
    segments_of(tmp_path, story_of(3, 2_300), 100_000)
    keeper = Keeper(tmp_path, since=0, now=lambda: 0.0, records=2_100)
    keepers.append(keeper)
    keeper.committed(2_099)
    assert keeper._thread is None
    keeper.committed(2_200)
    settle(keeper)
    assert [p.name for p in found(tmp_path)] == ["checkpoint-2200.jsonl"]
    assert assert_opens_as_whole(tmp_path).since == 2_200


def test_a_keeper_rests_and_goes_on(tmp_path: Path, keepers: list[Keeper]) -> None:
    asked: list[int] = []
    clock = [100.0]

    def command(_folder: Path, upto: int) -> list[str]:
        asked.append(upto)
        clock[0] += 2.0
        return [sys.executable, "-c", ""]

    keeper = Keeper(
        tmp_path, since=0, now=lambda: clock[0], records=100, command=command
    )
    keepers.append(keeper)
    keeper.committed(150)
    settle(keeper)
    keeper.committed(260)
    assert asked == [150], "it worked for two seconds, and rests for twenty"
    clock[0] += 21.0
    keeper.committed(240)
    assert asked == [150], "not enough has come"
    keeper.committed(270)
    settle(keeper)
    assert asked == [150, 270]


def test_a_keeper_that_is_closed_leaves_no_child(
    tmp_path: Path, keepers: list[Keeper]
) -> None:
    started = tmp_path / "started"

    def command(_folder: Path, _upto: int) -> list[str]:
        wait = f"import sys; open({str(started)!r}, 'w').close(); sys.stdin.read()"
        return [sys.executable, "-c", wait]

    keeper = Keeper(tmp_path, since=0, now=lambda: 0.0, records=1, command=command)
    keepers.append(keeper)
    keeper.committed(10)
    for _ in range(2_000):
        if started.exists():
            break
        time.sleep(0.005)
    assert started.exists()
    child = keeper._child
    assert child is not None
    keeper.close()
    assert child.returncode is not None
    keeper.committed(99)
    assert not keeper._thread.is_alive()  # type: ignore[union-attr]


def test_a_child_ends_with_who_started_it(tmp_path: Path) -> None:
    segments_of(tmp_path, story_of(3, 300), 6_000)
    with start_child(tmp_path, 250) as child:
        pass  # its stdin was closed
    assert child.returncode in {0, 1}
    assert_opens_as_whole(tmp_path)


def test_a_machine_without_room_for_a_child_does_without(
    tmp_path: Path, keepers: list[Keeper]
) -> None:
    keeper = Keeper(
        tmp_path,
        since=0,
        now=lambda: 0.0,
        records=1,
        command=lambda _folder, _upto: [str(tmp_path / "nothing")],
    )
    keepers.append(keeper)
    keeper.committed(10)
    settle(keeper)
    assert keeper._child is None
