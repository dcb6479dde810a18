"""The last line of defence: no control character reaches the terminal as text.

Everything is cleaned where it enters a line; this catches what a widget of
Textual's own might pass on. It sits where strips become bytes, because segments
without a style bypass every hook above.
"""

from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from fanout.words.clean import clean

_render = Strip.render


def _needs_cleaning(segment: Segment) -> bool:
    style = segment.style
    return not _harmless(segment.text) or bool(
        style is not None and style.link and not _harmless(style.link)
    )


def _harmless(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or clean(text) == text


def _clean(segment: Segment) -> Segment:
    style = segment.style
    if style is not None and style.link and not _harmless(style.link):
        style = style.update_link(None)
    return Segment(clean(segment.text), style)


def _guarded(self: Strip, console: Console) -> str:
    """`Strip.render`, of clean segments only."""
    if any(map(_needs_cleaning, self)):
        return _render(Strip(map(_clean, self)), console)
    return _render(self, console)


def install_guard() -> None:
    """Put the guard in place; once is enough, twice does no harm."""
    Strip.render = _guarded  # type: ignore[method-assign]
