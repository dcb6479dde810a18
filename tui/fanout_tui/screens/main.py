"""The main screen: is it healthy, what holds it up, what needs me."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from fanout.words.model import Row
from fanout_tui.screens.base import FILTER_CSS, bindings_for
from fanout_tui.screens.finding import Finds
from fanout_tui.text import plural
from fanout_tui.view.banner import banner_lines
from fanout_tui.view.gauges import gauge_lines, pool_title, shown_pool
from fanout_tui.view.history import History
from fanout_tui.view.log import tail_lines
from fanout_tui.view.look import Look
from fanout_tui.view.order import BY_KEY, Listing
from fanout_tui.view.picking import NO_ROW, Picking
from fanout_tui.view.sentence import sentence_line
from fanout_tui.view.side import side_lines
from fanout_tui.view.spans import Line, Span, fit
from fanout_tui.view.top import bar_line, top_line
from fanout_tui.widgets.filter import Filter
from fanout_tui.widgets.lines import Block
from fanout_tui.widgets.table import RowTable

SIDE_FROM = 130
SIDE_CELLS = 40
TAIL_FROM = 40
LOW = 16
"""Below this height a banner takes the place of the sentence."""
TAIL_LINES = 6


class MainScreen(Finds):
    """Top lines, gauges, the sentence, the rows."""

    KIND = "main"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("main")
    DEFAULT_CSS = """
    MainScreen Horizontal, MainScreen Vertical { height: 1fr; }
    MainScreen #side { height: 1fr; width: 40; border-left: solid $fan-faint;
        padding-left: 1; display: none; }
    MainScreen #tail { display: none; height: 7; border-top: solid $fan-faint; }
    """ + FILTER_CSS.format(name="MainScreen")

    def __init__(self, picking: Picking, history: History) -> None:
        super().__init__()
        self.picking = picking
        self._history = history
        self._pool: int | None = None
        self._side_wanted = True
        self._table = RowTable(picking, id="rows")

    def compose(self) -> ComposeResult:
        """Blocks above and below the rows; the panel beside them."""
        yield Block(id="head")
        with Horizontal():
            with Vertical():
                yield Block(id="columns")
                yield self._table
            yield Block(id="side", fixed=True)
        yield Block(id="tail", fixed=True)
        yield Filter("filter: text  !not  try>1  why:input")
        yield Block(id="footer")

    def show(self, look: Look) -> None:
        """Draw a frame."""
        self.query_one("#head", Block).show(list(self._head(look)))
        self._show_side(look)
        self._show_tail(look)
        self._table.show(look)
        columns = self.query_one("#columns", Block)
        if not self.picking.order:
            columns.show([self._table.header(look), (), self._empty(look)])
        else:
            columns.show([self._table.header(look)])
        self.show_footer(look)

    def _head(self, look: Look) -> Iterator[Line]:
        yield top_line(look)
        yield bar_line(look)
        yield from gauge_lines(look, self._history, self._pool)
        banner = banner_lines(look)
        if not banner or look.height >= LOW:
            yield sentence_line(look)
        yield from banner

    def _empty(self, look: Look) -> Line:
        if look.snapshot.rows and not self.picking.listing.narrowed:
            text = ""
        elif look.snapshot.rows:
            text = f"  no row fits; {self.picking.listing.undone_by} shows all"
        elif look.over:
            text = "  no partitions: the script asked for none"
        else:
            text = "  no partitions yet: they appear as the script asks for them"
        return fit((Span(text, "dim"),), look.width, look.glyphs.more)

    def _show_side(self, look: Look) -> None:
        side = self.query_one("#side", Block)
        wanted = self._side_wanted and look.width >= SIDE_FROM
        side.display = wanted
        row = self.row()
        if wanted:
            side.styles.width = SIDE_CELLS
            nothing = ((Span(f" {NO_ROW}", "dim"),),)
            inner = look.sized(SIDE_CELLS - 1)
            side.show(nothing if row is None else side_lines(inner, row))

    def _show_tail(self, look: Look) -> None:
        tail = self.query_one("#tail", Block)
        wanted = look.height >= TAIL_FROM and bool(look.snapshot.log)
        tail.display = wanted
        if wanted:
            tail.show(tail_lines(look, TAIL_LINES))

    def row(self) -> Row | None:
        """The row under the cursor."""
        snapshot, cursor = self.fanout.snapshot, self.picking.cursor
        if snapshot is None or cursor is None:
            return None
        return snapshot.rows.get(cursor)

    def after_reorder(self) -> None:
        """Keep what follows the cursor in view."""
        if self.picking.follow:
            self._table.reveal()

    # Looking: none of these sends anything.

    def action_down(self) -> None:
        """One row down."""
        self._move(1)

    def action_up(self) -> None:
        """One row up."""
        self._move(-1)

    def action_page_down(self) -> None:
        """A page down."""
        self._move(self._table.page())

    def action_page_up(self) -> None:
        """A page up."""
        self._move(-self._table.page())

    def action_top(self) -> None:
        """To the first row."""
        self._move(-len(self.picking.order))

    def action_bottom(self) -> None:
        """To the last row."""
        self._move(len(self.picking.order))

    def _move(self, by: int) -> None:
        self._table.move(by)
        self.fanout.draw()

    def action_open(self) -> None:
        """Open the agent under the cursor."""
        if self.row() is None:
            self.fanout.say(NO_ROW)
        else:
            # From here on the cursor stays with it, whatever comes to the top.
            self.picking.go(self.picking.index)
            self.fanout.open_agent()

    def on_row_table_opened(self) -> None:
        """Open the agent that was clicked twice."""
        if self.is_active:
            self.action_open()

    def action_follow(self) -> None:
        """Follow the row as it moves, or hold it in place again."""
        self.picking.follow = not self.picking.follow
        self.fanout.say(
            "following the row as it moves"
            if self.picking.follow
            else "the row is held in place"
        )
        self._reorder()

    def action_side(self) -> None:
        """Side panel on or off."""
        self._side_wanted = not self._side_wanted
        if self.size.width < SIDE_FROM:
            self.fanout.say(f"the side panel needs {SIDE_FROM} columns")
        self.call_after_refresh(self.fanout.draw)
        self.fanout.draw()

    def action_pool(self) -> None:
        """Gauges of the next pool."""
        snapshot = self.fanout.snapshot
        if snapshot is None or not snapshot.pools:
            return
        shown = self.fanout.look()
        now = shown_pool(shown, self._pool) if shown else None
        at = snapshot.pools.index(now) if now in snapshot.pools else -1
        self._pool = (at + 1) % len(snapshot.pools)
        self.fanout.say(f"pool {pool_title(snapshot.pools[self._pool])}")

    def action_mark(self) -> None:
        """Mark the row and go on to the next."""
        if self.row() is None:
            self.fanout.say(NO_ROW)
        self.picking.mark()
        self._move(1)

    def action_mark_all(self) -> None:
        """Mark every row that is listed."""
        self.picking.marks.update(self.picking.order)
        self.fanout.say(f"{plural(len(self.picking.marks), 'row')} marked; U unmarks")

    def action_unmark(self) -> None:
        """Take all marks away."""
        self.picking.marks.clear()
        self.fanout.draw()

    def action_sort(self) -> None:
        """Sort by the next column."""
        listing = self.picking.listing
        self._list(Listing(listing.sort.after, False, listing.filter, listing.statuses))
        self.fanout.say(f"sorted by {self.picking.listing.sort.value}")

    def action_reverse(self) -> None:
        """Turn the order around."""
        was = self.picking.listing
        self._list(Listing(was.sort, not was.reverse, was.filter, was.statuses))

    def action_only_1(self) -> None:
        """Running rows."""
        self._only(0)

    def action_only_2(self) -> None:
        """Throttled rows."""
        self._only(1)

    def action_only_3(self) -> None:
        """Queued rows."""
        self._only(2)

    def action_only_4(self) -> None:
        """Missing rows."""
        self._only(3)

    def action_only_5(self) -> None:
        """Done rows."""
        self._only(4)

    def action_only_0(self) -> None:
        """Rows of every status."""
        was = self.picking.listing
        self._list(Listing(was.sort, was.reverse, was.filter))

    def _only(self, number: int) -> None:
        was = self.picking.listing
        shown = was.toggled(BY_KEY[number])
        self._list(Listing(was.sort, was.reverse, was.filter, shown))
        words = ", ".join(s.value for s in BY_KEY if s in shown) or "every status"
        self.fanout.say(f"showing {words}: {plural(len(self.picking.order), 'row')}")

    def _list(self, listing: Listing) -> None:
        self.picking.narrow(listing)
        self._reorder()
        self._table.reveal()

    def _reorder(self) -> None:
        self.fanout.reorder()
        self.fanout.draw()

    def words(self) -> str:
        """Return the words of the filter."""
        return self.picking.listing.filter

    def find(self, words: str) -> None:
        """List the rows that have these words."""
        was = self.picking.listing
        self._list(Listing(was.sort, was.reverse, words, was.statuses))

    def action_back(self) -> None:
        """Close the filter and show all rows again."""
        if self.typing:
            self.close_filter()
        was = self.picking.listing
        self._list(Listing(was.sort, was.reverse))

    def action_copy(self) -> None:
        """Send the row to the clipboard as text."""
        self.fanout.copy_row(self.row(), as_json=False)

    def action_copy_json(self) -> None:
        """Send the row to the clipboard as JSON."""
        self.fanout.copy_row(self.row(), as_json=True)

    # Acting: these send commands, or ask first.

    def action_pause(self) -> None:
        """Pause, or resume."""
        self.fanout.steer.toggle_pause()

    def action_more(self) -> None:
        """Ceiling up by one."""
        self.fanout.steer.ceiling(1)

    def action_fewer(self) -> None:
        """Ceiling down by one."""
        self.fanout.steer.ceiling(-1)

    def action_more_5(self) -> None:
        """Ceiling up by five."""
        self.fanout.steer.ceiling(5)

    def action_fewer_5(self) -> None:
        """Ceiling down by five."""
        self.fanout.steer.ceiling(-5)

    def action_auto(self) -> None:
        """Ceiling back to auto."""
        self.fanout.steer.ceiling(None)

    def action_requeue(self) -> None:
        """Ask, then reopen the marked rows or this one."""
        snapshot = self.fanout.snapshot
        if snapshot is not None:
            self.fanout.steer.ask_requeue(self.picking.chosen(snapshot.rows))

    def action_cancel(self) -> None:
        """Ask, then give the row up."""
        self.fanout.steer.ask_cancel(self.row())

    def action_quit(self) -> None:
        """Leave; ask how while the run goes on."""
        self.fanout.steer.ask_quit()
