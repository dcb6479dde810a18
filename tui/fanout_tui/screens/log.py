"""The event log: it follows its end until one moves up in it."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fanout.words.snapshot import LogLine
from fanout_tui.screens.base import FILTER_CSS, Place, bindings_for
from fanout_tui.screens.finding import FindScreen
from fanout_tui.text import plural
from fanout_tui.view.log import NO_LINE, entry_lines, filtered, log_line
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit, picked_out
from fanout_tui.view.top import bar_line, top_line
from fanout_tui.widgets.filter import Filter
from fanout_tui.widgets.lines import Block, LineList


class LogScreen(FindScreen):
    """All newest lines; the picked one whole below them, once one has moved.

    The pick is a line's number, not its place: older lines drop out above it.
    """

    KIND = "log"
    PLACEHOLDER = "filter: words that must be in the line"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("log")
    DEFAULT_CSS = FILTER_CSS.format(name="LogScreen")

    def __init__(self, place: Place) -> None:
        """`place.picked` is a line's number; None while the end is followed."""
        super().__init__(place)
        self._list = LineList(id="list")
        self._log: Sequence[LogLine] = ()
        self._index = 0

    def compose(self) -> ComposeResult:
        """Head, list, the picked line, filter, footer."""
        yield Block(id="head")
        yield self._list
        yield Block(id="picked")
        yield Filter(self.PLACEHOLDER)
        yield Block(id="footer")

    def show(self, look: Look) -> None:
        """Draw a frame."""
        above = self._index - self._list.scroll_offset.y
        log = self._log = filtered(look.snapshot.log, self._place.filter)
        self._index = self._at()
        self.query_one("#head", Block).show(self._head(look))
        picked = log[self._index] if log and self._place.picked is not None else None
        self.query_one("#picked", Block).show(entry_lines(look, picked))
        inner = look.sized(self._list.cells or look.width)
        at = self._index if picked is not None else -1

        def line(y: int) -> tuple[Line, bool]:
            made = log_line(inner, log[y])
            return picked_out(made, look.glyphs.cursor, picked=y == at)

        self._list.list(len(log), line)
        if picked is None:
            self._list.jump(len(log) - self._list.size.height)
        else:
            # Where it was on the screen, whatever has dropped out above it.
            self._list.jump(self._index - above)
            self._list.bring(self._index)
        self._list.look_again()
        self.show_footer(look)

    def _at(self) -> int:
        last = max(0, len(self._log) - 1)
        if self._place.picked is None:
            return last
        numbers = [entry.number for entry in self._log]
        return min(last, bisect_left(numbers, self._place.picked))

    def _head(self, look: Look) -> list[Line]:
        note = "following" if self._place.picked is None else "G follows"
        if self._place.filter:
            note = f"{len(self._log)} of {len(look.snapshot.log)}: {self._place.filter}"
        title: Line = (
            Span(f" log, {plural(len(look.snapshot.log), 'newest line')}  ", "head"),
            Span(note, "warn" if self._place.filter else "dim"),
        )
        return [top_line(look), bar_line(look), fit(title, look.width)]

    def _scroll(self, by: int) -> None:
        if not self._log:
            return
        index = max(0, self._index + by)
        past = index >= len(self._log)
        self._place.picked = None if past else self._log[index].number
        self._index = min(index, len(self._log) - 1)
        self._list.bring(self._index)
        self.fanout.draw()

    def action_bottom(self) -> None:
        """To the end, and along with it."""
        self._scroll(len(self._log) + 1)

    def action_open(self) -> None:
        """Open the agent that the picked line is about; pick the last one first."""
        row = self._log[self._index].row if self._log else None
        if self._log and self._place.picked is None:
            self._scroll(0)
        elif row is None:
            self.fanout.say(NO_LINE)
        else:
            self.fanout.open_row(row, partial(self.fanout.open_log, again=True))
