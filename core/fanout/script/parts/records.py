"""A file of records into partitions: JSON lines or a table.

The file is read through once, and only numbers are kept of a record, so its size
does not matter. Partitions are runs of records in the file's order, cut where the
records' own hashes say (`fanout.decide.parts.cutting`): an added row changes the
partition that it falls into. Each partition of a table begins with the header. What
is no record is left out and said.
"""

import hashlib
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from fanout.decide.parts.cutting import cut, equal, level
from fanout.decide.parts.packing import Partition, Piece, keys_of, numbered, of_pieces
from fanout.decide.parts.tokens import Kind, estimate_tokens, kind_of
from fanout.errors import UsageError
from fanout.files.safepath import Root
from fanout.script.parts.narrowing import Narrowing
from fanout.script.parts.recordfile import Fault, Record, opened, records

Key = str | Callable[[Any], object] | None

_FAULTS_LISTED = 100


@dataclass(frozen=True, slots=True)
class Made:
    """The partitions, and what is to be said about them."""

    parts: list[Partition]
    faults: list[Fault]
    notes: list[str]


class _Kept:
    """The numbers of the records that are to be packed."""

    def __init__(self) -> None:
        self.first = array("q")
        self.last = array("q")
        self.offset = array("q")
        self.size = array("q")
        self.tokens = array("q")
        self.level = array("b")
        self.names: list[str] = []

    def add(self, record: Record, name: str, kind: Kind) -> None:
        self.first.append(record.first)
        self.last.append(record.last)
        self.offset.append(record.offset)
        self.size.append(len(record.data))
        self.tokens.append(estimate_tokens(record.data, kind))
        self.level.append(level_of(name))
        self.names.append(name)


def partition_records(
    path: str, *, max_tokens: int, narrowing: Narrowing, key: Key
) -> Made:
    """Return a file's records as partitions. Raises `UsageError`."""
    real = os.path.realpath(path)
    root, name = Root(Path(real).parent), Path(real).name
    kept, faults = _Kept(), list[Fault]()
    with opened(root, name) as file:
        header, found = records(file, name)
        for record in found:
            if isinstance(record, Fault):
                faults.append(record)
            elif narrowing.keeps(record.data):
                kept.add(record, name_of(record.value, record.data, key), kind_of(name))
        room = max_tokens - (header.tokens if header else 0)
        if room < max_tokens / 2:
            raise UsageError(
                f"the header of `{path}` has more than half of max_tokens={max_tokens}",
                hint="give more max_tokens, or take columns out",
            )
        parts = _parts(_Read(file, root.path, name), kept, room, header)
    notes = [*narrowing.note("records"), *_oversized(parts, path, max_tokens)]
    return Made(parts, faults, notes)


def faults_listed(faults: Sequence[Fault], path: str) -> Iterator[tuple[str, str]]:
    """Yield place and reason of each; of very many the first and how many more."""
    for fault in faults[:_FAULTS_LISTED]:
        yield f"{path}:{fault.line}", fault.reason
    if (more := len(faults) - _FAULTS_LISTED) > 0:
        yield path, f"{more:,} more lines that are no records"


def level_of(name: str) -> int:
    """Return how strongly a cut before the record of this name is wanted."""
    return level(name.encode(errors="surrogatepass"))


def name_of(value: Any, data: bytes, key: Key) -> str:
    """Return what a record is called: its key, or the hash of its bytes."""
    if key is None:
        return blake2b(data, digest_size=4).hexdigest()
    try:
        named = key(value) if callable(key) else value[key]
    except Exception as error:
        raise UsageError(
            f"key={key!r} of a record cannot be had: {type(error).__name__}: {error}",
            hint="give a field that every record has, or a function of a record",
        ) from error
    return str(named)


class _Read:
    """Makes pieces of stretches of the file."""

    def __init__(self, file: BinaryIO, root: str, name: str) -> None:
        self.root = root
        self.name = name
        self._file = file

    def piece(self, kept: _Kept, run: range) -> Piece:
        """Return records that stand side by side as one piece."""
        first, last = run.start, run.stop - 1
        start = kept.offset[first]
        self._file.seek(start)
        data = self._file.read(kept.offset[last] + kept.size[last] - start)
        return Piece(
            path=self.name,
            start_line=kept.first[first],
            end_line=kept.last[last],
            whole=False,
            bytes=len(data),
            tokens=sum(kept.tokens[first : run.stop]),
            digest=hashlib.sha256(data).hexdigest(),
            offset=start,
            records=True,
        )


def _parts(
    read: _Read, kept: _Kept, room: int, header: Piece | None
) -> list[Partition]:
    runs = cut(kept.tokens, equal(kept.level), room)
    keys = keys_of(
        list(numbered(f"{read.name}-{kept.names[run.start]}" for run in runs))
    )
    return [
        of_pieces(
            key,
            read.root,
            (
                *([header] if header else []),
                *(read.piece(kept, stretch) for stretch in _stretches(kept, run)),
            ),
        )
        for key, run in zip(keys, runs, strict=True)
    ]


def _stretches(kept: _Kept, run: range) -> Iterator[range]:
    """Split where records between were left out."""
    start = run.start
    for at in run[1:]:
        if kept.offset[at] != kept.offset[at - 1] + kept.size[at - 1]:
            yield range(start, at)
            start = at
    yield range(start, run.stop)


def _oversized(parts: Sequence[Partition], path: str, max_tokens: int) -> list[str]:
    return [
        f"{path}: the record at line {part.pieces[-1].start_line} alone has "
        f"{part.tokens:,} tokens, more than {max_tokens:,}"
        for part in parts
        if part.tokens > max_tokens
    ]
