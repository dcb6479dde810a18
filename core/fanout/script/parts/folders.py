"""A folder's files as pieces, and what was left out of it, with the reason.

The files are read one at a time; only names, sizes and digests are kept, so a
large tree costs memory by its number of files and not by its size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanout.decide.parts.packing import Piece
from fanout.decide.parts.slices import Slice, count_lines, slices
from fanout.decide.parts.tokens import bytes_within, estimate_tokens, kind_of
from fanout.errors import UsageError
from fanout.files.glob import Found, Glob, Walk
from fanout.files.ignore import Ignores, skipped_folder
from fanout.files.safefile import Content, not_text, read_whole, sha256
from fanout.files.safepath import Refused, Root
from fanout.script.parts.narrowing import Narrowing

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is in no partition, and why."""

    path: str
    reason: str


def glob_of(pattern: str) -> Glob:
    """Return the pattern, read. Raises `UsageError`."""
    try:
        return Glob(pattern)
    except Refused as error:
        raise UsageError(
            f"the pattern `{pattern}` cannot be used: {error}",
            hint="a pattern is relative to the folder, such as `**/*.py`",
        ) from error


def nothing_hint(skipped: Sequence[Skipped]) -> str:
    """Return what to look at when nothing was left to pack."""
    if not skipped:
        return "check the folder and the pattern; `**/*.py` means at any depth"
    first = skipped[0]
    return f"{len(skipped)} skipped, the first is `{first.path}`: {first.reason}"


class Reader:
    """One pass over the tree: pieces come out, reasons and notes stay."""

    def __init__(self, root: Root, max_tokens: int, narrowing: Narrowing) -> None:
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._root = root
        self._literals: frozenset[str] = frozenset()
        self._max_tokens = max_tokens
        self._narrowing = narrowing
        self._ignores = Ignores(root)

    def one(self, name: str) -> Iterator[Piece]:
        """Yield the pieces of one file of the folder, ignored or not."""
        with self._root.opened() as folder:
            content = self._content(name, name, folder)
        if content is not None:
            yield from self._cut(name, content)

    def pieces(self, glob: Glob) -> Iterator[Piece]:
        """Yield every file that can be packed, whole or cut to size."""
        self._literals = frozenset(glob.literals)
        walk = Walk(glob, enter=self._entered, skip=self._skip)
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
        if reason := skipped_folder(path, self._literals):
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
        return self._content(found.path, found.name, found.folder)

    def _content(self, path: str, name: str, folder: int) -> Content | None:
        try:
            content = read_whole(name, folder, limit=MAX_FILE_BYTES)
        except Refused as error:
            self._skip(path, str(error))
            return None
        reason = not_text(content.data) if content.data else "empty"
        if reason:
            self._skip(path, reason)
            return None
        return content if self._narrowing.keeps(content.data) else None

    def _oddity(self, found: Found) -> str:
        if found.kind == "special":
            return "not a regular file (a FIFO, a socket or a device)"
        if self._root.holds(found.path):
            return "a link to a file or folder that is listed under its own name"
        return "a link that leaves the folder, or leads nowhere"

    def _cut(self, path: str, content: Content) -> Iterator[Piece]:
        kind = kind_of(path)
        size = len(content.data)
        tokens = estimate_tokens(size, kind)
        if tokens <= self._max_tokens:
            yield Piece(
                path=path,
                start_line=1,
                end_line=count_lines(content.data),
                whole=True,
                bytes=size,
                tokens=tokens,
                digest=content.sha256,
            )
            return
        room = bytes_within(self._max_tokens, kind)
        made = [_piece(path, cut, size) for cut in slices(content.data, room, path)]
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


def _piece(path: str, cut: Slice, size: int) -> Piece:
    return Piece(
        path=path,
        start_line=cut.start_line,
        end_line=cut.end_line,
        whole=len(cut.data) == size,
        bytes=len(cut.data),
        tokens=estimate_tokens(cut.data, kind_of(path)),
        digest=sha256(cut.data),
        offset=cut.offset,
        name=cut.name,
    )
