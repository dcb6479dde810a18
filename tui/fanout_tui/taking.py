"""How keys are taken: one after the other, each by what is in front by then."""

from textual import events
from textual.app import App
from textual.await_complete import AwaitComplete

from fanout_tui.palette import Palette
from fanout_tui.screens.base import RunScreen
from fanout_tui.screens.dialog import Overlay
from fanout_tui.screens.finding import Finds
from fanout_tui.screens.main import MainScreen
from fanout_tui.widgets.filter import Filter

BOUNCE_S = 0.3
"""A key that closed a dialog and comes again as soon was struck twice."""


def _typed(screen: object, field: object, event: events.Key) -> bool:
    """The key has gone into a filter."""
    return (
        isinstance(screen, Finds)
        and isinstance(field, Filter)
        and screen.take_typed(field, event)
    )


class KeyTaking(App[None]):
    """An app whose screens may come and go between two keys of one read."""

    _struck = ("", 0.0)
    """The key that closed a dialog last, and when."""

    async def on_event(self, event: events.Event) -> None:
        """Take each key at once, by what is in front of the user by then.

        Textual puts it into a screen's queue and looks for its meaning when it comes
        back. Of keys that arrive together, as they do over a slow line, the second
        would go to a screen that the first has closed.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.app_focus = True
            if await self._take(event):
                return
        await super().on_event(event)

    async def _take(self, event: events.Key) -> bool:
        """Do what a key does; False: Textual is to, as where text is typed."""
        key, at = self._struck
        if event.key == key and event.time - at < BOUNCE_S:
            return True
        self._struck = ("", 0.0)
        screen = self.screen
        if not isinstance(screen, RunScreen | Overlay):
            return False
        if not screen.is_mounted or await self._check_bindings(
            event.key, priority=True
        ):
            return True
        if isinstance(screen, RunScreen):
            if _typed(screen, self.focused, event):
                return True
            return await self._check_bindings(event.key)
        screen.take_key(event)
        if self.screen is not screen:
            self._struck = (event.key, event.time)
        return True

    def pop_screen(self) -> AwaitComplete:
        """Go one screen back, never from the rows: nothing is drawn below them."""
        if isinstance(self.screen, MainScreen):
            return AwaitComplete()
        return super().pop_screen()

    def action_command_palette(self) -> None:
        """Every action by its name."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())
