"""Colours: three themes and the style each word of the views has in them.

The hues are Okabe and Ito's, so blue, orange, green and purple stay apart for
people who do not tell red from green; and no colour stands alone, each comes
with a symbol or a word. Under `NO_COLOR` only bold, dim and reverse remain.
"""

from collections.abc import Mapping

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

STYLES: dict[str, str] = {
    "title": "color: $fan-bright; text-style: bold;",
    "head": "color: $fan-dim; text-style: bold;",
    "dim": "color: $fan-dim;",
    "accent": "color: $fan-accent;",
    "warn": "color: $fan-warn;",
    "key": "color: $fan-accent; text-style: bold;",
    "running": "color: $fan-running;",
    "throttled": "color: $fan-throttled;",
    "queued": "color: $fan-queued;",
    "missing": "color: $fan-missing; text-style: bold;",
    "absent": "color: $fan-absent; text-style: bold;",
    "why-missing": "color: $fan-missing;",
    "why-absent": "color: $fan-absent;",
    "done": "color: $fan-done;",
    "simulated": "color: $fan-absent;",
    "gauge": "color: $fan-running;",
    "gauge-hot": "color: $fan-warn;",
    "held": "color: $fan-dim;",
    "tick": "color: $fan-bright; text-style: bold;",
    "spark": "color: $fan-faint;",
    "command": "color: $fan-accent;",
    "tab": "text-style: reverse bold;",
    "tabs": "color: $fan-dim; background: $fan-band;",
    "banner": "color: $fan-on-banner; background: $fan-warn; text-style: bold;",
    "banner-bad": "color: $fan-on-banner; background: $fan-missing; text-style: bold;",
    "banner-good": "color: $fan-on-banner; background: $fan-done; text-style: bold;",
    "message": "color: $fan-bright; background: $fan-band;",
    "cursor": "background: $fan-cursor;",
    "rule": "color: $fan-faint;",
}
"""What each style name of the views means, in Textual's CSS."""

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


def component_css(widget: str) -> str:
    """CSS for the style names as component classes of a widget."""
    rules = [f"    & > .fan--{name} {{ {css} }}" for name, css in STYLES.items()]
    return "\n".join([f"{widget} {{", *rules, "}"])


COMPONENTS = {f"fan--{name}" for name in STYLES}

NAMES = ("auto", "dark", "light", "ansi")
"""What `--theme` takes; `ansi` are the terminal's own sixteen colours."""
_LIGHT_GROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


def theme_of(name: str, environ: Mapping[str, str]) -> str:
    """Return a theme's name; `auto` goes by COLORFGBG, where the terminal sets it."""
    if name == "auto":
        ground = environ.get("COLORFGBG", "").rpartition(";")[2]
        name = "light" if ground in _LIGHT_GROUNDS else "dark"
    return {"dark": DARK, "light": LIGHT, "ansi": ANSI}[name].name
