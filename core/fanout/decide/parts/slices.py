"""Where a file too large for one partition is cut.

A cut goes before a line that starts something: a definition or a heading at the
margin, else a line at the margin after a blank one, else any line after a blank
one, else any line. Among equals the hash of the lines there decides, so that cuts
hang on what stands beside them: an edit elsewhere in the file does not move them
(`fanout.decide.parts.cutting`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fanout.decide.parts.cutting import Places, cut, level

_STARTS = re.compile(
    rb"\n(?:@|class |def |async def |func |fn |pub |impl |trait |struct |enum |type "
    rb"|interface |export |function |public |private |protected |static |module "
    rb"|namespace |package |CREATE |#{1,6} |=+ )"
)
_NAMED = re.compile(
    r"\s*(?:(?:export|public|private|protected|static|async|pub|default|abstract) )*"
    r"(?:def|class|fn|func|function|struct|impl|trait|interface|module|namespace|enum"
    r"|type|package) +(?P<name>\w+)"
)
_PYTHON_NAMED = re.compile(
    r"\s*(?:(?:async )?def +(?P<def>\w+) *[(\[]|class +(?P<class>\w+) *[:(\[]"
    r"|type +(?P<type>\w+) *[=\[])"
)
"""Whole definitions: a docstring's prose may begin a line with `class` or `type`."""
_HEADING = re.compile(r"#{1,6} +(?P<heading>.+)")
"""In a text; elsewhere it is a comment, or an instruction to a compiler."""
_PYTHON = (".py", ".pyi", ".pyw")
_TEXTS = (".md", ".markdown", ".mdx", ".mkd", ".rmd", ".qmd", ".txt", ".rst", ".adoc")
_WORDS = re.compile(r"\w+")
_NAME_LENGTH = 40
_LINES_BACK = 2_000
_UNKNOWN = 255
BEGIN = "start"


@dataclass(frozen=True, slots=True)
class Slice:
    """A run of whole lines; the lines count from 1 and both ends belong to it."""

    start_line: int
    end_line: int
    offset: int
    """Bytes of the file before it."""
    data: bytes
    name: str
    """The definition or heading that it begins with or within; may be empty."""


def slices(data: bytes, room: int, file: str = "") -> Iterator[Slice]:
    """Cut `data` into runs of lines of at most `room` bytes each.

    A single line of more than `room` bytes is a slice of its own. What may name a
    slice, the suffix of `file` tells.
    """
    kinds = _kinds(file.lower())
    lines = _lines(data)
    sizes = list(map(len, lines))
    offsets = [0, *accumulate(sizes)]
    places = Places(_ranks(data, lines, offsets), _Levels(lines).of)
    for run in cut(sizes, places, room):
        yield Slice(
            run.start + 1,
            run.stop,
            offsets[run.start],
            data[offsets[run.start] : offsets[run.stop]],
            _name(lines, run.start, kinds),
        )


def count_lines(data: bytes) -> int:
    """Return the lines; a last one without a line feed counts."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _kinds(file: str) -> tuple[re.Pattern[str], ...]:
    if file.endswith(_PYTHON):
        return (_PYTHON_NAMED,)
    return (_NAMED, _HEADING) if file.endswith(_TEXTS) else (_NAMED,)


def _name(lines: list[bytes], at: int, kinds: Sequence[re.Pattern[str]]) -> str:
    if at == 0:
        return BEGIN
    # Decorators and comments stand before what they belong to.
    for line in lines[at : at + 3] + lines[max(0, at - _LINES_BACK) : at][::-1]:
        text = line[:200].decode(errors="replace")
        for kind in kinds:
            if (found := kind.match(text)) and found.lastgroup:
                words = _WORDS.findall(found[found.lastgroup])
                return "-".join(words)[:_NAME_LENGTH]
    return ""


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _ranks(data: bytes, lines: list[bytes], offsets: list[int]) -> bytes:
    """Return how good it is to cut before each line, 0 to 3."""
    ranks = bytearray(len(lines))
    for blank in (at for at, line in enumerate(lines) if not line.strip()):
        after = lines[blank + 1 : blank + 2]
        if after and after[0].strip():
            ranks[blank + 1] = 1 if after[0][:1].isspace() else 2
    at = 0
    for found in _STARTS.finditer(data):
        at = bisect_left(offsets, found.start() + 1, at)
        if not lines[at - 1].startswith(b"@"):
            ranks[at] = 3
    return bytes(ranks)


class _Levels:
    """The level of what stands at a line, worked out once and where it is asked for."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self._known = bytearray([_UNKNOWN]) * len(lines)

    def of(self, places: Sequence[int]) -> list[int]:
        lines, known = self._lines, self._known
        for at in places:
            if known[at] == _UNKNOWN:
                known[at] = level(b"\0".join(lines[max(0, at - 2) : at + 2]))
        return [known[at] for at in places]
