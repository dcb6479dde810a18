"""The files a conversation shows, line by line, with their true line numbers.

Files come inlined in the prompt (`<file path="…" lines="a-b">`), or as results of
read calls, numbered (`    12<tab>text`) or plain. A manifest
(`- path (lines 1-200, 4,321 bytes)`) names files without showing them.
"""

import html
import re
from dataclasses import dataclass

_INLINE = re.compile(
    r'<file\s+path="([^"\n]+)"(?:\s+lines="(\d+)-(\d+)")?[^>\n]*>\n?(.*?)\n?</file>',
    re.DOTALL,
)
_MANIFEST = re.compile(
    r"^\s*[-*]\s+`?([^\s`()][^`()\n]*?)`?\s+\(lines?\s+(\d+)\s*[-\u2013]\s*(\d+)",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"^\s*(\d+)(?:\t|→|\s\|\s|: )(.*)$")
_CUT = re.compile(
    r"truncat|more lines|remaining|not shown|go on|continue|continues|next",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"(?:view_range|offset|start(?:_line)?|from(?: line)?|at(?: line)?|line)"
    r"\s*[=:]?\s*\[?\s*(\d[\d,]*)",
    re.IGNORECASE,
)
_MOSTLY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A file, or the lines of it, that a manifest names."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a source as it stands in the file."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one read call brought."""

    lines: tuple[Line, ...]
    go_on_at: int | None
    """The line with which the rest begins, if the result said it was cut."""


def inlined(text: str) -> dict[str, tuple[Line, ...]]:
    """The files inside a prompt, by path."""
    found: dict[str, tuple[Line, ...]] = {}
    for match in _INLINE.finditer(text):
        path = html.unescape(match[1])
        lines = _lines(match[4], int(match[2] or 1))
        found[path] = found.get(path, ()) + lines
    return found


def without_inlined(text: str) -> str:
    """The prompt without the files in it."""
    return _INLINE.sub("", text)


def manifest(text: str) -> tuple[Span, ...]:
    """The files a prompt names with their lines, in order."""
    return tuple(
        Span(path=match[1].strip(), first=int(match[2]), last=int(match[3]))
        for match in _MANIFEST.finditer(without_inlined(text))
    )


def reading(text: str, start: int) -> Reading:
    """The lines in a read call's result; `start` is the line asked for."""
    raw = text.split("\n")
    matches = [_NUMBERED.match(line) for line in raw]
    hits = sum(match is not None for match in matches)
    filled = sum(bool(line.strip()) for line in raw)
    if hits and hits >= _MOSTLY * filled:
        lines = tuple(Line(int(hit[1]), hit[2]) for hit in matches if hit is not None)
        notes = [line for line, hit in zip(raw, matches, strict=True) if hit is None]
        return Reading(lines=lines, go_on_at=_go_on(notes))
    edges = [line for line in (raw[0], raw[-1]) if line.lstrip()[:1] in ("[", "(", "…")]
    go_on = _go_on(edges)
    if go_on is not None:
        raw = [line for line in raw if _go_on([line]) is None]
    return Reading(lines=_lines("\n".join(raw), start), go_on_at=go_on)


def _lines(text: str, start: int) -> tuple[Line, ...]:
    raw = text.split("\n")
    if raw and not raw[-1]:
        raw.pop()
    return tuple(Line(number, line) for number, line in enumerate(raw, start))


def _go_on(notes: list[str]) -> int | None:
    for note in notes:
        if _CUT.search(note):
            told = _NEXT.search(note[_CUT.search(note).start() :])  # type: ignore[union-attr]
            told = told or _NEXT.search(note)
            if told is not None:
                return int(told[1].replace(",", ""))
    return None
