"""Colours: three themes and the style each word of the views has in them.

The hues are Okabe and Ito's, so blue, orange, green and purple stay apart for
people who do not tell red from green; and no colour stands alone, each comes
with a symbol or a word. Under `NO_COLOR` only bold, dim and reverse remain.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache

from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

_DARK = {
    "running": "#56B4E9",
    "throttled": "#E69F00",
    "queued": "#8A9199",
    "missing": "#FF7A5C",
    "absent": "#CC79A7",
    "done": "#2BBF8F",
    "dim": "#8A9199",
    "faint": "#5C6470",
    "text": "#D8DEE6",
    "bright": "#FFFFFF",
    "warn": "#E69F00",
    "accent": "#7FC8F8",
    "cursor": "#22303D",
    "band": "#1B222A",
    "on-banner": "#10151B",
}
_LIGHT = {
    "running": "#0063A3",
    "throttled": "#8A5A00",
    "queued": "#6B7280",
    "missing": "#B3261E",
    "absent": "#8F3A70",
    "done": "#00704C",
    "dim": "#5F6875",
    "faint": "#9AA3AE",
    "text": "#1C2430",
    "bright": "#000000",
    "warn": "#8A5A00",
    "accent": "#0063A3",
    "cursor": "#DCE9F5",
    "band": "#E9EDF2",
    "on-banner": "#FFFFFF",
}
_ANSI = {
    "running": "ansi_bright_blue",
    "throttled": "ansi_yellow",
    "queued": "ansi_default",
    "missing": "ansi_bright_red",
    "absent": "ansi_magenta",
    "done": "ansi_green",
    "dim": "ansi_default",
    "faint": "ansi_bright_black",
    "text": "ansi_default",
    "bright": "ansi_default",
    "warn": "ansi_yellow",
    "accent": "ansi_cyan",
    "cursor": "ansi_default",
    "band": "ansi_default",
    "on-banner": "ansi_black",
}


def _theme(name: str, colours: dict[str, str], ground: str, *, dark: bool) -> Theme:
    ansi = name.endswith("ansi")
    # Textual's own style sheets name variables that only its ANSI themes have.
    base = BUILTIN_THEMES["ansi-dark"].variables if ansi else {}
    words = {f"fan-{word}": colour for word, colour in colours.items()}
    return Theme(
        name=name,
        primary=colours["accent"],
        foreground=colours["text"],
        background=ground,
        surface=ground,
        panel=colours["band"],
        dark=dark,
        ansi=ansi,
        variables={**base, **words},
    )


DARK = _theme("fanout-dark", _DARK, "#11161C", dark=True)
LIGHT = _theme("fanout-light", _LIGHT, "#FBFCFD", dark=False)
ANSI = _theme("fanout-ansi", _ANSI, "ansi_default", dark=True)
THEMES = (DARK, LIGHT, ANSI)
_BY_NAME = {theme.name: theme for theme in THEMES}


@dataclass(frozen=True, slots=True)
class Ink:
    """How a word is drawn: colours by their names in a theme, and Rich's attributes."""

    colour: str = ""
    _: KW_ONLY
    on: str = ""
    text: str = ""


STYLES: dict[str, Ink] = {
    "title": Ink("bright", text="bold"),
    "head": Ink("dim", text="bold"),
    "dim": Ink("dim"),
    "accent": Ink("accent"),
    "warn": Ink("warn"),
    "key": Ink("accent", text="bold"),
    "running": Ink("running"),
    "throttled": Ink("throttled"),
    "queued": Ink("queued"),
    "missing": Ink("missing", text="bold"),
    "absent": Ink("absent", text="bold"),
    "why-missing": Ink("missing"),
    "why-absent": Ink("absent"),
    "done": Ink("done"),
    "simulated": Ink("absent"),
    "gauge": Ink("running"),
    "gauge-hot": Ink("warn"),
    "held": Ink("dim"),
    "tick": Ink("bright", text="bold"),
    "spark": Ink("faint"),
    "command": Ink("accent"),
    "tab": Ink(text="reverse bold"),
    "tabs": Ink("dim", on="band"),
    "banner": Ink("on-banner", on="warn", text="bold"),
    "banner-bad": Ink("on-banner", on="missing", text="bold"),
    "banner-good": Ink("on-banner", on="done", text="bold"),
    "message": Ink("bright", on="band"),
    "cursor": Ink(on="cursor"),
    "rule": Ink("faint"),
}
"""What each style name of the views means."""

BARE: dict[str, str] = {
    "title": "bold",
    "head": "bold",
    "dim": "dim",
    "queued": "dim",
    "key": "bold",
    "missing": "bold",
    "absent": "bold",
    "throttled": "bold",
    "tick": "bold",
    "tab": "reverse",
    "banner": "reverse",
    "banner-bad": "bold reverse",
    "banner-good": "reverse",
    "message": "reverse",
    "cursor": "reverse",
}
"""The same without any colour."""


@cache
def style_of(name: str, theme: str) -> Style:
    """Return a style name of the views as one of our themes has it.

    These are no component classes: Textual would work out each of them anew for
    each widget, whenever a screen comes to the front or the focus moves.
    """
    ink = STYLES[name]
    words = _BY_NAME[theme].variables
    colours = [
        Color.parse(words[f"fan-{word}"]).rich_color if word else None
        for word in (ink.colour, ink.on)
    ]
    return Style(color=colours[0], bgcolor=colours[1]) + Style.parse(ink.text)


NAMES = ("auto", "dark", "light", "ansi")
"""What `--theme` takes; `ansi` are the terminal's own sixteen colours."""
_LIGHT_GROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


def theme_of(name: str, environ: Mapping[str, str]) -> str:
    """Return a theme's name; `auto` goes by COLORFGBG, where the terminal sets it."""
    if name == "auto":
        ground = environ.get("COLORFGBG", "").rpartition(";")[2]
        name = "light" if ground in _LIGHT_GROUNDS else "dark"
    return {"dark": DARK, "light": LIGHT, "ansi": ANSI}[name].name
