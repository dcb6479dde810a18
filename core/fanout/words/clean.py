"""Text of strangers made harmless: nothing in it can steer a terminal or a reader.

Control characters, escapes, direction overrides and characters without width
become visible pictures, so that what was sent can still be seen. Tabs and line
feeds are kept where the caller says that lines may be.
"""

import re

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)}
_PICTURES[0x7F] = "\u2421"
_PICTURES |= {code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)}
# Bidi controls, zero-width characters, line separators, fillers, annotations,
# invisible operators and the byte order mark: each can hide or reorder text.
_HIDDEN = (
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0xFEFF, 0xFFA0),
    *range(0xFFF9, 0xFFFC),
)
_PICTURES |= {code: f"<U+{code:04X}>" for code in _HIDDEN}
_PICTURES |= {code: f"<U+{code:04X}>" for code in range(0xE0000, 0xE0080)}
_LINES = {code: text for code, text in _PICTURES.items() if code not in {0x09, 0x0A}}

_SUSPECT = re.compile("[" + "".join(re.escape(chr(code)) for code in _PICTURES) + "]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str, *, lines: bool = False) -> str:
    """Return `text` with whatever is invisible made visible.

    With `lines`, tabs and line feeds stay as they are.
    """
    text = well_formed(text)
    if _SUSPECT.search(text) is None:
        return text
    return text.translate(_LINES if lines else _PICTURES)


def well_formed(text: str) -> str:
    """Return `text` with surrogates paired, or replaced where they stand alone."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
