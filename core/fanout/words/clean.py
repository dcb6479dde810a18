"""Text of strangers made harmless: nothing in it can steer a terminal or a reader.

Control characters, escapes, direction overrides and characters without width
become visible pictures, so that what was sent can still be seen. Tabs and line
feeds are kept where the caller says that lines may be. Accents heaped upon one
another by the thousand are cut to a few, and said.

In JSON the same characters are escaped, which loses nothing.
"""

import re
from collections.abc import Iterable
from functools import cache

MARKS_MAX = 8
"""Accents on one letter; no language needs as many."""

# Bidi controls, zero-width characters, line separators, fillers, annotations,
# invisible operators, selectors of variants other than those of emoji, the byte
# order mark, tags: each can hide or reorder text, or carry another text unseen.
_HIDDEN = (
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE0E),
    *(0xFEFF, 0xFFA0),
    *range(0xFFF0, 0xFFFC),
    *range(0x13430, 0x13440),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_BARE = 0x20
"""JSON escapes those below by itself."""


# The tables have thousands of entries and are seldom needed: not before they are.


@cache
def _pictures(*, lines: bool) -> dict[int, str]:
    """Return what stands for what is invisible; with `lines`, but for those."""
    found = {code: f"<U+{code:04X}>" for code in (*_CONTROLS, *_HIDDEN)}
    found |= {code: chr(0x2400 + code) for code in range(0x20)}
    found[0x7F] = "\u2421"
    kept = {0x09, 0x0A} if lines else set()
    return {code: text for code, text in found.items() if code not in kept}


@cache
def _escapes() -> dict[int, str]:
    """Return the same characters as JSON may have them."""
    return {
        code: "".join(
            f"\\u{unit:04x}"
            for unit in memoryview(chr(code).encode("utf-16-le")).cast("H")
        )
        for code in (*_CONTROLS, *_HIDDEN)
        if code >= _BARE
    }


def _ranges(codes: Iterable[int]) -> str:
    """Return sorted code points as the inside of a character class."""
    parts: list[list[int]] = []
    for code in codes:
        if parts and parts[-1][1] == code - 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in parts)


_SUSPECT = re.compile(f"[{_ranges(sorted((*_CONTROLS, *_HIDDEN)))}]")
_ESCAPED = re.compile(
    f"[{_ranges(sorted(c for c in (*_CONTROLS, *_HIDDEN) if c >= _BARE))}]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# The blocks of combining marks that are used to flood; scripts whose letters are
# made of marks (Devanagari and its kin) have their own limits in their grammar.
_MARK = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc"
    "\u0730-\u074a\u0e34-\u0e3a\u0e47-\u0e4e\u0eb4-\u0ebc\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ua66f-\ua67d\ufe20-\ufe2f"
    "\u0900-\u0903\u093c\u0941-\u094d\u0f71-\u0f84\u0f90-\u0fbc\u103a"
)
_FLOOD = re.compile(f"([{_MARK}]{{{MARKS_MAX}}})([{_MARK}]+)")


def clean(text: str, *, lines: bool = False) -> str:
    """Return `text` with whatever is invisible made visible.

    With `lines`, tabs and line feeds stay as they are.
    """
    text = well_formed(text)
    if not text.isascii() and _FLOOD.search(text) is not None:
        text = _FLOOD.sub(lambda m: f"{m[1]}<+{len(m[2])} marks>", text)
    if _SUSPECT.search(text) is None:
        return text
    return text.translate(_pictures(lines=lines))


def shortened(text: str, most: int) -> str:
    """Return at most `most` characters of `text`; what is cut is said."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text):,} characters)"


def escaped(text: str) -> str:
    """Return JSON text in which nothing steers a terminal that it is shown on.

    `text` must be JSON: there, such characters occur in strings only.
    """
    plain = text.isascii() and "\x7f" not in text
    if plain or _ESCAPED.search(text) is None:
        return text
    return text.translate(_escapes())


def well_formed(text: str) -> str:
    """Return `text` with surrogates paired, or replaced where they stand alone."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
