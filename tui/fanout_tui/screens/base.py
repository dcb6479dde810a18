"""What all screens share: they are shown snapshots; keys come from one table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import Screen

from fanout_tui.keys import LIVE
from fanout_tui.keytable import bound_on
from fanout_tui.view.footer import footer_line, message_line
from fanout_tui.view.look import Look
from fanout_tui.widgets.lines import Block, LineList

if TYPE_CHECKING:
    from fanout_tui.app import FanoutApp


@dataclass(slots=True)
class Place:
    """Where one was in a list, for coming back to it."""

    filter: str = ""
    picked: int | None = None
    """What had the cursor, as the screen counts."""
    top: int = 0
    """The first line in view."""


FILTER_CSS = """
{name} #filter {{ height: 1; border: none; padding: 0 1; display: none;
    background: $fan-band; }}
"""


def bindings_for(screen: str) -> list[BindingType]:
    """The bindings of a screen, from the key table."""
    return [
        Binding(
            ",".join(key.keys),
            key.name,
            key.does,
            show=False,
            priority=key.name == "interrupt",
        )
        for key in bound_on(screen)
    ]


def _nothing() -> None:
    """Stands for what a driver without a mouse cannot do."""


Answer = TypeVar("Answer")


class ClosesOnce(Screen[Answer]):
    """A screen that closes itself, never another one.

    Textual's `dismiss` pops whatever is in front; asked twice, it would take the
    screen below along, and there is nothing to draw below the rows.
    """

    dismissed = False
    """It is closed, or about to be: what still comes is not for it."""

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close, if this is in front and has not been closed yet."""
        if self.dismissed or not self.is_active:
            return AwaitComplete()
        self.dismissed = True
        return super().dismiss(result)


class RunScreen(ClosesOnce[None]):
    """A screen that shows a run."""

    KIND: ClassVar[str] = "main"
    AUTO_FOCUS = ""
    DEFAULT_CSS = "RunScreen { layout: vertical; overflow: hidden; }"

    @property
    def fanout(self) -> "FanoutApp":
        """The app, by its own type."""
        return cast("FanoutApp", self.app)

    def show(self, look: Look) -> None:
        """Draw a frame."""
        raise NotImplementedError

    def show_footer(self, look: Look) -> None:
        """The keys, or the answer to the last one."""
        footer = self.query_one("#footer", Block)
        said = self.fanout.said
        if said is not None:
            footer.show([message_line(said, look.width)])
            return
        paused = look.snapshot.state == "paused" and look.how == LIVE
        words = {"pause": "resume"} if paused else {}
        footer.show([footer_line(self.KIND, look, words)])

    def on_resize(self) -> None:
        """Draw anew in the new room."""
        self.call_after_refresh(self.fanout.draw)

    def on_line_list_resized(self) -> None:
        """Draw anew in the list's new room."""
        self.fanout.draw()

    def on_screen_resume(self) -> None:
        """Draw at once when this screen comes to the front."""
        self.call_after_refresh(self.fanout.draw)

    def action_interrupt(self) -> None:
        """Ctrl-C: drain first, stop at once the second time."""
        self.fanout.steer.interrupt()

    def action_help(self) -> None:
        """Show the keys of this screen."""
        self.fanout.show_help(self.KIND)

    def action_mouse(self) -> None:
        """Give the mouse to the terminal, for selecting text, or take it back."""
        driver, self.fanout.mouse = self.app._driver, not self.fanout.mouse  # noqa: SLF001
        if self.fanout.mouse:
            getattr(driver, "_enable_mouse_support", _nothing)()
        else:
            getattr(driver, "_disable_mouse_support", _nothing)()
        whose = "the screen's" if self.fanout.mouse else "the terminal's: select freely"
        self.fanout.say(f"the mouse is {whose}")

    def action_palette(self) -> None:
        """Every action by its name."""
        self.app.action_command_palette()

    def action_report(self) -> None:
        """Go to the report."""
        self.fanout.open_report()

    def action_log(self) -> None:
        """Go to the log."""
        self.fanout.open_log()

    def action_back(self) -> None:
        """Back to where one came from."""
        self.dismiss()

    def action_back_q(self) -> None:
        """Back, by the key that leaves the main screen."""
        self.action_back()

    def action_answer(self) -> None:
        """Show the question that rows wait for."""
        self.fanout.steer.ask_money(again=True)

    def action_requeue_all(self) -> None:
        """Ask, then reopen all missing rows."""
        self.fanout.steer.ask_requeue(None)


class ScrollScreen(RunScreen):
    """A screen that is one long list of lines; subclasses say how it scrolls."""

    _list: LineList

    def _scroll(self, by: int) -> None:
        """Move by so many lines, as far as there are any."""
        raise NotImplementedError

    def action_down(self) -> None:
        """One line down."""
        self._scroll(1)

    def action_up(self) -> None:
        """One line up."""
        self._scroll(-1)

    def action_page_down(self) -> None:
        """A page down."""
        self._scroll(self._list.page())

    def action_page_up(self) -> None:
        """A page up."""
        self._scroll(-self._list.page())

    def action_top(self) -> None:
        """To the first line."""
        self._scroll(-self._list.count)

    def action_bottom(self) -> None:
        """To the last line."""
        self._scroll(self._list.count)
