"""One agent, with its conversation.

The conversation may be read from files, so a worker thread fetches it; the list
follows its end until the user scrolls up.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.worker import get_current_worker

from fanout.words.model import Row, RowId
from fanout_tui.bridge import TranscriptLine
from fanout_tui.pager import show as show_in_pager
from fanout_tui.screens.base import FILTER_CSS, Place, bindings_for
from fanout_tui.screens.finding import FindScreen
from fanout_tui.view.agent import (
    agent_lines,
    found_in,
    live_line,
    tabs_line,
    transcript_lines,
    transcript_text,
)
from fanout_tui.view.look import Look
from fanout_tui.view.picking import Picking
from fanout_tui.view.spans import Line
from fanout_tui.view.top import top_line
from fanout_tui.widgets.lines import Block, LineList

RELOAD_S = 1.0
FOLLOWED = frozenset({0, 3})
"""Tabs that grow at their end."""


class AgentScreen(FindScreen):
    """The head, four tabs, and the lines of the chosen one."""

    KIND = "agent"
    PLACEHOLDER = "find: words that must be in it"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("agent")
    DEFAULT_CSS = FILTER_CSS.format(name="AgentScreen")

    def __init__(
        self, picking: Picking, back: Callable[[], None] | None = None
    ) -> None:
        """`back` is what leaving does; None: to the rows."""
        super().__init__(Place())
        self._picking = picking
        self._back = back
        self._list = LineList(id="transcript")
        self._tab = 0
        self._entries: Sequence[TranscriptLine] | None = None
        self._of: RowId | None = None
        self._loaded: Row | None = None
        self._loaded_at = 0.0
        self._saying: TranscriptLine | None = None
        """What the answer under way has said when it was last heard of."""
        self._drawn: tuple[int, int, int, str] | None = None
        self._lines: list[Line] = []
        self._at_end = True

    def leave(self) -> None:
        """Back to where one came from."""
        if self._back is None:
            self.dismiss()
        else:
            self._back()

    def show(self, look: Look) -> None:
        """Draw a frame; fetch the conversation again when it may have grown."""
        row = self._row(look)
        if row is None:
            return
        self._reload(look, row)
        head = [
            top_line(look),
            *agent_lines(look, row, self._picking.place()),
            tabs_line(look, self._tab, self._note()),
        ]
        self.query_one("#head", Block).show(head)
        self._show_lines(look.sized(self._list.cells or look.width), row)
        self.show_footer(look)

    def _row(self, look: Look) -> Row | None:
        # Where no row is listed any more, it is the one that was shown.
        row = self._picking.cursor or self._of
        return look.snapshot.rows.get(row) if row is not None else None

    def _note(self) -> str:
        if self._entries is None:
            return "reading"
        if self._place.filter:
            return f"with {self._place.filter}"
        return "following" if self._at_end else "G follows"

    def _show_lines(self, look: Look, row: Row) -> None:
        entries = self._entries or ()
        drawn = (len(entries), self._tab, look.width, self._place.filter)
        if drawn != self._drawn:
            self._drawn = drawn
            self._lines = self._wrapped(look, entries)
        self._saying = live_line(look, row) or self._saying
        lines = [*self._lines, *self._said(look)]
        self._list.list(len(lines), lambda y: (lines[y], False))
        if self._at_end:
            self._list.jump(len(lines) - self._list.size.height)

    def _said(self, look: Look) -> list[Line]:
        """What is being said, made anew in each frame; all before it stays."""
        if self._saying is None or self._tab != 0:
            return []
        return self._wrapped(look, [self._saying])

    def _wrapped(self, look: Look, entries: Sequence[TranscriptLine]) -> list[Line]:
        found = found_in(entries, self._place.filter)
        start = look.snapshot.run.started_at
        return transcript_lines(look, found, self._tab, start)

    def _reload(self, look: Look, row: Row) -> None:
        """Fetch it when the row changed, once a second: it reads the journal."""
        if self._of != row.id:
            self._of, self._entries, self._drawn = row.id, None, None
            self._saying = None
            self._at_end = self._tab in FOLLOWED
        elif row is self._loaded or look.now - self._loaded_at < RELOAD_S:
            return
        self._loaded, self._loaded_at = row, look.now
        self.run_worker(
            lambda: self._fetch(row.id), thread=True, exclusive=True, group="transcript"
        )

    def _fetch(self, row: RowId) -> None:
        """In a worker thread: it may read files."""
        worker = get_current_worker()
        try:
            entries = self.fanout.handle.transcript(row)
        except (OSError, ValueError, LookupError) as error:
            entries = [
                TranscriptLine(self._loaded_at, "note", f"not readable: {error}")
            ]
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, row, entries)

    def _take(self, row: RowId, entries: Sequence[TranscriptLine]) -> None:
        if row == self._of:
            # What was being said is among them once it was said to its end.
            self._entries, self._saying, self._drawn = entries, None, None
            self.fanout.draw()

    def _scroll(self, by: int) -> None:
        top = self._list.scroll_offset.y + by
        last = max(0, self._list.count - self._list.size.height)
        self._at_end = top >= last
        self._list.jump(min(top, last))
        self.fanout.draw()

    def action_next(self) -> None:
        """The next agent in the list."""
        self._picking.move(1)
        self.fanout.draw()

    def action_previous(self) -> None:
        """The agent before this one."""
        self._picking.move(-1)
        self.fanout.draw()

    def action_tab_1(self) -> None:
        """The whole conversation."""
        self._choose(0)

    def action_tab_2(self) -> None:
        """The prompt."""
        self._choose(1)

    def action_tab_3(self) -> None:
        """The last answer."""
        self._choose(2)

    def action_tab_4(self) -> None:
        """Calls and refusals."""
        self._choose(3)

    def _choose(self, tab: int) -> None:
        self._tab = tab
        self._at_end = tab in FOLLOWED
        if not self._at_end:
            self._list.jump(0)
        self.fanout.draw()

    def action_pager(self) -> None:
        """All of the transcript in the user's pager."""
        text = transcript_text(self._entries or ())
        away = self.fanout.steer.called_away
        failed = show_in_pager(self.app, self.fanout.terminal, text, away)
        self.fanout.say(failed or "back from the pager")

    def _shown(self) -> Row | None:
        snapshot = self.fanout.snapshot
        if snapshot is None or self._of is None:
            return None
        return snapshot.rows.get(self._of)

    def action_copy(self) -> None:
        """Send the row to the clipboard as text."""
        self.fanout.copy_row(self._shown(), as_json=False)

    def action_copy_json(self) -> None:
        """Send the row to the clipboard as JSON."""
        self.fanout.copy_row(self._shown(), as_json=True)

    def action_pause(self) -> None:
        """Pause, or resume, the run."""
        self.fanout.steer.toggle_pause()

    def action_requeue(self) -> None:
        """Ask, then reopen this row."""
        row = self._shown()
        self.fanout.steer.ask_requeue([row] if row else [])

    def action_cancel(self) -> None:
        """Ask, then give the row up."""
        self.fanout.steer.ask_cancel(self._shown())
