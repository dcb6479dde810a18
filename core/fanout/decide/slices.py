"""Where a file too large for one partition is cut.

A cut goes before a line that starts something: a definition or a heading at the
margin, else a line at the margin after a blank one, else any line after a blank
one, else wherever the room ends. Among equals the last one in the second half
of the room wins, so slices are full and no definition loses its head.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_STARTS = re.compile(
    rb"(?:@|class |def |async def |func |fn |pub |impl |trait |struct |enum |type "
    rb"|interface |export |function |public |private |protected |static |module "
    rb"|namespace |package |CREATE |#{1,6} |=+ )"
)


@dataclass(frozen=True, slots=True)
class Slice:
    """A run of whole lines; the lines count from 1 and both ends belong to it."""

    start_line: int
    end_line: int
    data: bytes


def slices(data: bytes, room: int) -> Iterator[Slice]:
    """Cut `data` into runs of lines of at most `room` bytes each.

    A single line of more than `room` bytes is a slice of its own.
    """
    lines = _lines(data)
    start = 0
    while start < len(lines):
        end = _end(lines, start, room)
        yield Slice(start + 1, end, b"".join(lines[start:end]))
        start = end


def count_lines(data: bytes) -> int:
    """Return the lines; a last one without a line feed counts."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _end(lines: list[bytes], start: int, room: int) -> int:
    """Return the index after the last line of the slice that begins at `start`."""
    used = len(lines[start])
    best = (0, start + 1)
    at = start + 1
    while at < len(lines) and used + len(lines[at]) <= room:
        if used * 2 >= room:
            best = max(best, (_rank(lines, at), at))
        used += len(lines[at])
        at += 1
    if at == len(lines):
        return at
    rank, place = max(best, (_rank(lines, at), at))
    return place if rank else at


def _rank(lines: list[bytes], at: int) -> int:
    line, before = lines[at], lines[at - 1]
    if _STARTS.match(line) and not before.startswith(b"@"):
        return 3
    if before.strip() or not line.strip():
        return 0
    return 1 if line[:1].isspace() else 2
