"""A folder's files into partitions by estimated tokens, and said what was left out.

The files are read one at a time; only names, sizes and digests are kept, so a
large tree costs memory by its number of files and not by its size. The content
is read again when a partition is rendered, and must still be the same then:
a partition's digest is part of what its answer is reused by.

What cannot or should not go to a model is skipped with a reason that `.skipped`
lists: nothing is left out silently.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import overload

from fanout.decide.packing import Partition, Piece, pack
from fanout.decide.slices import count_lines, slices
from fanout.decide.tokens import bytes_within, estimate_tokens, kind_of
from fanout.errors import FanoutError, UsageError
from fanout.files.glob import Found, Glob, Walk
from fanout.files.ignore import Ignores, skipped_folder
from fanout.files.safefile import Content, not_text, read_whole, sha256
from fanout.files.safepath import Refused, Root

MIN_TOKENS = 100
MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is in no partition, and why."""

    path: str
    reason: str


class Partitions(Sequence[Partition]):
    """The partitions in the order of their first path."""

    def __init__(
        self, parts: Sequence[Partition], skipped: Sequence[Skipped], notes: list[str]
    ) -> None:
        self._parts = tuple(parts)
        self.skipped = tuple(skipped)
        """What matched the pattern, or might have, and is left out."""
        self.plan = (*_plan(parts), *notes)
        """Lines for a person: each partition, and each file that was split."""

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
        return (
            f"<{len(self)} partitions of {files} files, "
            f"{sum(part.tokens for part in self):,} tokens, "
            f"{len(self.skipped)} skipped>"
        )


def partition(
    root: str | PathLike[str], pattern: str, *, max_tokens: int
) -> Partitions:
    """Return the files under `root` that `pattern` names, as partitions.

    Each holds at most `max_tokens` estimated tokens; a larger file is split at
    lines, and a single line that is larger gets a partition of its own. Hidden
    folders, dependencies, caches and what `.gitignore` names are skipped.
    Raises `UsageError` when the folder is missing, nothing is left to pack, or
    `max_tokens` is below 100.
    """
    if not isinstance(max_tokens, int) or max_tokens < MIN_TOKENS:
        raise UsageError(
            f"max_tokens={max_tokens!r} is too small for a partition",
            hint=f"give at least {MIN_TOKENS}; 20_000 to 50_000 is usual",
        )
    folder = Root(root)
    reader = _Reader(folder, _glob(pattern), max_tokens)
    pieces = list(reader.pieces())
    if not pieces:
        raise UsageError(
            f"no file under `{folder.path}` to partition for the pattern `{pattern}`",
            hint=_nothing_hint(reader.skipped),
        )
    parts = pack(pieces, root=folder.path, max_tokens=max_tokens)
    return Partitions(parts, reader.skipped, reader.notes)


def render(part: Partition, *, inline: bool) -> str:
    """Return the partition as text for a prompt: its content, or a manifest.

    Blocking when `inline`. Raises `FanoutError` naming the file when one is not
    what it was when the partition was made.
    """
    if not inline:
        head = (
            f"{len(part.pieces)} files or parts of files to work on; "
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
    lines = f"{piece.start_line}-{piece.end_line}"
    head = f'<file path="{escape(piece.path)}" lines="{lines}">'
    return f"{head}\n{text}{feed}</file>"


def _content(folder: Root, piece: Piece) -> bytes:
    names = tuple(piece.path.split("/"))
    try:
        with folder.opened(names[:-1]) as opened:
            data = read_whole(names[-1], opened, limit=MAX_FILE_BYTES).data
    except Refused as error:
        raise _changed(piece, str(error)) from error
    if not piece.whole:
        lines = data.split(b"\n")
        data = b"\n".join([*lines[piece.start_line - 1 : piece.end_line], b""])
        data = data[: piece.bytes]
    if sha256(data) != piece.digest:
        raise _changed(piece, "its content is another one")
    return data


def _changed(piece: Piece, how: str) -> FanoutError:
    return FanoutError(
        f"`{piece.path}` changed after it was partitioned: {how}",
        hint="run again; the partitions are made anew from what is there",
    )


def _glob(pattern: str) -> Glob:
    try:
        return Glob(pattern)
    except Refused as error:
        raise UsageError(
            f"the pattern `{pattern}` cannot be used: {error}",
            hint="a pattern is relative to the folder, such as `**/*.py`",
        ) from error


def _nothing_hint(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return "check the folder and the pattern; `**/*.py` means at any depth"
    first = skipped[0]
    return f"{len(skipped)} skipped, the first is `{first.path}`: {first.reason}"


def _plan(parts: Sequence[Partition]) -> Iterator[str]:
    for part in parts:
        names = [piece.path for piece in part.pieces[:3]]
        more = len(part.pieces) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        yield f"{part.key}: {part.tokens:,} tokens: {listed}"


class _Reader:
    """One pass over the tree: pieces come out, reasons and notes stay."""

    def __init__(self, root: Root, glob: Glob, max_tokens: int) -> None:
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._root = root
        self._glob = glob
        self._max_tokens = max_tokens
        self._ignores = Ignores(root)

    def pieces(self) -> Iterator[Piece]:
        """Yield every file that can be packed, whole or cut to size."""
        walk = Walk(self._glob, enter=self._entered, skip=self._skip)
        for found in walk.files(self._root):
            content = self._read(found)
            if content is not None:
                yield from self._cut(found.path, content)
        if walk.cut:
            raise UsageError(
                f"`{self._root.path}` has more than {walk.entries - 1:,} entries",
                hint="partition its folders one by one",
            )

    def _entered(self, path: str) -> str | None:
        if reason := skipped_folder(path, self._glob.literals):
            return reason
        return self._ignores.reason(path, folder=True)

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append(Skipped(path, reason))

    def _read(self, found: Found) -> Content | None:
        if found.kind != "file":
            self._skip(found.path, self._oddity(found))
            return None
        if reason := self._ignores.reason(found.path, folder=False):
            self._skip(found.path, reason)
            return None
        try:
            content = read_whole(found.name, found.folder, limit=MAX_FILE_BYTES)
        except Refused as error:
            self._skip(found.path, str(error))
            return None
        reason = not_text(content.data) if content.data else "empty"
        if reason:
            self._skip(found.path, reason)
            return None
        return content

    def _oddity(self, found: Found) -> str:
        if found.kind == "special":
            return "not a regular file (a FIFO, a socket or a device)"
        if self._root.holds(found.path):
            return "a link to a file or folder that is listed under its own name"
        return "a link that leaves the folder, or leads nowhere"

    def _cut(self, path: str, content: Content) -> Iterator[Piece]:
        kind = kind_of(path)
        size = len(content.data)
        if estimate_tokens(size, kind) <= self._max_tokens:
            lines = count_lines(content.data)
            yield _piece(path, 1, lines, content.data, whole=True)
            return
        room = bytes_within(self._max_tokens, kind)
        made = [
            _piece(
                path,
                cut.start_line,
                cut.end_line,
                cut.data,
                whole=len(cut.data) == size,
            )
            for cut in slices(content.data, room)
        ]
        total = sum(piece.tokens for piece in made)
        self.notes.append(
            f"{path}: {total:,} tokens, more than {self._max_tokens:,}: "
            f"{f'split into {len(made)}' if len(made) > 1 else 'not to be split'}"
        )
        for piece in made:
            if piece.tokens > self._max_tokens:
                self.notes.append(
                    f"{path}: line {piece.start_line} alone has {piece.tokens:,} "
                    f"tokens; its partition is larger than {self._max_tokens:,}"
                )
        yield from made


def _piece(path: str, start: int, end: int, data: bytes, *, whole: bool) -> Piece:
    return Piece(
        path=path,
        start_line=start,
        end_line=end,
        whole=whole,
        bytes=len(data),
        tokens=estimate_tokens(data, kind_of(path)),
        digest=sha256(data),
    )
