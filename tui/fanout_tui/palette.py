"""Every action by its name, made from the key table."""

from collections.abc import Callable, Iterator

from textual import on
from textual.app import App, SystemCommand
from textual.command import CommandPalette
from textual.widgets import Input, OptionList

from fanout_tui.keytable import keys_on
from fanout_tui.screens.base import ClosesOnce, RunScreen
from fanout_tui.theme import THEMES


class Palette(CommandPalette, ClosesOnce[None]):
    """Textual's palette; what was chosen runs once, however often enter is hit."""

    # An emoji: terminals draw it as wide as they like, and it is no ASCII.
    DEFAULT_CSS = "Palette SearchIcon { display: none; }"

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def once(self, event: Input.Submitted | OptionList.OptionSelected) -> None:
        """Keep from Textual's own handlers what comes after the choice."""
        if self.dismissed:
            event.stop()
            event.prevent_default()


def commands(app: App[None], screen: object, how: str) -> Iterator[SystemCommand]:
    """What the palette offers on a screen: its keys, and the themes."""
    if isinstance(screen, RunScreen):
        for key in keys_on(screen.KIND, how):
            action = getattr(screen, f"action_{key.name}")
            yield SystemCommand(f"{key.does} ({key.shown})", key.group, action)
    for theme in THEMES:
        title = f"theme {theme.name.removeprefix('fanout-')}"
        yield SystemCommand(title, "Colours", _setter(app, theme.name))


def _setter(app: App[None], theme: str) -> Callable[[], None]:
    return lambda: setattr(app, "theme", theme)
