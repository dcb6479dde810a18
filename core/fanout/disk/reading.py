"""Reading a journal: every record once, in order, and what was wrong with it.

Reading changes nothing, needs no lock and works on a read-only copy. In each
segment it stops at the first line that is not whole. Where only rubbish follows,
that is a torn tail: a kill or a power cut, which costs nothing that was reported
durable. Where whole lines follow, or the segment says it was longer, something
damaged the file, and `Tail.damage` says so; later segments are read on. A record
that stands in two segments, because the disk failed between, counts once.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fanout.decide.lifecycle import IllegalEvent
from fanout.decide.state import RunState, apply
from fanout.disk.codec import BadLineError, Seal, Unknown, decode
from fanout.disk.segment import SUFFIX, numbers
from fanout.words.events import Record

NOTES_MAX = 20
MORE = "and more of the kind"


@dataclass(slots=True)
class Tail:
    """What reading a journal has shown, beside its records."""

    segments: int = 0
    records: int = 0
    last_seq: int = 0
    last_life: int = 0
    last_at: float = 0.0
    torn_bytes: int = 0
    """Bytes cut off at the ends of segments."""
    sealed: bool = False
    """Whether the newest segment was closed in good order."""
    damage: list[str] = field(default_factory=list)
    """What cannot be explained by a kill: one sentence each."""
    notes: list[str] = field(default_factory=list)
    """What was skipped, and torn tails: one sentence each."""

    def note(self, text: str) -> None:
        """Remember what was skipped or cut."""
        _remember(self.notes, text)

    def hurt(self, text: str) -> None:
        """Remember damage."""
        _remember(self.damage, text)


def _remember(sentences: list[str], text: str) -> None:
    """Keep the first few different sentences; say once that there are more."""
    if text not in sentences and len(sentences) <= NOTES_MAX:
        sentences.append(text if len(sentences) < NOTES_MAX else MORE)


class Reading:
    """Iterates over a run's records; `tail` is complete once it is exhausted."""

    def __init__(self, run_folder: Path) -> None:
        self._folder = run_folder / "journal"
        self.tail = Tail()

    def __iter__(self) -> Iterator[Record]:
        for number in numbers(self._folder):
            self.tail.segments += 1
            yield from self._segment(self._folder / f"{number:05}{SUFFIX}")

    def _segment(self, path: Path) -> Iterator[Record]:
        tail = self.tail
        tail.sealed = False
        digest, count = hashlib.sha256(), 0
        with path.open("rb") as file:
            while line := file.readline():
                try:
                    record = decode(line)
                except BadLineError as exc:
                    self._cut(path, file, line, str(exc))
                    return
                if isinstance(record, Seal):
                    self._check_seal(path, record, count, digest.hexdigest())
                    continue
                tail.sealed = False
                digest.update(line)
                count += 1
                if record.seq > tail.last_seq and self._take(path, record):
                    yield record

    def _take(self, path: Path, record: Record) -> bool:
        """Count a record; tell whether this version can use it."""
        tail = self.tail
        if record.seq > tail.last_seq + 1:
            gap = f"records {tail.last_seq + 1} to {record.seq - 1}"
            tail.hurt(f"{gap} are missing before {path.name}")
        tail.records += 1
        tail.last_seq = record.seq
        tail.last_life = record.life
        tail.last_at = record.at
        if isinstance(record.event, Unknown):
            unknown = record.event
            tail.note(f"skipped {unknown.kind}: {unknown.why}")
            return False
        return True

    def _check_seal(self, path: Path, seal: Seal, count: int, digest: str) -> None:
        self.tail.sealed = True
        if (seal.count, seal.sha256) != (count, digest):
            self.tail.hurt(
                f"{path.name} was sealed with {seal.count} records and holds {count}"
            )

    def _cut(self, path: Path, file: BinaryIO, line: bytes, why: str) -> None:
        """Stop at a bad line, and tell a torn tail from damage."""
        whole = 0
        cut = len(line)
        while more := file.readline():
            cut += len(more)
            whole += _is_whole(more)
        self.tail.torn_bytes += cut
        if whole:
            self.tail.hurt(
                f"{path.name} is damaged ({why}); {whole} later lines of it are lost"
            )
        else:
            self.tail.note(f"cut {cut} bytes of a torn line off {path.name}")


def read(run_folder: Path) -> Reading:
    """Return the run's records, to be iterated over once."""
    return Reading(run_folder)


@dataclass(frozen=True, slots=True)
class Folded:
    """A journal folded to its end."""

    state: RunState
    tail: Tail


def fold(run_folder: Path, each: Callable[[Record], None] | None = None) -> Folded:
    """Replay a run's journal; `each` sees every record once it was applied.

    A record that cannot follow from those before it is skipped and noted as
    damage: it happens only where records are missing.
    """
    state, reading = RunState(), read(run_folder)
    for record in reading:
        try:
            apply(state, record)
        except IllegalEvent as exc:
            reading.tail.hurt(f"record {record.seq} was skipped: {exc}")
            continue
        if each is not None:
            each(record)
    # A skipped record has its number all the same; the next life goes on after it.
    state.seq = reading.tail.last_seq
    return Folded(state, reading.tail)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a follower has read."""

    segment: int = 0
    offset: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """What was added since a mark."""

    records: tuple[Record, ...]
    mark: Mark


def follow(run_folder: Path, mark: Mark) -> News:
    """Return what was added since `mark`: for watching a run that lives.

    A line that is not whole yet is left for the next time. A segment is left
    for the next one once there is one.
    """
    folder = run_folder / "journal"
    found: list[Record] = []
    for number in numbers(folder):
        if number < mark.segment:
            continue
        offset = mark.offset if number == mark.segment else 0
        with (folder / f"{number:05}{SUFFIX}").open("rb") as file:
            # Shorter than the mark: the disk failed and the rest is rewritten.
            offset = min(offset, file.seek(0, 2))
            file.seek(offset)
            for line in file:
                try:
                    record = decode(line)
                except BadLineError:
                    break
                offset += len(line)
                if isinstance(record, Record) and record.seq > mark.seq:
                    mark = Mark(number, offset, record.seq)
                    if not isinstance(record.event, Unknown):
                        found.append(record)
        mark = Mark(number, offset, mark.seq)
    return News(tuple(found), mark)


def _is_whole(line: bytes) -> bool:
    try:
        decode(line)
    except BadLineError:
        return False
    return True
