"""Which files under a root a pattern names, found without following links.

A pattern comes from a model or a script: names with `*`, `?`, `[…]`, `**` for
any number of folders, and `{a,b}` for alternatives. It is matched name by name
with a set of positions, so no pattern can take exponential time, and a folder
in which nothing can match is not even opened. The walk goes from descriptor to
descriptor; an entry is handed out together with the descriptor of its folder,
so what is read is what was listed.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from fanout.files.safepath import Refused, Root, denial, open_folder

MAX_ENTRIES = 200_000
"""Entries one walk looks at before it stops."""
MAX_DEPTH = 64
"""Folders within folders; each holds one descriptor while it is walked."""

_MAX_PATTERN = 1000
_MAX_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*)\}")

Kind = Literal["file", "link", "special"]
Segment = re.Pattern[str] | None  # None stands for `**`
States = frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """One entry that the pattern names; the descriptor lives until the next one."""

    path: str
    """Relative to the root, with `/`."""
    name: str
    folder: int
    """Descriptor of the folder that holds it."""
    kind: Kind


class Glob:
    """A pattern, ready to be matched. A bad one raises `Refused`."""

    def __init__(self, pattern: object) -> None:
        if not isinstance(pattern, str) or not pattern.strip("/"):
            raise Refused("the pattern must be a text that is not empty")
        if len(pattern) > _MAX_PATTERN or "\0" in pattern:
            raise Refused("the pattern is too long or contains a NUL character")
        if pattern.startswith("/"):
            raise Refused("the pattern must be relative to the folder")
        self.pattern = pattern
        self._routes = [_segments(text) for text in _alternatives(pattern)]
        self.literals = frozenset(re.split(r"[/{},]", pattern))
        """Names that the pattern spells out: asked for, so never skipped."""

    def start(self) -> list[States]:
        """Positions before the first name, one set for each alternative."""
        return [_closure(frozenset({0}), route) for route in self._routes]

    def step(self, states: list[States], name: str) -> list[States]:
        """Positions after one more name."""
        return [
            _advance(held, name, route)
            for held, route in zip(states, self._routes, strict=True)
        ]

    def accepts(self, states: list[States]) -> bool:
        """Whether a path that ended here is named by the pattern."""
        return any(
            len(route) in held for held, route in zip(states, self._routes, strict=True)
        )

    def matches(self, path: str) -> bool:
        """Whether the pattern names this relative path."""
        states = self.start()
        for name in path.split("/"):
            states = self.step(states, name)
        return self.accepts(states)


def _alternatives(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        if (found := _BRACES.search(text)) is None:
            done.append(text)
            continue
        head, tail = text[: found.start()], text[found.end() :]
        waiting += [head + choice + tail for choice in found[1].split(",")]
        if len(waiting) + len(done) > _MAX_ALTERNATIVES:
            raise Refused(f"the pattern has more than {_MAX_ALTERNATIVES} alternatives")
    return done


def _segments(pattern: str) -> tuple[Segment, ...]:
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    if ".." in names:
        raise Refused("`..` is not allowed in a pattern")
    # A pattern that ends in `**` means every file below.
    if names and names[-1] == "**":
        names.append("*")
    return tuple(
        None if name == "**" else re.compile(fnmatch.translate(name)) for name in names
    )


def _closure(states: States, route: tuple[Segment, ...]) -> States:
    reached = set(states)
    for at in sorted(states):
        after = at
        while after < len(route) and route[after] is None:
            after += 1
            reached.add(after)
    return frozenset(reached)


def _advance(states: States, name: str, route: tuple[Segment, ...]) -> States:
    reached = set()
    for at in states:
        if at == len(route):
            continue
        segment = route[at]
        if segment is None:
            reached.add(at)
        elif segment.match(name):
            reached.add(at + 1)
    return _closure(frozenset(reached), route)


def _pass(_path: str, _reason: str) -> None:
    return


class Walk:
    """One pass over the files below a folder that a pattern names, in order.

    `enter(path)` says why a folder is not entered, or None. `skip(path, reason)`
    hears of what could have matched and is left out.
    """

    def __init__(
        self,
        glob: Glob,
        *,
        enter: Callable[[str], str | None],
        skip: Callable[[str, str], None] = _pass,
    ) -> None:
        self._glob = glob
        self._enter = enter
        self._skip = skip
        self.entries = 0
        """Entries looked at so far."""
        self.cut = False
        """Whether the walk stopped at `MAX_ENTRIES`."""

    def files(self, root: Root, base: tuple[str, ...] = ()) -> Iterator[Found]:
        """Yield what matches below `base`; the pattern is relative to `base`."""
        prefix = "".join(f"{name}/" for name in base)
        with root.opened(base) as folder:
            yield from self._walk(folder, prefix, self._glob.start(), 1)

    def _walk(
        self, folder: int, prefix: str, states: list[States], depth: int
    ) -> Iterator[Found]:
        for entry in self._listed(folder, prefix):
            self.entries += 1
            if self.entries > MAX_ENTRIES:
                self.cut = True
                return
            after = self._glob.step(states, entry.name)
            if not any(after):
                continue
            path = prefix + entry.name
            if not entry.name.isprintable() and not _is_unicode(entry.name):
                self._skip(os.fsencode(path).decode(errors="replace"), "no UTF-8 name")
            elif reason := denial(entry.name):
                self._skip(path, reason)
            elif entry.is_dir(follow_symlinks=False):
                yield from self._below(folder, path, after, depth)
            elif self._glob.accepts(after):
                yield Found(path, entry.name, folder, _kind(entry))

    def _listed(self, folder: int, prefix: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._skip(prefix or ".", f"cannot be listed: {error.strerror}")
            return []

    def _below(
        self, folder: int, path: str, states: list[States], depth: int
    ) -> Iterator[Found]:
        if depth >= MAX_DEPTH:
            self._skip(path, f"more than {MAX_DEPTH} folders deep")
            return
        if reason := self._enter(path):
            self._skip(path, reason)
            return
        try:
            opened = open_folder(path.rsplit("/", 1)[-1], folder)
        except Refused as error:
            self._skip(path, str(error))
            return
        try:
            yield from self._walk(opened, f"{path}/", states, depth + 1)
        finally:
            os.close(opened)


def _is_unicode(name: str) -> bool:
    """A name of other bytes cannot be put into a request."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    return "file" if entry.is_file(follow_symlinks=False) else "special"
