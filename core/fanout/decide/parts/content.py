"""What a text is made of, as far as it decides how many tokens it has.

How many bytes a token has hangs on what stands in a text: words have about five,
numbers two, and source code differs from file to file by half with the share of its
signs and numbers. So a text is counted by kinds of content, and a kind has its own
tokens apiece: `WEIGHTS`, fitted to published vocabularies over source code, prose,
JSON, tables and other scripts. On source code such a count is within a tenth of a
vocabulary's own for nineteen files of twenty, where bytes alone are for six of ten.
What a model's own vocabulary makes of each kind is learned (`calibration.py`).

Counting costs some 30 ns a byte, so of a large text pieces are looked at. Partitions
are not cut by any of this (`tokens.py`): their boundaries must not move.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import starmap
from operator import add, mul
from typing import Any

from fanout.decide.parts.tokens import Kind as FileKind

Content = tuple[int, ...]
"""How much of each kind there is, by `Kind`; empty where it is not known."""
NOTHING: Content = ()


class Kind(IntEnum):
    """A kind of content; places in a `Content`."""

    WORDS = 0
    """Runs of ASCII letters."""
    HUMPS = 1
    """Capitals within a word, as in `lineCount`."""
    CAPITALS = 2
    """Pairs of capitals."""
    DIGITS = 3
    NUMBERS = 4
    """Runs of digits."""
    SIGNS = 5
    """Punctuation and other ASCII signs."""
    RUNS = 6
    """Runs of them."""
    LINES = 7
    INDENTS = 8
    """Lines that begin with white space."""
    ACCENTS = 9
    """Latin letters with accents."""
    LETTERS = 10
    """Letters of other alphabets, of two bytes."""
    SYMBOLS = 11
    """Characters of three bytes that are no words: dashes, arrows, Indic scripts."""
    HAN = 12
    """Characters that are words or syllables, and all of four bytes."""
    LONG = 13
    """Runs of seven letters."""
    BLOBS = 14
    """Runs of 32 letters: no words, but data."""
    FRAMES = 15
    """Messages, blocks and tools, which cost something by themselves."""


KINDS = len(Kind)

WEIGHTS = (
    0.981,
    1.267,
    0.422,
    0.156,
    1.131,
    0.3,
    0.413,
    0.862,
    0.476,
    1.732,
    0.455,
    0.728,
    0.804,
    0.241,
    8.0,
    10.0,
)
"""Tokens of one of each kind, in an older vocabulary."""

TYPICAL: Mapping[FileKind, Sequence[int]] = {
    "code": (1214, 75, 283, 264, 163, 1319, 918, 278, 182, 0, 0, 0, 1, 282, 1),
    "prose": (1229, 65, 127, 338, 159, 1207, 781, 250, 88, 5, 0, 38, 9, 350, 0),
    "json": (820, 137, 48, 865, 429, 1452, 1004, 342, 294, 0, 0, 0, 1, 266, 2),
    "other": (1214, 75, 283, 264, 163, 1319, 918, 278, 182, 0, 0, 0, 1, 282, 1),
}
"""What 10,000 bytes of files hold on average."""
TYPICAL_BYTES = 10_000

WHOLE_MAX = 64 * 1024
"""Bytes of a text that are all looked at."""
SLICE = 2 * 1024
"""Of a larger one, so many bytes at a time, evenly spread."""
FAR = 10**12
"""More of a kind than any request holds."""
_INTEGERS = frozenset({int})
REMEMBERED_MAX = 16 * 1024
"""Characters of a text that may come again: a system text, a prompt, tools."""


def measure(text: str) -> Content:
    """Return what a text is made of."""
    if len(text) <= REMEMBERED_MAX:
        return _remembered(text)
    return _measure(text)


def total(parts: Iterable[Content]) -> Content:
    """Return the content of all parts together; unknown ones count for nothing."""
    whole = NOTHING
    for part in parts:
        if part:
            whole = tuple(map(add, whole, part)) if whole else part
    return whole


def checked(content: Sequence[Any]) -> Content:
    """Return the content as a journal has it; none if it has other kinds."""
    sound = (
        len(content) == KINDS
        and _INTEGERS.issuperset(map(type, content))
        and min(content) >= 0
        and max(content) < FAR
    )
    return tuple(content) if sound else NOTHING


def weight(content: Sequence[float]) -> float:
    """Return its tokens in an older vocabulary."""
    return math.fsum(map(mul, WEIGHTS, content))


def of_opening(opening: Mapping[str, Any], inputs: Content = NOTHING) -> Content:
    """Return the content of an agent's first request.

    `inputs` is that of its inputs, where it was measured already.
    """
    form = of_form(opening.get("tools") or (), opening.get("schema"))
    return of_texts(opening, form, inputs)


def of_form(tools: Sequence[Any], schema: Any) -> Content:
    """Return the content of what many first requests have in common."""
    texts = [_json(tool) for tool in tools]
    if schema is not None:
        texts.append(_json(schema))
    return total([_frames(1 + len(tools)), *map(measure, texts)])


def of_texts(
    opening: Mapping[str, Any], form: Content, inputs: Content = NOTHING
) -> Content:
    """Return the content of a first request whose tools and schema are `form`."""
    names = ("system", "prompt") if inputs else ("system", "prompt", "inputs")
    texts = [text for name in names if (text := opening.get(name))]
    frames = _frames(len(texts) + bool(inputs))
    return total([form, frames, inputs, *map(measure, texts)])


def of_body(body: Mapping[str, Any]) -> Content:
    """Return the content of a request as the API takes it."""
    texts: list[str] = []
    for name in ("system", "messages", "tools", "output_config"):
        _gather(body.get(name), texts)
    frames = len(body.get("messages") or ()) + len(body.get("tools") or ())
    return total([_frames(1 + frames), *map(measure, texts)])


def of_files(sizes: Mapping[FileKind, int]) -> Content:
    """Return what so many bytes of files are likely to hold, by kind of file."""
    parts = [
        tuple(each * size // TYPICAL_BYTES for each in _full(TYPICAL[kind]))
        for kind, size in sizes.items()
        if size
    ]
    return total(parts)


@lru_cache(maxsize=256)
def _frames(count: int) -> Content:
    return (*_full(()), count)[-KINDS:]


def _full(counts: Sequence[int]) -> Content:
    return (*counts, *[0] * (KINDS - len(counts)))


def _gather(value: Any, texts: list[str]) -> None:
    """Collect the texts of nested values; what is no text counts as JSON."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list | tuple):
        for one in value:
            _gather(one, texts)
    elif isinstance(value, Mapping):
        if isinstance(value.get("text"), str):
            texts.append(value["text"])
        elif "content" in value:
            _gather(value["content"], texts)
        elif value.get("type") not in ("image", "document"):
            texts.append(_json(value))


def _json(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=repr
    )


@lru_cache(maxsize=4_096)
def _remembered(text: str) -> Content:
    return _measure(text)


def _measure(text: str) -> Content:
    raw = text.encode(errors="replace")
    size = len(raw)
    if size <= WHOLE_MAX:
        return (*_counts(raw), 0)
    pieces = WHOLE_MAX // SLICE
    step = (size - SLICE) / (pieces - 1)
    starts = (round(at * step) for at in range(pieces))
    seen = [_counts(raw[start : start + SLICE]) for start in starts]
    share = size / WHOLE_MAX
    return (*(round(share * count) for count in map(sum, zip(*seen, strict=True))), 0)


def _table(*classes: tuple[str, int, int]) -> bytes:
    """A table that turns bytes of a range into its letter, and all others into `.`."""
    made = bytearray(b"." * 256)
    for letter, first, last in classes:
        made[first : last + 1] = letter.encode() * (last + 1 - first)
    return bytes(made)


def _all_but(*ranges: tuple[int, int]) -> bytes:
    kept = {byte for first, last in ranges for byte in range(first, last + 1)}
    return bytes(set(range(256)) - kept)


_SIGNS = ((33, 47), (58, 64), (91, 96), (123, 126))
_CLASSES = _table(
    ("a", 97, 122),
    ("A", 65, 90),
    (" ", 32, 32),
    (" ", 9, 9),
    ("/", 10, 10),
    ("/", 13, 13),
)
_IN_WORDS = _table(("x", 65, 90), ("x", 97, 122))
_IN_SIGNS = _table(*(("x", *span) for span in _SIGNS))
_IN_NUMBERS = _table(("x", 48, 57))
_NO_SIGN = _all_but(*_SIGNS)
_NO_DIGIT = _all_but((48, 57))
_NO_LEAD = tuple(
    starmap(_all_but, [[(0xC2, 0xC9)], [(0xCA, 0xDF)], [(0xE0, 0xE2)], [(0xE3, 0xF4)]])
)
"""Leading bytes of accented Latin, other alphabets, symbols, and words or syllables."""


def _counts(raw: bytes) -> Sequence[int]:
    """All kinds but the frames; a run begins where the byte before is none of it."""
    raw = b"\n" + raw
    classes = raw.translate(_CLASSES)
    words = raw.translate(_IN_WORDS)
    numbers = raw.translate(_IN_NUMBERS).count(b".x")
    beyond = (0, 0, 0, 0)
    if not raw.isascii():
        leads = [len(raw.translate(None, others)) for others in _NO_LEAD]
        beyond = (leads[0], leads[1], leads[2], leads[3])
    return (
        words.count(b".x"),
        classes.count(b"aA"),
        classes.count(b"AA"),
        len(raw.translate(None, _NO_DIGIT)) if numbers else 0,
        numbers,
        len(raw.translate(None, _NO_SIGN)),
        raw.translate(_IN_SIGNS).count(b".x"),
        classes.count(b"/") - 1,
        classes.count(b"/ "),
        *beyond,
        words.count(b"xxxxxxx"),
        words.count(b"x" * 32),
    )
