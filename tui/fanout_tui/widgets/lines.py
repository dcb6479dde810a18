"""Widgets that draw lines of spans: a block of a few, and a list of any number.

Both keep what they drew and repaint only lines that differ: a screen that looks
the same costs nothing, over ssh above all. Styles are cached until the theme
changes.
"""

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from fanout.words.clean import clean
from fanout_tui.text import to_ascii
from fanout_tui.theme import BARE, style_of
from fanout_tui.view.spans import Line


class Painter:
    """Turns spans into strips in one widget's styles."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[tuple[str, bool], Style] = {}

    def forget(self) -> None:
        """Look styles up anew: the theme has changed."""
        self._styles.clear()

    def strip(self, line: Line, width: int, *, cursor: bool = False) -> Strip:
        """A line of exactly `width` cells."""
        segments = [
            Segment(self._text(span.text), self._style(span.style, cursor))
            for span in line
        ]
        strip = Strip(segments)
        return strip.adjust_cell_length(width, self._style("", cursor))

    def _text(self, text: str) -> str:
        text = clean(text)
        if not text.isascii() and getattr(self._widget.app, "ascii", False):
            return to_ascii(text)
        return text

    def _style(self, name: str, cursor: bool) -> Style:
        found = self._styles.get((name, cursor))
        if found is None:
            found = self._styles[name, cursor] = self._look_up(name, cursor=cursor)
        return found

    def _look_up(self, name: str, *, cursor: bool) -> Style:
        widget = self._widget
        if widget.app.no_color:
            return Style.parse(BARE["cursor"] if cursor else BARE.get(name, ""))
        style = widget.rich_style
        if name:
            style += style_of(name, widget.app.theme)
        if cursor:
            style += style_of("cursor", widget.app.theme)
            if widget.app.native_ansi_color:
                style += Style(reverse=True)
        return style


class Block(Widget):
    """A few lines, as high as there are lines; `fixed`: as high as it is made."""

    DEFAULT_CSS = "Block { height: auto; width: 1fr; }"

    def __init__(self, *, id: str | None = None, fixed: bool = False) -> None:  # noqa: A002
        super().__init__(id=id)
        self._fixed = fixed
        self._painter = Painter(self)
        self._lines: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is drawn."""
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Draw these; only what differs is painted."""
        before, self._lines = self._lines, tuple(lines)
        if len(before) != len(self._lines):
            if not self._fixed:
                self.styles.height = len(self._lines)
            self.refresh(layout=not self._fixed)
            return
        for y, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if old != new:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """One line as a strip."""
        line = self._lines[y] if y < len(self._lines) else ()
        return self._painter.strip(line, self.size.width)

    def notify_style_update(self) -> None:
        """Look styles up anew."""
        self._painter.forget()
        super().notify_style_update()


class LineList(ScrollView, can_focus=True):
    """Any number of lines, made when they come into view."""

    class Resized(Message):
        """The list has another size now."""

    DEFAULT_CSS = """
LineList {
    height: 1fr;
    width: 1fr;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    scrollbar-color: $fan-faint;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
}
"""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._painter = Painter(self)
        self._make: Callable[[int], tuple[Line, bool]] = lambda _y: ((), False)
        self._count = 0
        self._drawn: dict[int, tuple[Line, bool]] = {}

    @property
    def cells(self) -> int:
        """The width a line may take; the scrollbar is not part of it."""
        return self.scrollable_content_region.width

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self._count

    def list(self, count: int, make: Callable[[int], tuple[Line, bool]]) -> None:
        """There are `count` lines; `make` gives one, and whether it is picked out."""
        self._make = make
        if count != self._count:
            self._count = count
            self.virtual_size = Size(0, count)
            self.refresh()
        self.look_again()

    def look_again(self) -> None:
        """Repaint the lines in view that have changed."""
        top = self.scroll_offset.y
        end = min(self._count, top + self.size.height)
        self._drawn = {y: kept for y, kept in self._drawn.items() if top <= y < end}
        for y in range(top, end):
            made = self._make(y)
            if self._drawn.get(y) != made:
                self._drawn[y] = made
                self.refresh_line(y)

    def render_line(self, y: int) -> Strip:
        """One line in view as a strip."""
        y += self.scroll_offset.y
        if y >= self._count:
            return self._painter.strip((), self.size.width)
        made = self._drawn.get(y)
        if made is None:
            made = self._drawn[y] = self._make(y)
        return self._painter.strip(made[0], self.size.width, cursor=made[1])

    def notify_style_update(self) -> None:
        """Look styles up anew."""
        self._painter.forget()
        super().notify_style_update()

    def on_resize(self) -> None:
        """Lines are as wide as the list: have them made anew."""
        self._drawn.clear()
        self.post_message(self.Resized())

    def page(self) -> int:
        """Lines a page key moves by."""
        return max(1, self.size.height - 1)

    def bring(self, y: int) -> None:
        """Scroll as little as needed for a line to be in view."""
        top, size = self.scroll_offset.y, self.size.height
        if y < top:
            self.jump(y)
        elif size and y >= top + size:
            self.jump(y - size + 1)

    def jump(self, y: float) -> None:
        """Scroll to a line at once."""
        self.scroll_to(y=max(0.0, y), animate=False, immediate=True)
