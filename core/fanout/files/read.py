"""The operations that only look: `read`, `glob` and `grep` under a root.

All of them are blocking and raise `Refused` with words for the model. What is
cut for size is said in the last line, with how to have the rest.
"""

from collections.abc import Iterator
from typing import Any

from fanout.files.glob import MAX_ENTRIES, Found, Glob, Walk
from fanout.files.ignore import skipped_folder
from fanout.files.safefile import Content, as_text, not_text, read_whole
from fanout.files.safepath import Refused, Root
from fanout.files.search import Match, Searched, search
from fanout.words.counted import of_them, plural
from fanout.words.tools import ToolResult

MAX_LINES = 2000
MAX_BYTES = 256 * 1024
MAX_LINE_CHARACTERS = 2000
MAX_LISTED = 1000
MAX_MATCHES = 200


def text_argument(arguments: dict[str, Any], name: str) -> str:
    """Return an argument that must be a text. Raises `Refused`."""
    value = arguments.get(name)
    if not isinstance(value, str):
        raise Refused(f"`{name}` must be a text")
    return value


def read_file(root: Root, names: tuple[str, ...]) -> Content:
    """Read a file under the root. Raises `Refused`."""
    with root.opened(names[:-1]) as folder:
        return read_whole(names[-1], folder)


def read(root: Root, arguments: dict[str, Any]) -> ToolResult:
    """Return numbered lines of one text file."""
    names = root.file_names(text_argument(arguments, "file_path"))
    content = read_file(root, names)
    lines = as_text(content.data, names[-1]).removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    first, last = _view(arguments.get("view_range"), len(lines))
    return ToolResult(
        content=_numbered(lines, first, last),
        files_read={root.absolute(names): content.sha256},
    )


def _view(wanted: object, total: int) -> tuple[int, int]:
    """Return the first and last line wanted, within the file."""
    if wanted is None or wanted == []:
        return 1, total
    if (
        not isinstance(wanted, list)
        or len(wanted) != 2  # noqa: PLR2004  a first and a last
        or not all(type(bound) is int for bound in wanted)
    ):
        raise Refused("`view_range` must be [first line, last line]")
    first, last = max(wanted[0], 1), wanted[1]
    last = total if last <= 0 else min(last, total)
    if first > max(total, 1):
        raise Refused(
            f"the file has {plural(total, 'line')}; line {first:,} is beyond it"
        )
    if last < first and total:
        raise Refused("`view_range` ends before it begins")
    return first, last


def _numbered(lines: list[str], first: int, last: int) -> str:
    if not lines:
        return "[the file is empty]"
    shown: list[str] = []
    room = MAX_BYTES
    for number in range(first, min(last, first + MAX_LINES - 1) + 1):
        text = f"{number:>6}\t{_shortened(lines[number - 1])}"
        room -= len(text.encode()) + 1
        if room < 0:
            break
        shown.append(text)
    end = first + len(shown) - 1
    if end < len(lines):
        go_on = f"; go on with view_range=[{end + 1}, -1]" if end < last else ""
        shown.append(f"[lines {first}-{end} of {len(lines)}{go_on}]")
    return "\n".join(shown)


def _shortened(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]}… [{len(line):,} characters, shortened]"


def find(root: Root, arguments: dict[str, Any]) -> ToolResult:
    """List the files that a pattern names."""
    base = _base(root, arguments.get("path"))
    # An absolute pattern inside the root is as good as a relative one.
    prefix = root.path.rstrip("/") + "/"
    pattern = text_argument(arguments, "pattern").removeprefix(prefix)
    walk = _walk(pattern, base)
    paths = [found.path for found in walk.files(root, base) if found.kind == "file"]
    lines = paths[:MAX_LISTED]
    if len(paths) > MAX_LISTED:
        lines.append(f"[{of_them(MAX_LISTED, len(paths), 'file')}; narrow the pattern]")
    if walk.cut:
        lines.append(f"[stopped after {MAX_ENTRIES:,} entries; narrow the pattern]")
    return ToolResult(content="\n".join(lines) or "no matches")


def _base(root: Root, path: object) -> tuple[str, ...]:
    return () if path in {None, ""} else root.names(path)


def _walk(pattern: str, base: tuple[str, ...] = ()) -> Walk:
    glob = Glob(pattern)
    asked_for = glob.literals.union(base)
    return Walk(glob, enter=lambda path: skipped_folder(path, asked_for))


def grep(root: Root, arguments: dict[str, Any]) -> ToolResult:
    """Return the lines that a regular expression is found in."""
    pattern = text_argument(arguments, "pattern")
    if not pattern:
        raise Refused("`pattern` must not be empty")
    base = _base(root, arguments.get("path"))
    files = _Files(root, base)
    searched = search(pattern, files.contents(), limit=MAX_MATCHES)
    if searched.bad_pattern is not None:
        raise Refused(f"the pattern cannot be used: {searched.bad_pattern}")
    lines = [_match(match) for match in searched.matches]
    return ToolResult(
        content="\n".join([*(lines or ["no matches"]), *_notes(searched, files)]),
        files_read={
            root.absolute(tuple(path.split("/"))): digest
            for path, digest in searched.digests.items()
        },
    )


def _match(match: Match) -> str:
    return f"{match.path}:{match.line}:{match.text.rstrip()}"


def _notes(searched: Searched, files: "_Files") -> Iterator[str]:
    if searched.stopped_at is not None:
        yield f"[out of time in {searched.stopped_at}; simplify the pattern]"
    if searched.full:
        yield f"[stopped after {MAX_MATCHES} matches; narrow the search]"
    if files.left_out:
        yield f"[not searched: {plural(files.left_out, 'file')}, binary or too large]"
    if files.cut:
        yield f"[stopped after {MAX_ENTRIES:,} entries; name a folder in `path`]"


class _Files:
    """The text files a search goes through, read as they are asked for."""

    def __init__(self, root: Root, base: tuple[str, ...]) -> None:
        self._root = root
        self._base = base
        self.left_out = 0
        self.cut = False

    def contents(self) -> Iterator[tuple[str, Content]]:
        """Yield path and content; a `path` that names a file gives just that."""
        if self._base and (single := self._single()):
            yield "/".join(self._base), single
            return
        walk = _walk("**/*", self._base)
        for found in walk.files(self._root, self._base):
            content = self._content(found)
            if content is not None:
                yield found.path, content
        self.cut = walk.cut

    def _single(self) -> Content | None:
        with self._root.opened(self._base[:-1]) as folder:
            try:
                content = read_whole(self._base[-1], folder)
            except Refused:
                # A folder, or what the walk will refuse with better words.
                return None
        as_text(content.data, self._base[-1])
        return content

    def _content(self, found: Found) -> Content | None:
        if found.kind != "file":
            return None
        try:
            content = read_whole(found.name, found.folder)
        except Refused:
            self.left_out += 1
            return None
        if not_text(content.data):
            self.left_out += 1
            return None
        return content
