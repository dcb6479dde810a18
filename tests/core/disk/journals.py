"""Journals for tests: recorded from stories, read back, compared."""

from collections.abc import Iterable
from pathlib import Path

from fanout.decide.state import RunState, apply
from fanout.disk.codec import encode
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


def append_all(journal: Journal, records: Iterable[Record]) -> None:
    for record in records:
        assert journal.append(record.event, record.at).seq == record.seq


def assert_holds(folder: Path, records: list[Record]) -> None:
    """The run folder tells exactly these records, and nothing is wrong with it."""
    folded = fold(folder)
    assert folded.tail.damage == []
    assert folded.tail.records == len(records)
    assert vars(folded.state) == vars(state_of(records))
