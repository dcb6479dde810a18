"""The Textual app: ten times a second it takes the newest snapshot and draws it.

It pulls, so a thousand events a second cost it ten frames; the order of the rows
and the forecasts are made anew once a second. It owns no run state: a key either
changes how one looks, or sends a command.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import Monochrome, NoColor
from textual.screen import Screen

from fanout.words.model import Row, RowId
from fanout.words.snapshot import CRASHED, Snapshot
from fanout_tui.bridge import Player, RunHandle, Viewing
from fanout_tui.crash import keep_traceback
from fanout_tui.guard import install_guard
from fanout_tui.holding import Holding
from fanout_tui.keys import LIVE
from fanout_tui.palette import commands
from fanout_tui.screens.agent import AgentScreen
from fanout_tui.screens.base import Place, RunScreen
from fanout_tui.screens.dialog import AskScreen, HelpScreen
from fanout_tui.screens.log import LogScreen
from fanout_tui.screens.main import MainScreen
from fanout_tui.screens.report import ReportScreen
from fanout_tui.stdio import Terminal
from fanout_tui.steering import SIGNAL_EXITS, Steering
from fanout_tui.taking import KeyTaking
from fanout_tui.theme import ANSI, DARK, THEMES
from fanout_tui.title import Title
from fanout_tui.view.copying import row_json, row_text
from fanout_tui.view.forecast import eta
from fanout_tui.view.glyphs import ASCII, UNICODE
from fanout_tui.view.history import History
from fanout_tui.view.look import OVER, Look, moment, same_end
from fanout_tui.view.order import Listing
from fanout_tui.view.picking import NO_ROW, Picking
from fanout_tui.view.reason import doing

TICK_S = 0.1
PAINT_S = 0.2
"""A frame that was drawn is on the terminal by then."""
SAID_S = 4.0
MANY_ROWS = 5_000


class FanoutApp(KeyTaking):
    """The screen of one run."""

    TITLE = "fanout-tui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
    ]
    CSS = "RunScreen { background: $background; }"

    def __init__(
        self,
        handle: RunHandle,
        *,
        clock: Callable[[], float],
        ascii: bool = False,  # noqa: A002
        exit_when_done: bool = False,
        no_color: bool = False,
        ticking: bool = True,
        prints: Callable[[str], None] | None = None,
        terminal: Terminal | None = None,
        viewing: Viewing | None = None,
        player: Player | None = None,
        theme: str = DARK.name,
        painted: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        install_guard()
        super().__init__(**options)
        self.handle = handle
        self.snapshot: Snapshot | None = None
        self.said: str | None = None
        self.left = ""
        """How the screen was left; empty while it is up."""
        self.ascii = ascii
        self.terminal = terminal
        """The real one, for a pager; None where there is none."""
        self.mouse = True
        self.no_color = self.no_color or no_color
        self._clock = clock
        self._exit_when_done = exit_when_done
        self._ticking = ticking
        self._prints = prints
        self._said_until = 0.0
        self.leaving = ""
        """How the run is being stopped by this screen; empty while it is not."""
        self._now = 0.0
        self._next_slow = 0.0
        self._next_eta = 0.0
        self._frozen = False
        self._eta: float | None = None
        self.holding = Holding(self, terminal)
        self._viewing = viewing
        self._painted = painted
        self.steer = Steering(self, viewing, player)
        self._title = Title(self._to_terminal)
        self.picking = Picking()
        self.history = History()
        self._places = {"log": Place(), "report": Place()}
        for one in THEMES:
            self.register_theme(one)
        self.theme = ANSI.name if self.no_color else theme
        if self.no_color:
            # Textual would put greys there, which are colours too.
            kept = [f for f in self._filters if not isinstance(f, Monochrome)]
            self._filters = [*kept, NoColor()]

    # Frames.

    def on_mount(self) -> None:
        """Begin to draw."""
        self._title.begin()
        self.push_screen(MainScreen(self.picking, self.history))
        if self._ticking:
            self.set_interval(TICK_S, self.tick)
        self.call_after_refresh(self.tick)

    def tick(self) -> None:
        """Take the newest snapshot, draw it, ask for the next."""
        if self.steer.nobody_looks():
            self.leave("signal")
            return
        newest = self.handle.latest()
        over = newest is not None and newest.state in OVER
        fresh = newest is not self.snapshot and not (
            over and newest is not None and same_end(self.snapshot, newest)
        )
        # Rows that have just appeared are shown with the bar that counts them.
        self._next_slow *= not _has_first_rows(self.snapshot, newest)
        self.snapshot = newest
        now = self._clock()
        if newest is not None and (fresh or not over):
            self._now = moment(newest, self._run_now())
        if self.said is not None and now >= self._said_until:
            self.said = None
            fresh = True
        if not self._may_draw(over=over):
            return
        if newest is None or (over and not fresh):
            if newest is None or now >= self._next_slow:
                self.handle.ask()
                self._next_slow = now + 1.0
            return
        self.handle.ask()
        if now >= self._next_slow or (over and fresh):
            self._slow(newest, now)
        self.steer.ask_money()
        self.draw()

    def _run_now(self) -> float:
        """The wall-clock second of the run: of a replay, the one that is shown."""
        return self._clock() if self._viewing is None else self._viewing.now()

    def _slow(self, newest: Snapshot, now: float) -> None:
        """Once a second: what reads every row."""
        self._next_slow = now + 1.0
        self.history.take(newest)
        self.reorder()
        if now < self._next_eta:
            return
        many = len(newest.rows) > MANY_ROWS
        self._next_eta = now + (5.0 if many else 1.0)
        self._eta = eta(newest, self._run_now())
        if many and not self._frozen:
            self._frozen = True
            _freeze_heap()

    def _may_draw(self, *, over: bool) -> bool:
        """Not when it leaves, nor on a terminal that does not read."""
        left = self._leave_when_over(over=over)
        if held := not left and self.holding.is_on():
            self.handle.ask()
        return not (left or held)

    def _leave_when_over(self, *, over: bool) -> bool:
        """Close once the run has ended, where somebody asked for it."""
        end = self.snapshot.end if self.snapshot else None
        if self.handle.finished() and not over:
            # The engine is gone without a last snapshot: nothing more will come.
            self.leave("ended")
            return True
        if end is None and not (over and self.handle.finished()):
            return False
        # A live run's engine lingers for the screen; who ended it ends that too.
        # Whoever looks at one that has ended long since wants to see it.
        live = self._viewing is None
        signalled = live and end is not None and end.exit_code in SIGNAL_EXITS
        closed = live and self.handle.finished()
        # Whoever comes back to the terminal is to find what has happened.
        closed &= self.snapshot is None or self.snapshot.state != CRASHED
        if not (self.leaving or signalled or self._exit_when_done or closed):
            return False
        self.leave(self.leaving or ("signal" if signalled else "done"))
        return True

    def look(self) -> Look | None:
        """How this frame is looked at."""
        if self.snapshot is None:
            return None
        return Look(
            self.snapshot,
            self._now,
            self.size.width,
            self.size.height,
            ASCII if self.ascii else UNICODE,
            self._eta,
            self.how,
            "" if self._viewing is None else self._viewing.note(),
        )

    @property
    def how(self) -> str:
        """How the run is looked at: `live`, `watch` or `replay`."""
        return LIVE if self._viewing is None else self._viewing.word

    def draw(self) -> None:
        """Draw the frontmost screen, if it shows the run."""
        look = self.look()
        screen = next((s for s in reversed(self.screen_stack) if _ready(s)), None)
        if look is not None and isinstance(screen, RunScreen):
            screen.show(look)
            if self._painted is not None:
                self.set_timer(PAINT_S, self._painted)
                self._painted = None
        asks = isinstance(self.screen, AskScreen)
        if isinstance(self.screen, AskScreen) and self.screen.is_current:
            self.screen.refresh_figures()
        if self.snapshot is not None:
            self._title.show(self.snapshot, asks=asks)

    def _to_terminal(self, text: str) -> None:
        """Write what is no part of a frame, where there is a terminal."""
        if self.terminal is not None and self._driver is not None:
            self._driver.write(text)

    def on_app_blur(self) -> None:
        """Somebody looks elsewhere."""
        self._title.focused = False

    def on_app_focus(self) -> None:
        """Somebody looks here again."""
        self._title.focused = True

    def reorder(self) -> None:
        """List the rows anew."""
        if self.snapshot is None:
            return
        over = self.snapshot.state in OVER
        line = (row for gate in self.snapshot.gates.values() for row in gate.waiting)
        look = self.look()
        self.picking.reorder(
            self.snapshot.rows,
            self._run_now(),
            over=over,
            line=line,
            reason=lambda row: "" if look is None else doing(look, row).text,
        )
        main = next((s for s in self.screen_stack if isinstance(s, MainScreen)), None)
        if main is not None and main.is_mounted:
            main.after_reorder()

    def say(self, text: str) -> None:
        """Answer a key, for a few seconds, where the footer is."""
        self.said = text
        self._said_until = self._clock() + SAID_S
        self.draw()

    # Ways about.

    def action_interrupt(self) -> None:
        """Ctrl-C on any screen, dialogs included."""
        if isinstance(self.screen, AskScreen):
            self.screen.dismiss(None)
        self.steer.interrupt()

    def action_leave(self) -> None:
        """Ctrl-Q: as q."""
        if not isinstance(self.screen, AskScreen):
            self.steer.ask_quit()

    def leave(self, how: str) -> None:
        """Take the screen down."""
        self.left = self.left or how
        self.exit()

    def open_agent(self, back: Callable[[], None] | None = None) -> None:
        """Go to the agent under the cursor; `back` is what leaving it does."""
        self._go(AgentScreen(self.picking, back))

    def open_row(self, row: RowId, back: Callable[[], None]) -> None:
        """Go to this agent; the cursor goes there too."""
        if not self.picking.pick(row):
            # What hides it was asked for; who asks for the row wants to see it more.
            self.picking.narrow(Listing(self.picking.listing.sort))
            self.reorder()
            self.picking.pick(row)
        self.open_agent(back)

    def list_only(self, words: str) -> None:
        """Back to the rows, those that a filter leaves."""
        self.picking.narrow(Listing(self.picking.listing.sort, filter=words))
        self.reorder()
        rows = self.snapshot.rows if self.snapshot is not None else ()
        self.say(f"{self.picking.narrowed(len(rows))}; esc shows all rows")
        if isinstance(self.screen, RunScreen):
            self.screen.dismiss()

    def open_report(self, *, again: bool = False) -> None:
        """Go to the report; `again`: to where one was in it."""
        self._places["report"] = self._places["report"] if again else Place()
        self._go(ReportScreen(self._places["report"]))

    def open_log(self, *, again: bool = False) -> None:
        """Go to the log; `again`: to where one was in it."""
        self._places["log"] = self._places["log"] if again else Place()
        self._go(LogScreen(self._places["log"]))

    def _go(self, screen: RunScreen) -> None:
        """Sub-screens replace each other, so that esc always leads to the rows."""
        if isinstance(self.screen, RunScreen) and self.screen.KIND != "main":
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def show_help(self, kind: str) -> None:
        """The keys of a screen."""
        self.push_screen(HelpScreen(kind, ASCII if self.ascii else UNICODE, self.how))

    def copy_row(self, row: Row | None, *, as_json: bool) -> None:
        """Send a row to the clipboard; no terminal says whether it took it."""
        if row is None or self.snapshot is None:
            self.say(NO_ROW)
            return
        look = self.look()
        assert look is not None
        self.copy_to_clipboard(row_json(row) if as_json else row_text(look, row))
        folder = self.snapshot.run.folder
        self.say(f"sent to the clipboard (also in {folder})")

    def get_system_commands(self, screen: Screen[Any]) -> Iterator[SystemCommand]:
        """What the palette offers."""
        return commands(self, screen, self.how)

    # Ends.

    def _print(self, text: str, stderr: bool = False) -> None:
        """A `print` under the screen becomes a log line, like all other output."""
        if self._prints is None:
            super()._print(text, stderr)
        else:
            self._prints(text)

    def panic(self, *_renderables: Any) -> None:
        """The driver failed, as it does when the terminal is gone."""
        self.left = "crashed"
        self._close_messages_no_wait()

    def _handle_exception(self, error: Exception) -> None:
        """Go down at once: Textual's own traceback with locals takes seconds."""
        self.left = "crashed"
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
            newest = self.handle.latest()
            keep_traceback(error, newest.run.folder if newest else None)
        self._close_messages_no_wait()


def _freeze_heap() -> None:
    """Leave what was loaded out of later collections: each would cost 80 ms.

    The oldest objects are not looked through once more for that: it would hold the
    engine up for as long.
    """
    gc.collect(1)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _has_first_rows(before: Snapshot | None, after: Snapshot | None) -> bool:
    """Rows are there, and were not before."""
    return bool(after and after.rows) and not (before and before.rows)


def _ready(screen: Screen[Any]) -> bool:
    return isinstance(screen, RunScreen) and screen.is_mounted
