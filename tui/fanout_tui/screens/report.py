"""Completeness, by cause; what is missing is opened, and files written, from here."""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from fanout.words.commands import Export
from fanout.words.snapshot import Snapshot
from fanout_tui.screens.base import Place, ScrollScreen, bindings_for
from fanout_tui.text import one_line
from fanout_tui.view.look import Look
from fanout_tui.view.report import FILES, NOTHING, ReportLine, report_lines
from fanout_tui.view.spans import Line, picked_out
from fanout_tui.view.top import bar_line, top_line
from fanout_tui.widgets.lines import Block, LineList

TOLD = ("wrote ", "cannot write ")
"""How lines of the log begin that say what became of a report."""


class ReportScreen(ScrollScreen):
    """The report below the top lines; the cursor goes from one thing to the next."""

    KIND = "report"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("report")

    def __init__(self, place: Place) -> None:
        """`place.picked` counts what can be opened, from the top."""
        super().__init__()
        self._place = place
        self._list = LineList(id="list")
        self._made: tuple[float, int] | None = None
        self._head: tuple[Line, ...] = ()
        self._lines: tuple[ReportLine, ...] = ()
        self._asked_after: int | None = None
        """Number of the log's last line when the files were asked for."""

    def compose(self) -> ComposeResult:
        """Head, list, footer."""
        yield Block(id="head")
        yield self._list
        yield Block(id="footer")

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
        lines, at = self._lines, self._at()

        def line(y: int) -> tuple[Line, bool]:
            made = lines[y].line
            return picked_out(made, look.glyphs.cursor, picked=y == at)

        self._list.list(len(lines), line)
        if self._place.top:
            self._list.jump(self._place.top)
            self._place.top = 0
        if written := self._written(look.snapshot):
            self._asked_after = None
            self.fanout.say(written)
        self.show_footer(look)

    @property
    def _picked(self) -> int:
        return self._place.picked or 0

    def _places(self) -> list[int]:
        """Lines that can be opened."""
        return [y for y, one in enumerate(self._lines) if one.opens is not None]

    def _at(self) -> int:
        """The line under the cursor; -1 where nothing can be opened."""
        places = self._places()
        return places[min(self._picked, len(places) - 1)] if places else -1

    def _scroll(self, by: int) -> None:
        if abs(by) == 1 and self._step(by):
            return
        last = max(0, self._list.count - self._list.size.height)
        self._list.jump(min(last, self._list.scroll_offset.y + by))
        self._keep_in_view()
        self.fanout.draw()

    def _step(self, by: int) -> bool:
        """Move the cursor, if what comes next is not farther than a page."""
        places = self._places()
        top, size = self._list.scroll_offset.y, self._list.size.height
        picked = min(self._picked, len(places) - 1) + by
        if not 0 <= picked < len(places):
            return False
        y = places[picked]
        if not top - size <= y < top + 2 * size:
            return False
        self._place.picked = picked
        self._list.bring(y)
        self.fanout.draw()
        return True

    def _keep_in_view(self) -> None:
        """After scrolling, the cursor is on something that is seen, if there is any."""
        top, size = self._list.scroll_offset.y, self._list.size.height
        places = self._places()
        seen = [n for n, y in enumerate(places) if top <= y < top + size]
        if seen and self._picked not in seen:
            self._place.picked = seen[0] if self._picked < seen[0] else seen[-1]

    def action_open(self) -> None:
        """Open the agent under the cursor, or list the rows of its cause."""
        at = self._at()
        top, size = self._list.scroll_offset.y, self._list.size.height
        opens = self._lines[at].opens if top <= at < top + size else None
        if opens is None:
            self.fanout.say(NOTHING)
        elif isinstance(opens, str):
            self.fanout.list_only(opens)
        else:
            self._place.top = top
            self.fanout.open_row(opens, partial(self.fanout.open_report, again=True))

    def _written(self, snapshot: Snapshot) -> str:
        """What the log says of the files that were asked for; empty until it does."""
        after = self._asked_after
        if after is None or _last_line(snapshot) <= after:
            return ""
        told = [line.text for line in snapshot.log if line.number > after]
        about = [text for text in told if text.startswith(TOLD)]
        if len(about) < len(FILES):
            return ""
        failed = [one_line(text) for text in about if not text.startswith(TOLD[0])]
        return failed[0] if failed else f"written: {', '.join(FILES)}"

    def action_write(self) -> None:
        """Have the report written in every format."""
        snapshot = self.fanout.snapshot
        if snapshot is not None:
            self._asked_after = _last_line(snapshot)
            folder = snapshot.run.folder
            self.fanout.steer.act(
                Export(()), f"writing {len(FILES)} reports to {one_line(folder)}"
            )


def _last_line(snapshot: Snapshot) -> int:
    return snapshot.log[-1].number if snapshot.log else 0
