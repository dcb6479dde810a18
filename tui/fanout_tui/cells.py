"""How many cells of a terminal text takes.

As Rich counts, which lays the frame out: where the two differ, columns shift. Views
must not need Rich for that, and plain output comes without it; a test holds both
to each other over all of Unicode.
"""

import unicodedata
from functools import lru_cache

_ZERO = frozenset({"Mn", "Me", "Mc", "Cf"})
_WIDE = frozenset("WF")
_JOINER, _AS_EMOJI = "\u200d", "\ufe0f"
_RANGES = (
    (0xAD, 0xAD, 1),
    (0x600, 0x605, 1),
    (0x6DD, 0x6DD, 1),
    (0x70F, 0x70F, 1),
    (0x890, 0x891, 1),
    (0x8E2, 0x8E2, 1),
    (0x1160, 0x11FF, 0),
    (0x2028, 0x2029, 0),
    (0x2630, 0x2637, 2),
    (0x268A, 0x268F, 2),
    (0x3164, 0x3164, 0),
    (0x4DC0, 0x4DFF, 2),
    (0xD7B0, 0xD7FF, 0),
    (0xFFA0, 0xFFA0, 0),
    (0x110BD, 0x110BD, 1),
    (0x110CD, 0x110CD, 1),
    (0x1D300, 0x1D376, 2),
    (0x1F3FB, 0x1F3FF, 0),
)
"""What is otherwise than its category and East Asian width say: signs in front of
Arabic numbers, the parts of Korean syllables, newer wide symbols, shades of skin."""

# Symbols of text that an emoji's selector behind them makes wide.
_WIDENED = frozenset(
    "#*0123456789©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌨⏏⏭⏮⏯⏱⏲⏸⏹⏺Ⓜ▪▫▶◀◻◼☀☁☂☃☄☎☑☘☝☠☢☣☦☪☮☯☸☹☺♀♂♟♠♣♥♦"  # noqa: RUF001
    "♨♻♾⚒⚔⚕⚖⚗⚙⚛⚜⚠⚧⚰⚱⛈⛏⛑⛓⛩⛰⛱⛴⛷⛸⛹✂✈✉✌✍✏✒✔✖✝✡✳✴❄❇❣❤➡⤴⤵⬅⬆⬇🅰🅱🅾🅿🌡🌤"
    "🌥🌦🌧🌨🌩🌪🌫🌬🌶🍽🎖🎗🎙🎚🎛🎞🎟🏋🏌🏍🏎🏔🏕🏖🏗🏘🏙🏚🏛🏜🏝🏞🏟🏳🏵🏷🐿👁📽🕉🕊🕯🕰🕳🕴🕵🕶🕷🕸🕹🖇🖊"
    "🖋🖌🖍🖐🖥🖨🖱🖲🖼🗂🗃🗄🗑🗒🗓🗜🗝🗞🗡🗣🗨🗯🗳🗺🛋🛍🛎🛏🛠🛡🛢🛣🛤🛥🛩🛰🛳"
)


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """Cells one character takes by itself: 0, 1 or 2."""
    code = ord(char)
    for first, last, size in _RANGES:
        if first <= code <= last:
            return size
    if unicodedata.category(char) in _ZERO:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def sizes(text: str) -> list[int]:
    """Cells that each character adds where it stands."""
    if _JOINER not in text and _AS_EMOJI not in text:
        return list(map(char_width, text))
    found: list[int] = []
    before, joined = "", False
    for char in text:
        size = 0 if joined or char == _JOINER else char_width(char)
        if char == _AS_EMOJI and not joined:
            size, before = int(before in _WIDENED), ""
        elif size:
            before = char
        found.append(size)
        joined = char == _JOINER and not joined
    return found


def width(text: str) -> int:
    """Cells `text` takes."""
    if text.isascii():
        return len(text)
    return sum(sizes(text))
