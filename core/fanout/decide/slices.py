"""Where a file too large for one partition is cut.

A cut goes before a line that starts something: a definition or a heading at the
margin, else a line at the margin after a blank one, else any line after a blank
one, else any line. Among equals the hash of the lines there decides, so that cuts
hang on what stands beside them: an edit elsewhere in the file does not move them
(`fanout.decide.cutting`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from fanout.decide.cutting import Places, cut, level

_STARTS = re.compile(
    rb"(?:@|class |def |async def |func |fn |pub |impl |trait |struct |enum |type "
    rb"|interface |export |function |public |private |protected |static |module "
    rb"|namespace |package |CREATE |#{1,6} |=+ )"
)
_WORDS = re.compile(r"[^\W_][\w]*")
_NAME_WORDS = 3
_NAME_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Slice:
    """A run of whole lines; the lines count from 1 and both ends belong to it."""

    start_line: int
    end_line: int
    offset: int
    """Bytes of the file before it."""
    data: bytes


def slices(data: bytes, room: int) -> Iterator[Slice]:
    """Cut `data` into runs of lines of at most `room` bytes each.

    A single line of more than `room` bytes is a slice of its own.
    """
    lines = _lines(data)
    sizes = [len(line) for line in lines]
    offsets = [0, *accumulate(sizes)]
    every = range(len(lines))
    ranks = [_rank(lines, at) for at in every]
    levels = [level(b"\0".join(lines[max(0, at - 2) : at + 2])) for at in every]
    for run in cut(sizes, Places(ranks, levels), room):
        yield Slice(
            run.start + 1,
            run.stop,
            offsets[run.start],
            data[offsets[run.start] : offsets[run.stop]],
        )


def name_of(data: bytes) -> str:
    """Return a few words of a slice's first line that has any; may be empty."""
    for line in data[:4096].decode(errors="replace").splitlines():
        if words := _WORDS.findall(line)[:_NAME_WORDS]:
            return "-".join(words)[:_NAME_LENGTH]
    return ""


def count_lines(data: bytes) -> int:
    """Return the lines; a last one without a line feed counts."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _rank(lines: list[bytes], at: int) -> int:
    if at == 0:
        return 0
    line, before = lines[at], lines[at - 1]
    if _STARTS.match(line) and not before.startswith(b"@"):
        return 3
    if before.strip() or not line.strip():
        return 0
    return 1 if line[:1].isspace() else 2
