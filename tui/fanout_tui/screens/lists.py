"""Two screens that are a list under the top lines: the log and the report."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from fanout.words.commands import Export
from fanout.words.snapshot import Snapshot
from fanout_tui.screens.base import FILTER_CSS, ScrollScreen, bindings_for
from fanout_tui.text import one_line, plural
from fanout_tui.view.log import filtered, log_line
from fanout_tui.view.look import Look
from fanout_tui.view.report import report_lines
from fanout_tui.view.spans import Line, Span, fit
from fanout_tui.view.top import bar_line, top_line
from fanout_tui.widgets.lines import Block, LineList

WRITTEN = ("report.json", "report.md")
TOLD = ("wrote ", "cannot write ")
"""How lines of the log begin that say what became of a report."""


class ListScreen(ScrollScreen):
    """The top lines, a list that scrolls, the footer."""

    def __init__(self) -> None:
        super().__init__()
        self._list = LineList(id="list")

    def compose(self) -> ComposeResult:
        """Head, list, footer."""
        yield Block(id="head")
        yield self._list
        yield Block(id="footer")

    def _scroll(self, by: int) -> None:
        last = max(0, self._list.count - self._list.size.height)
        self._list.jump(min(last, self._list.scroll_offset.y + by))
        self._list.look_again()
        self.fanout.draw()


class LogScreen(ListScreen):
    """The event log; it follows its end until one scrolls up."""

    KIND = "log"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("log")
    DEFAULT_CSS = FILTER_CSS.format(name="LogScreen")

    def __init__(self) -> None:
        super().__init__()
        self._follows = True
        self._filter = ""

    def compose(self) -> ComposeResult:
        """Head, list, filter, footer."""
        yield Block(id="head")
        yield self._list
        yield Input(id="filter", placeholder="filter: words that must be in the line")
        yield Block(id="footer")

    def show(self, look: Look) -> None:
        """Draw a frame."""
        log = filtered(look.snapshot.log, self._filter)
        note = "following" if self._follows else "G follows"
        if self._filter:
            note = f"{len(log)} of {len(look.snapshot.log)}: {self._filter}"
        title: Line = (
            Span(f" log, {plural(len(look.snapshot.log), 'newest line')}  ", "head"),
            Span(note, "warn" if self._filter else "dim"),
        )
        head = [top_line(look), bar_line(look), fit(title, look.width)]
        self.query_one("#head", Block).show(head)
        inner = look.sized(self._list.cells or look.width)
        self._list.list(len(log), lambda y: (log_line(inner, log[y]), False))
        if self._follows:
            self._list.jump(len(log) - self._list.size.height)
            self._list.look_again()
        self.show_footer(look)

    def _scroll(self, by: int) -> None:
        last = max(0, self._list.count - self._list.size.height)
        self._follows = self._list.scroll_offset.y + by >= last
        super()._scroll(by)

    def action_filter(self) -> None:
        """Open the filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.value = self._filter
        # At once: what is typed next belongs there.
        self.set_focus(field)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed."""
        self._filter = event.value
        self.fanout.draw()

    def on_input_submitted(self) -> None:
        """Keep the filter and give the keys back to the list."""
        self.query_one("#filter", Input).display = False
        self.set_focus(None)
        self.fanout.draw()

    def action_back(self) -> None:
        """Clear the filter; without one, back to the rows."""
        field = self.query_one("#filter", Input)
        if not field.display and not self._filter:
            super().action_back()
            return
        field.value = self._filter = ""
        self.on_input_submitted()


class ReportScreen(ListScreen):
    """Completeness, by cause; the files are written from here."""

    KIND = "report"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("report")

    def __init__(self) -> None:
        super().__init__()
        self._made: tuple[float, int] | None = None
        self._head: tuple[Line, ...] = ()
        self._lines: tuple[Line, ...] = ()
        self._asked_after: int | None = None
        """Number of the log's last line when the files were asked for."""

    def show(self, look: Look) -> None:
        """Draw a frame; the report is made once a second, head and all.

        Its figures and those above it are of one moment: they add up.
        """
        inner = look.sized(self._list.cells or look.width)
        moment = (float(int(look.now)), inner.width)
        if moment != self._made or look.over:
            self._made = moment
            self._head = (top_line(look), bar_line(look))
            self._lines = report_lines(inner)
        self.query_one("#head", Block).show(self._head)
        lines = self._lines
        self._list.list(len(lines), lambda y: (lines[y], False))
        if written := self._written(look.snapshot):
            self._asked_after = None
            self.fanout.say(written)
        self.show_footer(look)

    def _written(self, snapshot: Snapshot) -> str:
        """What the log says of the files that were asked for; empty until it does."""
        after = self._asked_after
        if after is None or _last_line(snapshot) <= after:
            return ""
        told = [line.text for line in snapshot.log if line.number > after]
        about = [text for text in told if text.startswith(TOLD)]
        if len(about) < len(WRITTEN):
            return ""
        failed = [one_line(text) for text in about if not text.startswith(TOLD[0])]
        return failed[0] if failed else f"written: {', '.join(WRITTEN)}"

    def action_write(self) -> None:
        """Have `report.json` and `report.md` written."""
        snapshot = self.fanout.snapshot
        if snapshot is not None:
            self._asked_after = _last_line(snapshot)
            folder = snapshot.run.folder
            self.fanout.steer.act(
                Export(()), f"writing {' and '.join(WRITTEN)} to {folder}"
            )


def _last_line(snapshot: Snapshot) -> int:
    return snapshot.log[-1].number if snapshot.log else 0
