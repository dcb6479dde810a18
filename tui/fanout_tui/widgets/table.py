"""The rows of a run; ten or fifty thousand cost the same."""

from textual.events import Click
from textual.message import Message

from fanout_tui.view.columns import Columns, columns
from fanout_tui.view.look import Look
from fanout_tui.view.picking import Picking
from fanout_tui.view.rows import Picked, header_line, row_line
from fanout_tui.view.spans import EMPTY, Line
from fanout_tui.widgets.lines import LineList

TWICE = 2


class RowTable(LineList):
    """Draws what `Picking` lists, and scrolls so that the cursor is seen."""

    class Opened(Message):
        """A row was clicked twice."""

    def __init__(self, picking: Picking, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.picking = picking
        self._look: Look | None = None
        self._columns: Columns = columns(80)

    def show(self, look: Look) -> None:
        """Draw the rows as they are now."""
        self._look = look
        self._columns = columns(self.cells)
        self.list(len(self.picking.order), self._line)

    def header(self, look: Look) -> Line:
        """The line above the rows."""
        listing = self.picking.listing
        narrowed = self.picking.narrowed(look.snapshot.counts.expected)
        return header_line(
            look,
            self._columns,
            listing.sort,
            reverse=listing.reverse,
            narrowed=narrowed,
        )

    def _line(self, y: int) -> tuple[Line, bool]:
        look, picking = self._look, self.picking
        if look is None or y >= len(picking.order):
            return EMPTY, False
        row = look.snapshot.rows.get(picking.order[y])
        if row is None:
            return EMPTY, False
        picked = Picked(cursor=y == picking.index, marked=row.id in picking.marks)
        return row_line(look, self._columns, row, picked), picked.cursor

    def reveal(self) -> None:
        """Scroll as little as needed for the cursor to be in view."""
        self.bring(self.picking.index)

    def move(self, by: int) -> None:
        """Move the cursor."""
        self.picking.move(by)
        self.reveal()
        self.look_again()

    def on_click(self, event: Click) -> None:
        """Pick the row that was clicked; twice opens it."""
        self.picking.go(self.scroll_offset.y + event.y)
        self.look_again()
        if event.chain == TWICE:
            self.post_message(self.Opened())
