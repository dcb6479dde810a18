"""Reading a journal: every record once, in order, and what was wrong with it.

Reading changes nothing, needs no lock and works on a read-only copy. In each
segment it stops at the first line that is not whole. Where only rubbish follows,
that is a torn tail: a kill or a power cut, which costs nothing that was reported
durable. Where whole lines follow, or the segment says it was longer, something
damaged the file, and `Tail.damage` says so; later segments are read on. A record
that stands in two segments, because the disk failed between, counts once.
"""

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fanout.decide.fold.lifecycle import IllegalEvent
from fanout.decide.fold.state import RunState, apply
from fanout.disk.codec import BadLineError, Seal, Unknown, decode
from fanout.disk.jsonline import to_json
from fanout.disk.segment import numbers, segment_path
from fanout.words.counted import plural
from fanout.words.events import Record
from fanout.words.model import RowId

NOTES_MAX = 20
MORE = "and more of the kind"

_PIECE = 1 << 20


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


class Where(NamedTuple):
    """Where a record stands in the journal."""

    segment: int
    offset: int
    """Of the line's first byte."""
    length: int
    """Of the line, its line feed included."""


class Reading:
    """Iterates over a run's records; `tail` is complete once it is exhausted."""

    def __init__(
        self,
        run_folder: Path,
        *,
        payloads: bool = True,
        begin: tuple[int, int] = (0, 0),
        tail: Tail | None = None,
        upto: int | None = None,
    ) -> None:
        """Read from segment and offset `begin` on, with what `tail` knows of before.

        It ends with record `upto`, if that is given, and looks at nothing behind it.
        """
        self._folder = run_folder / "journal"
        self._payloads = payloads
        self._begin = begin
        self._upto = upto
        self.tail = Tail() if tail is None else tail
        self._start = 0
        self.end = begin
        """Segment and offset up to which all lines were whole."""
        self.cut = False
        """Something follows `end` that is no line."""

    @property
    def where(self) -> Where:
        """Where the record stands that was yielded last."""
        number, offset = self.end
        return Where(number, self._start, offset - self._start)

    def __iter__(self) -> Iterator[Record]:
        first, offset = self._begin
        for number in numbers(self._folder):
            if number < first or self._is_over():
                continue
            if number > first or offset == 0:
                self.tail.segments += 1
            begin = offset if number == first else 0
            yield from self._segment(number, begin)

    def _is_over(self) -> bool:
        return self._upto is not None and self.tail.last_seq >= self._upto

    def _segment(self, number: int, offset: int) -> Iterator[Record]:
        tail, payloads, upto = self.tail, self._payloads, self._upto
        path = segment_path(self._folder, number)
        if offset == 0:
            tail.sealed = False
        self.end, self.cut = (number, offset), False
        with path.open("rb") as file:
            file.seek(offset)
            while line := file.readline():
                try:
                    record = decode(line, payloads=payloads)
                except BadLineError as exc:
                    self._cut(path, file, line, str(exc))
                    return
                self._start, offset = offset, offset + len(line)
                self.end = (number, offset)
                if isinstance(record, Seal):
                    self._check_seal(path, record, self._start)
                    continue
                tail.sealed = False
                if record.seq > tail.last_seq and self._take(path, record):
                    yield record
                if upto is not None and self._is_over():
                    return

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

    def _check_seal(self, path: Path, seal: Seal, offset: int) -> None:
        """Compare a seal with all that stands before it."""
        self.tail.sealed = True
        digest, count = hashlib.sha256(), 0
        for data in beginning(path, offset):
            digest.update(data)
            count += data.count(b"\n")
        if (seal.count, seal.sha256) != (count, digest.hexdigest()):
            self.tail.hurt(
                f"{path.name} was sealed with {plural(seal.count, 'record')} "
                f"and holds {count:,}"
            )

    def _cut(self, path: Path, file: BinaryIO, line: bytes, why: str) -> None:
        """Stop at a bad line, and tell a torn tail from damage."""
        self.cut = True
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


def beginning(path: Path, size: int, skip: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file up to `size`, in pieces; fewer if it is shorter."""
    with path.open("rb") as file:
        file.seek(skip)
        while skip < size and (data := file.read(min(size - skip, _PIECE))):
            skip += len(data)
            yield data


def read(run_folder: Path) -> Reading:
    """Return the run's records, to be iterated over once."""
    return Reading(run_folder)


def records_of(run_folder: Path, row: RowId) -> Iterator[Record]:
    """Yield the facts of one row, in order; other lines are not even decoded."""
    folder = run_folder / "journal"
    mark = f'"row":{to_json(row)}'.encode()
    last = 0
    for number in numbers(folder):
        with segment_path(folder, number).open("rb") as file:
            for line in file:
                if mark not in line:
                    continue
                with suppress(BadLineError):
                    record = decode(line)
                    if isinstance(record, Record) and record.seq > last:
                        last = record.seq
                        if not isinstance(record.event, Unknown):
                            yield record


@contextmanager
def keeping_all() -> Iterator[None]:
    """Collect no garbage meanwhile.

    What a fold makes lives on or goes at once; looking through it for circles again
    and again takes a third of the time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Folded:
    """A journal folded to its end."""

    state: RunState
    tail: Tail


def fold(run_folder: Path, each: Callable[[Record], None] | None = None) -> Folded:
    """Replay the whole of a run's journal; `each` sees every record once applied.

    A record that cannot follow from those before it is skipped and noted as
    damage: it happens only where records are missing. `fanout.disk.opening` comes
    to the same state sooner.
    """
    state, reading = RunState(), Reading(run_folder, payloads=each is not None)
    with keeping_all():
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
        with segment_path(folder, number).open("rb") as file:
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
