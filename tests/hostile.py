"""Texts that would do harm if anything obeyed them, and what must not be obeyed.

`payloads()` gives the same few thousand in every run: control characters, escape
sequences with a mark that nothing of ours ever sends, direction and invisible
characters, markup, half characters, floods, formulas, Markdown and HTML.
"""

import re
import unicodedata
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from itertools import product
from random import Random
from typing import Any

from fanout.words.model import RowId

MARK = "6666"
"""A parameter of every escape sequence among the payloads."""

HIDDEN = tuple(
    chr(code)
    for code in range(0x20, 0xE0200)
    if unicodedata.category(chr(code)) in {"Cf", "Zl", "Zp"}
    # Visible signs in front of numbers, in Arabic, Syriac and Kaithi.
    and code not in {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2}
    and code not in {0x110BD, 0x110CD}
)
"""Characters that no reader sees."""

_INTRODUCERS = ("\x1b[", "\x9b")
_OSC = (0, 1, 2, 4, 7, 8, 9, 10, 11, 12, 22, 50, 52, 104, 110, 133, 777, 1337)
_STRINGS = ("\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x90", "\x9f", "\x9e", "\x98")
_MARKUP = (
    "[/",
    "[/]",
    "[/red]",
    "[red]x",
    "[@click=app.quit]x[/]",
    "[@click=app.leave('now')]x[/]",
    "[link=http://example.test]x[/link]",
    "[$accent]x",
    "[b][i]x",
    "[not closed",
    "\\[/",
    "[[[",
    "]]]",
    "[on red]",
    "{x!r}",
    "%s%n%x",
    "${jndi:ldap://example.test}",
    ":smile:",
)
_FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "=HYPERLINK(A1)")
_LEADS = (
    "",
    "\t",
    "\r",
    "\0",
    " ",
    '"',
    "'",
    "\n",
    ";",
    ",",
    "\u200b",
    "\ufeff",
    "\xa0",
)
_WIDE = ("\uff1d1", "\uff0b1", "\uff0d1", "\uff201")
_MARKDOWN = (
    "|",
    "\\|",
    "\\\\|",
    "a|b|c",
    "`",
    "``",
    "```\ncode\n```",
    "~~~",
    "![x](http://example.test/x.png)",
    "[x](javascript:alert(1))",
    "<http://example.test>",
    "http://example.test/?a=1",
    "www.example.test",
    "# head",
    "- item",
    "1. item",
    "> quote",
    "---",
    "| --- |",
    "\n\n# head",
    "[x]: http://example.test",
    "[x][x]",
    "&lt;script&gt;",
    "<!-- x",
    "*b* _i_ ~~s~~",
    "$x^2$",
    "a  \nb",
    "\\",
    "`\\|`",
)
_HTML = (
    "<script>alert(6666)</script>",
    "<img src=x onerror=alert(6666)>",
    "<svg/onload=alert(6666)>",
    "<a href='javascript:alert(6666)'>x</a>",
    "<iframe src=//example.test></iframe>",
    "<link rel=stylesheet href=//example.test/x.css>",
    "<style>*{background:url(//example.test/x)}</style>",
    "<meta http-equiv=refresh content='0;url=//example.test'>",
    "<base href=//example.test/>",
    "<form action=//example.test><button>x</button></form>",
    "<object data=//example.test>",
    "<embed src=//example.test>",
    "<video src=//example.test autoplay>",
    "<details open ontoggle=alert(6666)>",
    "<body onload=alert(6666)>",
    "<math href=javascript:alert(6666)>x",
    "<input autofocus onfocus=alert(6666)>",
    "&#60;script&#62;",
    "&lt;b&gt;",
)
_CLOSERS = ("", '"', "'", "</td>", "</bdi>", "-->", "]]>", "</title>", "</style>")


@cache
def payloads() -> tuple[str, ...]:
    """All of them, each once."""
    found = [*_controls(), *_sequences(), *_unseen(), *_for_readers(), *_floods()]
    chance = Random(6)
    parts = sorted(set(found))
    found += [
        "".join(chance.choices(parts, k=chance.randint(2, 4))) for _ in range(1000)
    ]
    return tuple(dict.fromkeys(text for text in found if text))


def huge() -> tuple[str, ...]:
    """A few of ten megabytes each."""
    size = 10_000_000
    return (
        "x" * size,
        "\x1b[6666m" * (size // 7),
        "e" + "\u0301" * size,
        "\u6f22 " * (size // 2),
        "\u202e" * size,
        "=1\r" * (size // 3),
        "<b>" * (size // 3),
        "`|" * (size // 2),
    )


def _controls() -> list[str]:
    codes = [*range(0x20), *range(0x7F, 0xA0)]
    forms = ("{0}", "a{0}b", "{0}{0}tail", "head{0}")
    return [form.format(chr(code)) for code, form in product(codes, forms)]


def _sequences() -> list[str]:
    finals = [chr(code) for code in range(0x40, 0x7F)]
    found = [
        f"a{intro}{middle}{final}b"
        for intro, middle, final in product(
            _INTRODUCERS, (MARK, f"?{MARK};1", f">{MARK}"), finals
        )
    ]
    ends = ("\x07", "\x1b\\", "\x9c", "")
    found += [
        f"{intro}{number};{MARK}EVIL{end}"
        for number, intro, end in product(_OSC, ("\x1b]", "\x9d"), ends)
    ]
    found += [
        f"{intro}{body}\x1b\\"
        for intro, body in product(_STRINGS, (f"+q{MARK}", f"{MARK}q~", f"$q{MARK}m"))
    ]
    found += [f"x\x1b{final}{MARK}" for final in "c78=>DEHMNOZno|}~lm#(%)*+ FG"]
    found += [f"\x1b]8;;http://example.test/{MARK}\x1b\\link\x1b]8;;\x1b\\"]
    return found


def _unseen() -> list[str]:
    found = [f"safe{char}exe.gnp" for char in HIDDEN]
    found += [f"{char}=1" for char in HIDDEN[::3]]
    halves = ("\ud83d", "\ude00", "\udce9", "\udc80", "\ud83d\ud83d", "\ude00\ud83d")
    found += [f"a{half}b" for half in halves] + list(halves)
    return [*found, "\u202e\u2066x\u2069\u202c", "\U000e0041\U000e0042", "\ufffe\uffff"]


def _for_readers() -> list[str]:
    found = [*_MARKUP, *_MARKDOWN, *(f"key {text}" for text in (*_MARKUP, *_MARKDOWN))]
    found += [f"{lead}{text}" for lead, text in product(_LEADS, (*_FORMULAS, *_WIDE))]
    found += [f"x{sign}{text}" for sign, text in product("\n\r;,\t", _FORMULAS)]
    found += [f"{closer}{text}" for closer, text in product(_CLOSERS, _HTML)]
    return found


def _floods() -> list[str]:
    marks = ("\u0301", "\u0488", "\u20dd", "\u0e49", "\u1ab0", "\u0f39", "\ufe20")
    found = [f"e{mark * count}" for mark, count in product(marks, (9, 200))]
    found += ["x" * 5_000, "\u6f22" * 3_000, " " * 500 + "x", "\U0001f468\u200d" * 50]
    return [*found, "\n" * 200, "\t" * 200, "\r" * 200]


def risky(text: str, *, kept: str = "\n") -> list[str]:
    """Characters that steer a terminal or hide from a reader; `kept` may be there."""
    if text.isascii():
        found = text.encode().translate(None, _HARMLESS).decode()
    else:
        found = _HARMLESS_RUN.sub("", text)
    return [char for char in found if char not in kept]


_HARMLESS = bytes(range(0x20, 0x7F))
_HARMLESS_RUN = re.compile(
    "[^"
    + "".join(map(re.escape, HIDDEN))
    + "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
    + "]+"
)

_CLOSED = frozenset({"state", "status", "level", "kind", "fingerprint", "sha256"})
"""Text fields that hold one of our own words."""


class Poison:
    """Puts payloads into every text of a value, one after the other."""

    def __init__(self, texts: tuple[str, ...] | list[str]) -> None:
        self._texts = texts
        self.used = 0

    def text(self) -> str:
        text = self._texts[self.used % len(self._texts)]
        self.used += 1
        return text

    def __call__(self, value: Any) -> Any:
        """Return a copy in which every text is a payload."""
        if isinstance(value, Enum) or value is None:
            return value
        if isinstance(value, str):
            return self.text()
        if isinstance(value, RowId):
            return RowId(self.text(), f"{self.text()}{self.used}")
        if is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: self(getattr(value, field.name))
                for field in fields(value)
                if field.name not in _CLOSED
            }
            return replace(value, **changed)
        if isinstance(value, tuple):
            return tuple(self(item) for item in value)
        return value
