"""Journals for tests: recorded from stories, read back, compared."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from fanout.decide.fold.state import RunState, apply
from fanout.disk.codec import Seal, encode, encode_seal
from fanout.disk.journal import Journal
from fanout.disk.reading import fold
from fanout.testing.stories import Story
from fanout.words.events import Record


def story_of(seed: int, events: int) -> list[Record]:
    return list(Story(seed).tell(events))


def state_of(records: Iterable[Record]) -> RunState:
    state = RunState()
    for record in records:
        apply(state, record)
    return state


def write_segments(folder: Path, records: Iterable[Record]) -> list[Path]:
    """One segment a life, as processes would have written them."""
    (folder / "journal").mkdir(parents=True, exist_ok=True)
    segments: dict[int, bytes] = {}
    for record in records:
        segments[record.life] = segments.get(record.life, b"") + encode(record)
    paths = []
    for life, data in segments.items():
        paths.append(folder / "journal" / f"{life:05}.jsonl")
        paths[-1].write_bytes(data)
    return paths


def segments_of(
    folder: Path, records: Iterable[Record], size: int, *, sealed: bool = True
) -> list[Path]:
    """Segments of at most about `size` bytes, a new one for each life."""
    (folder / "journal").mkdir(parents=True, exist_ok=True)
    groups: list[list[Record]] = []
    filled = size
    for record in records:
        if filled >= size or groups[-1][-1].life != record.life:
            groups.append([])
            filled = 0
        groups[-1].append(record)
        filled += len(encode(record))
    paths = []
    for number, group in enumerate(groups, 1):
        data = b"".join(encode(record) for record in group)
        if sealed:
            seal = Seal(len(group), sha256(data).hexdigest())
            data += encode_seal(group[-1], seal)
        paths.append(folder / "journal" / f"{number:05}.jsonl")
        paths[-1].write_bytes(data)
    return paths


def append_all(journal: Journal, records: Iterable[Record]) -> None:
    for record in records:
        assert journal.append(record.event, record.at).seq == record.seq


def assert_holds(folder: Path, records: list[Record]) -> None:
    """The run folder tells exactly these records, and nothing is wrong with it."""
    folded = fold(folder)
    assert folded.tail.damage == []
    assert folded.tail.records == len(records)
    assert vars(folded.state) == vars(state_of(records))
