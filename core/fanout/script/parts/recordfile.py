"""Reading a file of records: JSON lines and tables, record by record, with its place.

    .jsonl .ndjson     a record is a line
    .csv .tsv          a record is a row, over several lines where it is quoted so;
                       the first row is the header

Every record comes with its lines and its bytes as they stand in the file; what is
none comes as a `Fault`. One record is held at a time.
"""

import codecs
import csv
import hashlib
import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fanout.decide.parts.packing import Piece
from fanout.decide.parts.tokens import estimate_tokens, kind_of
from fanout.errors import UsageError
from fanout.files.safefile import open_regular
from fanout.files.safepath import Refused, Root

JSON_LINES = frozenset({".jsonl", ".ndjson"})
TABLES = frozenset({".csv", ".tsv"})
MAX_RECORD_BYTES = 64 * 1024 * 1024
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
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
        if file.read(2) in UTF16:
            raise UsageError(
                f"`{root.absolute((name,))}` is UTF-16",
                hint="save it as UTF-8; `iconv -f UTF-16 -t UTF-8` does that",
            )
        file.seek(0)
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
        self._back = deque[Line]()

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else next(self._lines)
        self.taken.append(line)
        return _text(line)

    def give_back(self) -> Line:
        """Have all lines but the first read once more; returns that one."""
        first, *rest = self.taken
        self._back.extendleft(reversed(rest))
        self.taken = [first]
        return first


def _text(line: Line) -> str:
    text = line.data.decode(errors="surrogateescape")
    return text.removeprefix("\ufeff") if line.number == 1 else text


class _Rows:
    """Reads row by row; a quote that stands alone costs the row it stands in.

    Left to itself `csv` takes everything up to the next quote, or to the end of the
    file, for one cell.
    """

    def __init__(self, feed: _Feed, dialect: type[csv.Dialect]) -> None:
        self.feed = feed
        self._dialect = dialect
        self._reader = csv.reader(feed, dialect, strict=True)

    def next(self) -> list[str] | Fault | None:
        """Return the next row's cells; None behind the last one."""
        feed = self.feed
        feed.taken.clear()
        try:
            return next(self._reader)
        except StopIteration:
            return None
        except csv.Error as error:
            alone = len(feed.taken) == 1
            first = feed.give_back()
            text = _text(first)
            if alone and text.count('"') % 2 == 0:
                return self._leniently(first, text)
            return Fault(first.number, f"not CSV: {_why(error, text)}")

    def _leniently(self, line: Line, text: str) -> list[str] | Fault:
        """Take a row in which something stands behind a closing quote."""
        try:
            return next(csv.reader([text], self._dialect))
        except csv.Error as error:
            return Fault(line.number, f"not CSV: {_why(error, text)}")


def _why(error: csv.Error, text: str) -> str:
    """Say what is wrong with a row that begins with this line."""
    if text.count('"') % 2:
        return "a quote in this row stands alone"
    if "\r" in text.removesuffix("\n").removesuffix("\r"):
        return "lines end in CR alone"
    return str(error)


def _table(file: BinaryIO, name: str) -> tuple[Piece | None, Iterator[Record | Fault]]:
    """Return the header as a piece, and the rows behind it."""
    start = file.read(_SNIFFED_BYTES)
    file.seek(0)
    feed = _Feed(_lines(file, name))
    rows = _Rows(feed, _dialect(start, name))
    names: list[str] | Fault | None = []
    while names == []:
        names = rows.next()
    if names is None:
        return None, iter(())
    reason = names.reason if isinstance(names, Fault) else None
    head = _joined(feed, names)
    if reason := reason or _not_text(head.data):
        raise UsageError(
            f"the header of `{name}` (line {head.first}) cannot be read: {reason}",
            hint="save the table as UTF-8, with LF or CRLF at the ends of its lines",
        )
    assert isinstance(names, list), "checked above"
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
    return piece, _records(rows, names)


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


def _records(rows: _Rows, names: Sequence[str]) -> Iterator[Record | Fault]:
    while (cells := rows.next()) is not None:
        if isinstance(cells, Fault):
            yield cells
            continue
        record = _joined(rows.feed, dict(zip(names, cells, strict=False)))
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
