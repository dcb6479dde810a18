"""Journals after kills, power cuts and rot: never a lie, never an acked loss."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from core.disk.journals import state_of, story_of, write_segments
from fanout.decide.fold.state import RunState, apply
from fanout.disk.codec import BadLineError, _line, decode, encode
from fanout.disk.journal import Journal
from fanout.disk.opening import open_harvest
from fanout.disk.reading import Mark, fold, follow
from fanout.testing.bad_disks import after_power_cut
from fanout.words.events import LifeStarted, Noted, Record
from figures import record_figure

SCALE = float(os.environ.get("FANOUT_SCALE", "1"))
SHARDS = 4
GOLDEN = Path(__file__).parent / "golden_run_v1"


def whole_lines(data: bytes) -> Iterator[Record]:
    """The records of a segment up to its first bad line."""
    for line in data.splitlines(keepends=True):
        try:
            record = decode(line)
        except BadLineError:
            return
        assert isinstance(record, Record)
        yield record


def rewrite(path: Path, data: bytes) -> None:
    """Replace a file's content; writing over it would wait for the disk."""
    path.unlink()
    path.write_bytes(data)


def test_every_byte_prefix_replays_to_the_state_of_its_whole_lines(
    tmp_path: Path,
) -> None:
    records = [r for r in story_of(3, 200) if r.life == 1][:18]
    (path,) = write_segments(tmp_path, records)
    data = path.read_bytes()
    states = {0: vars(RunState())}
    ends = [0]
    state = RunState()
    for record in records:
        apply(state, record)
        ends.append(ends[-1] + len(encode(record)))
        states[record.seq] = vars(state_of(records[: record.seq]))
    for offset in range(len(data), -1, -1):
        os.truncate(path, offset)
        whole = sum(end <= offset for end in ends) - 1
        folded = fold(tmp_path)
        assert folded.tail.records == whole
        assert folded.tail.damage == []
        assert folded.tail.torn_bytes == offset - ends[whole]
        assert vars(folded.state) == states[whole]


def test_a_flipped_bit_never_becomes_a_record(tmp_path: Path) -> None:
    """What is read is always the beginning of what was written."""
    records = [r for r in story_of(5, 200) if r.life == 1][:30]
    (path,) = write_segments(tmp_path, records)
    data = path.read_bytes()
    random = Random(1)
    for _ in range(600):
        flipped = bytearray(data)
        at = random.randrange(len(data))
        flipped[at] ^= 1 << random.randrange(8)
        rewrite(path, bytes(flipped))
        folded = fold(tmp_path)
        read = folded.tail.records
        assert read < len(records)
        assert vars(folded.state) == vars(state_of(records[:read]))
        lost = len(records) - read
        if data[at] != ord("\n"):  # else two lines become one
            assert (folded.tail.damage != []) == (lost > 1), folded.tail
        assert folded.tail.torn_bytes > 0


def crash_state(
    seed: int, data: bytes, ends: list[int], path: Path, records: list[Record]
) -> None:
    random = Random(seed)
    synced = random.randrange(len(ends))
    rewrite(path, after_power_cut(data, ends[synced], random))
    folded = fold(path.parent.parent)
    read = folded.tail.records
    assert synced <= read <= len(records)
    assert folded.tail.last_seq == read
    # The next life begins after what was read, in a segment of its own.
    start = records[0].event
    assert isinstance(start, LifeStarted)
    again = Record(read + 1, 2, 9e9, Noted(source="engine", text="on"))
    following = path.with_name("00002.jsonl")
    following.write_bytes(encode(again))
    after = fold(path.parent.parent)
    assert after.tail.last_seq == read + 1
    assert vars(after.state) == vars(state_of([*records[:read], again]))
    following.unlink()


def crash_states(tmp_path: Path, seeds: range) -> None:
    records = [r for r in story_of(3, 400) if r.life == 1][:25]
    (path,) = write_segments(tmp_path, records)
    data = path.read_bytes()
    ends = [0]
    for record in records:
        ends.append(ends[-1] + len(encode(record)))
    for seed in seeds:
        crash_state(seed, data, ends, path, records)


def test_a_power_cut_loses_nothing_that_was_synced(tmp_path: Path) -> None:
    crash_states(tmp_path, range(2_000))


@pytest.mark.long
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_power_cuts(tmp_path: Path, shard: int) -> None:
    seeds = range(10_000 + shard, 10_000 + int(20_000 * SCALE), SHARDS)
    crash_states(tmp_path, seeds)
    goal = "≥ 20,000, 0 confirmed records lost, 0 made up"
    record_figure("crash states of a journal", goal, len(seeds), unit="states")


@pytest.mark.long
def test_every_byte_of_a_long_tail(tmp_path: Path) -> None:
    records = story_of(11, int(60 * SCALE))
    paths = write_segments(tmp_path, records)
    data = paths[-1].read_bytes()
    before = sum(r.life < records[-1].life for r in records)
    for offset in range(len(data) - 1, -1, -1):
        os.truncate(paths[-1], offset)
        whole = before + data[:offset].count(b"\n")
        folded = fold(tmp_path)
        assert folded.tail.records == whole
        assert folded.tail.damage == []
    name, goal = "a torn tail cut at every byte", "0 wrong"
    record_figure(name, goal, len(data), unit="cuts, 0 wrong")


def test_damage_in_an_earlier_life_is_loud_and_later_lives_are_read_on(
    tmp_path: Path,
) -> None:
    records = story_of(7, 600)
    paths = write_segments(tmp_path, records)
    assert len(paths) > 2
    lines = paths[0].read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"!" + lines[3][21:]
    paths[0].write_bytes(b"".join(lines))
    folded = fold(tmp_path)
    assert "00001.jsonl is damaged (the checksum does not fit)" in folded.tail.damage[0]
    assert folded.tail.last_seq == records[-1].seq
    assert folded.state.life == records[-1].life
    assert folded.state.counts.expected == len(folded.state.rows)


def test_lines_lost_before_a_seal_are_damage(tmp_path: Path) -> None:
    journal = Journal(tmp_path, life=1)
    journal.start()
    for n in range(5):
        journal.append(Noted(source="script", text=str(n)), 1.0)
    journal.close()
    path = tmp_path / "journal" / "00001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    damage = fold(tmp_path).tail.damage
    assert damage == [
        "records 3 to 3 are missing before 00001.jsonl",
        "00001.jsonl was sealed with 5 records and holds 4",
    ]


def test_a_torn_tail_is_left_as_it_was_and_never_appended_to(tmp_path: Path) -> None:
    records = [r for r in story_of(3, 200) if r.life == 1][:10]
    (path,) = write_segments(tmp_path, records)
    path.write_bytes(path.read_bytes()[:-7])
    torn = path.read_bytes()
    tail = fold(tmp_path).tail
    journal = Journal(tmp_path, life=2, last_seq=tail.last_seq)
    journal.start()
    assert journal.append(Noted(source="engine", text="on"), 1.0).seq == 10
    journal.close()
    assert path.read_bytes() == torn
    after = fold(tmp_path).tail
    assert (after.last_seq, after.damage) == (10, [])
    assert after.notes == [
        f"cut {tail.torn_bytes} bytes of a torn line off 00001.jsonl"
    ]


def test_a_newer_fact_at_the_end_keeps_its_number(tmp_path: Path) -> None:
    """Else the next life would write a second record of that number, unread."""
    records = [r for r in story_of(3, 200) if r.life == 1][:10]
    (path,) = write_segments(tmp_path, records)
    newer = _line('"n":11,"life":1,"at":9.0,"e":"MoonRose"}')
    path.write_bytes(path.read_bytes() + newer)
    folded = fold(tmp_path)
    assert (folded.state.seq, folded.tail.records) == (11, 11)
    assert folded.tail.notes == [
        "skipped MoonRose: this version does not know the kind"
    ]


def test_a_read_only_copy_reads(tmp_path: Path) -> None:
    records = story_of(3, 100)
    for path in write_segments(tmp_path, records):
        path.chmod(0o400)
    (tmp_path / "journal").chmod(0o500)
    try:
        assert fold(tmp_path).tail.records == 100
        assert len(follow(tmp_path, Mark()).records) == 100
    finally:
        (tmp_path / "journal").chmod(0o700)


@pytest.mark.parametrize(
    "rubbish",
    [b"\0" * 5_000, b"\n\n\n", b"{}\n", b"\xff" * 700, b"[" * 100_000 + b"\n"],
)
def test_rubbish_is_not_a_journal(tmp_path: Path, rubbish: bytes) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "00001.jsonl").write_bytes(rubbish)
    (tmp_path / "journal" / "note.txt").write_bytes(rubbish)
    (tmp_path / "journal" / "x.jsonl").write_bytes(rubbish)
    assert fold(tmp_path).tail.records == 0
    assert fold(tmp_path).tail.torn_bytes == len(rubbish)


def test_a_journal_of_version_1_reads_as_it_did() -> None:
    """Recorded once; it must read the same for as long as there is this product."""
    folded = fold(GOLDEN)
    assert folded.tail.damage == []
    state = folded.state
    facts = {
        "records": folded.tail.records,
        "life": state.life,
        "counts": {s.value: n for s, n in state.by_status.items()},
        "useful": state.totals.useful.as_dict(),
        "wasted": state.totals.wasted.as_dict(),
        "in_doubt": state.totals.in_doubt.as_dict(),
        "rows": [
            [
                *row.id,
                row.status.value,
                row.end.kind if row.end else None,
                row.tally.attempts,
            ]
            for row in state.rows.values()
        ],
    }
    assert facts == json.loads((GOLDEN / "facts.json").read_text())


def test_work_in_a_journal_of_version_1_is_still_found_by_content() -> None:
    harvest, tail = open_harvest(GOLDEN)
    assert tail.damage == []
    found = {
        "results": [
            [*one.row, one.fingerprint, one.load_value(), one.usage.as_dict()]
            for one in harvest.finished()
        ],
        "partials": [
            [*one.row, one.fingerprint, one.turns, len(one.entries)]
            for one in harvest.partials()
        ],
    }
    assert found == json.loads((GOLDEN / "kept.json").read_text())
