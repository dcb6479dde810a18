"""A job into partitions by estimated tokens, and said what was left out.

    partition("src", "**/*.py", max_tokens=…)   a folder's files        `folders`
    partition("rows.jsonl", max_tokens=…)       a file's records        `records`
    partition(documents, max_tokens=…)          any ready-made list     `items`

A partition of files keeps names, places and digests; the content is read again when
it is rendered, and must still be the same then: a partition's digest is part of what
its answer is reused by. What cannot or should not go to a model is skipped with a
reason that `.skipped` lists: nothing is left out silently.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from os import PathLike
from typing import Any, overload

from fanout.decide.parts.packing import Partition, Piece, pack
from fanout.disk.files import is_folder, is_there
from fanout.errors import FanoutError, UsageError
from fanout.files.safefile import read_part, sha256
from fanout.files.safepath import Refused, Root
from fanout.script.parts.folders import Reader, Skipped, glob_of, nothing_hint
from fanout.script.parts.items import partition_items
from fanout.script.parts.narrowing import Narrowing
from fanout.script.parts.recordfile import is_records
from fanout.script.parts.records import Key, Made, faults_listed, partition_records
from fanout.words.counted import plural

MIN_TOKENS = 100

Source = str | PathLike[str] | Iterable[Any]


class Partitions(Sequence[Partition]):
    """The partitions in the order of what they hold."""

    def __init__(
        self, parts: Sequence[Partition], skipped: Sequence[Skipped], notes: list[str]
    ) -> None:
        self._parts = tuple(parts)
        self.skipped = tuple(skipped)
        """What matched the pattern, or might have, and is left out."""
        self.plan = (*_plan(parts), *notes)
        """Lines for a person: each partition, each file that was split, and how
        much was left out for not containing what it should."""

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Partition, ...]: ...
    def __getitem__(self, index: int | slice) -> Partition | tuple[Partition, ...]:
        return self._parts[index]

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        files = len({piece.path for part in self for piece in part.pieces})
        items = sum(len(part.items) for part in self)
        of = plural(items, "item") if items else plural(files, "file")
        return (
            f"<{plural(len(self), 'partition')} of {of}, "
            f"{sum(part.tokens for part in self):,} tokens, "
            f"{len(self.skipped)} skipped>"
        )


def partition(
    source: Source,
    pattern: str | None = None,
    *,
    max_tokens: int,
    containing: str | Sequence[str] | None = None,
    key: Key = None,
) -> Partitions:
    """Return files, records or items as partitions of at most `max_tokens` each.

    `source` is a folder, and `pattern` names files in it; or a file of records
    (JSON lines, CSV); or any iterable. Tokens are estimated. A larger file is split
    at lines; a line, record or item that is larger alone gets a partition of its
    own, and that is said. Hidden folders, dependencies, caches and what
    `.gitignore` names are skipped.

    `containing`: only files, records or items that match a regular expression, or
    one of several. `key`: the field or function that names a record or item, so
    that its partition's boundaries outlive a change of its content.

    Raises `UsageError` when the source is missing, nothing is left to pack, or
    `max_tokens` is below 100.
    """
    if not isinstance(max_tokens, int) or max_tokens < MIN_TOKENS:
        raise UsageError(
            f"max_tokens={max_tokens!r} is too small for a partition",
            hint=f"give at least {MIN_TOKENS}; 20_000 to 50_000 is usual",
        )
    narrowing = Narrowing(containing)
    if not isinstance(source, str | PathLike):
        return _of_items(source, pattern, max_tokens, narrowing, key)
    path = os.fspath(source)
    if pattern is None and is_records(path) and not is_folder(path):
        made = partition_records(
            path, max_tokens=max_tokens, narrowing=narrowing, key=key
        )
        return _of_made(made, path)
    if key is not None:
        raise UsageError(
            "key= names records and items; files have their paths",
            hint="leave it out, or give a .jsonl or .csv file or a list",
        )
    return _of_files(path, pattern, max_tokens, narrowing)


def _of_items(
    source: Iterable[Any],
    pattern: str | None,
    max_tokens: int,
    narrowing: Narrowing,
    key: Key,
) -> Partitions:
    if pattern is not None or not isinstance(source, Iterable) or _is_one(source):
        raise UsageError(
            f"a {type(source).__name__} cannot be partitioned"
            + (" by a pattern of file names" if pattern is not None else ""),
            hint="give a folder and a pattern, a .jsonl or .csv file, or a list",
        )
    made = partition_items(source, max_tokens=max_tokens, narrowing=narrowing, key=key)
    return _of_made(made, "the list")


def _is_one(source: object) -> bool:
    """Whether it is iterable, but is one thing and no list of things."""
    return isinstance(source, bytes | bytearray | Mapping)


def _of_made(made: Made, name: str) -> Partitions:
    skipped = [Skipped(*listed) for listed in faults_listed(made.faults, name)]
    if not made.parts:
        raise UsageError(
            f"nothing to partition in {name if ' ' in name else f'`{name}`'}",
            hint=made.notes[0] if made.notes else nothing_hint(skipped),
        )
    return Partitions(made.parts, skipped, made.notes)


def _of_files(
    path: str, pattern: str | None, max_tokens: int, narrowing: Narrowing
) -> Partitions:
    name = None
    if pattern is None:
        if is_folder(path) or not is_there(path):
            raise UsageError(
                f"`{path}` is {'a folder' if is_folder(path) else 'not there'}",
                hint="give a folder and a pattern such as `**/*.py`, or a file",
            )
        path, name = os.path.split(os.path.realpath(path))
    folder = Root(path)
    reader = Reader(folder, max_tokens, narrowing)
    pieces = list(
        reader.one(name) if name is not None else reader.pieces(glob_of(pattern or ""))
    )
    if not pieces:
        raise UsageError(
            f"no file under `{folder.path}` to partition for the pattern `{pattern}`",
            hint=next(iter(narrowing.note("files")), nothing_hint(reader.skipped)),
        )
    parts = pack(pieces, root=folder.path, max_tokens=max_tokens)
    return Partitions(parts, reader.skipped, [*narrowing.note("files"), *reader.notes])


def render(part: Partition, *, inline: bool) -> str:
    """Return the partition as text for a prompt: its content, or a manifest.

    Blocking when `inline`. Raises `FanoutError` naming the file when one is not
    what it was when the partition was made.
    """
    if part.text:
        return part.text
    if not inline:
        head = (
            f"{plural(len(part.pieces), 'file or part', 'files or parts of files')} "
            "to work on; "
            "read them with the read tools:"
        )
        return "\n".join([head, *(f"- {_described(piece)}" for piece in part.pieces)])
    folder = Root(part.root)
    return "\n".join(_block(folder, piece) for piece in part.pieces)


def _described(piece: Piece) -> str:
    lines = f"lines {piece.start_line}-{piece.end_line}"
    return f"{piece.path} ({lines}, {piece.bytes:,} bytes)"


def _block(folder: Root, piece: Piece) -> str:
    text = _content(folder, piece).decode()
    feed = "" if text.endswith("\n") else "\n"
    lines = f' lines="{piece.start_line}-{piece.end_line}"'
    head = f'<file path="{escape(piece.path)}"{"" if piece.records else lines}>'
    return f"{head}\n{text}{feed}</file>"


def _content(folder: Root, piece: Piece) -> bytes:
    names = tuple(piece.path.split("/"))
    # One byte more than it had shows that a whole file has grown.
    size = piece.bytes + piece.whole
    try:
        with folder.opened(names[:-1]) as opened:
            data = read_part(names[-1], opened, offset=piece.offset, size=size)
    except Refused as error:
        raise _changed(piece, str(error)) from error
    if sha256(data) != piece.digest:
        raise _changed(piece, "its content is another one")
    return data


def _changed(piece: Piece, how: str) -> FanoutError:
    return FanoutError(
        f"`{piece.path}` changed after it was partitioned: {how}",
        hint="run again; the partitions are made anew from what is there",
    )


def _plan(parts: Sequence[Partition]) -> Iterator[str]:
    for part in parts:
        names = [piece.path for piece in part.pieces[:3]]
        more = len(part.pieces) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        if not part.pieces:
            listed = plural(len(part.items), "item")
        yield f"{part.key}: {part.tokens:,} tokens: {listed}"
