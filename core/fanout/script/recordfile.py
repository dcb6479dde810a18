"""Reading a file of records: JSON lines and tables, record by record, with its place.

    .jsonl .ndjson     a record is a line
    .csv .tsv          a record is a row, over several lines where it is quoted so;
                       the first row is the header

Every record comes with its lines and its bytes as they stand in the file; what is
none comes as a `Fault`. One record is held at a time.
"""

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fanout.decide.packing import Piece
from fanout.decide.tokens import estimate_tokens, kind_of
from fanout.errors import UsageError
from fanout.files.safefile import open_regular
from fanout.files.safepath import Refused, Root

JSON_LINES = frozenset({".jsonl", ".ndjson"})
TABLES = frozenset({".csv", ".tsv"})
MAX_RECORD_BYTES = 64 * 1024 * 1024
_SNIFFED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, its end included; `number` counts from 1."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One record and where it stands."""

    first: int
    last: int
    """Lines, from 1, both ends belong to it."""
    offset: int
    data: bytes
    value: Any
    """What `key` is asked about: a mapping, or whatever a JSON line holds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why lines of the file are no record."""

    line: int
    reason: str


def is_records(path: str) -> bool:
    """Whether a file's suffix says that it holds records."""
    return Path(path).suffix.lower() in JSON_LINES | TABLES


def records(file: BinaryIO, name: str) -> tuple[Piece | None, Iterator[Record | Fault]]:
    """Return the header as a piece, of a table, and what comes behind it."""
    if Path(name).suffix.lower() in TABLES:
        return _table(file, name)
    return None, _json_lines(_lines(file, name))


@contextmanager
def opened(root: Root, name: str) -> Iterator[BinaryIO]:
    """Give a file of the folder, open. Raises `UsageError`."""
    try:
        with root.opened() as folder:
            descriptor = open_regular(name, folder)
    except Refused as error:
        raise UsageError(
            f"`{root.absolute((name,))}` cannot be read: {error}",
            hint="give a file that exists and may be read",
        ) from error
    with open(descriptor, "rb") as file:  # noqa: PTH123  a descriptor
        yield file


def _lines(file: BinaryIO, name: str) -> Iterator[Line]:
    number = offset = 0
    while data := file.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(data) > MAX_RECORD_BYTES:
            raise UsageError(
                f"line {number} of `{name}` has more than {MAX_RECORD_BYTES:,} bytes",
                hint="is it one record a line? `jq -c .[]` makes lines of a JSON list",
            )
        yield Line(number, offset, data)
        offset += len(data)


def _json_lines(lines: Iterator[Line]) -> Iterator[Record | Fault]:
    for line in lines:
        if not line.data.strip():
            continue
        try:
            value = json.loads(line.data)
        except (ValueError, RecursionError) as error:
            yield Fault(line.number, f"not JSON: {error}")
        else:
            yield Record(line.number, line.number, line.offset, line.data, value)


class _Feed:
    """Gives `csv` its lines, and remembers where the row being read began."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.taken: list[Line] = []
        self._lines = lines

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.taken.append(line)
        text = line.data.decode(errors="surrogateescape")
        return text.removeprefix("\ufeff") if line.number == 1 else text


def _table(file: BinaryIO, name: str) -> tuple[Piece | None, Iterator[Record | Fault]]:
    """Return the header as a piece, and the rows behind it."""
    start = file.read(_SNIFFED_BYTES)
    file.seek(0)
    feed = _Feed(_lines(file, name))
    reader = csv.reader(feed, _dialect(start, name))
    names: list[str] = []
    for names in reader:
        if names:
            break
        feed.taken.clear()
    if not names:
        return None, iter(())
    head = _joined(feed, names)
    piece = Piece(
        path=name,
        start_line=head.first,
        end_line=head.last,
        whole=False,
        bytes=len(head.data),
        tokens=estimate_tokens(head.data, kind_of(name)),
        digest=hashlib.sha256(head.data).hexdigest(),
        offset=head.offset,
        records=True,
    )
    return piece, _rows(reader, feed, names)


def _dialect(start: bytes, name: str) -> type[csv.Dialect]:
    class Told(csv.excel):
        delimiter = "\t" if name.lower().endswith(".tsv") else ","

    if Told.delimiter == ",":
        text = start.decode(errors="replace").splitlines()
        counts = {mark: text[0].count(mark) for mark in ",;\t|"} if text else {}
        if counts and not counts[","]:
            best = max(counts, key=lambda mark: counts[mark])
            Told.delimiter = best if counts[best] else ","
    return Told


def _rows(reader: Any, feed: _Feed, names: Sequence[str]) -> Iterator[Record | Fault]:
    while True:
        feed.taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Fault(feed.taken[-1].number, f"not CSV: {error}")
            continue
        record = _joined(feed, dict(zip(names, cells, strict=False)))
        if reason := _not_text(record.data):
            yield Fault(record.first, reason)
        elif cells:
            yield record


def _joined(feed: _Feed, value: Any) -> Record:
    taken = feed.taken[:]
    feed.taken.clear()
    data = b"".join(line.data for line in taken)
    return Record(taken[0].number, taken[-1].number, taken[0].offset, data, value)


def _not_text(data: bytes) -> str | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte 0x{data[error.start]:02x})"
    return None
