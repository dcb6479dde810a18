"""Screens with a filter: words typed into its line leave what has them."""

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input

from fanout_tui.screens.base import Place, RunScreen, ScrollScreen
from fanout_tui.widgets.filter import Filter
from fanout_tui.widgets.lines import Block


class Finds(RunScreen):
    """Has an `Input` called `filter`; subclasses say what its words do."""

    def words(self) -> str:
        """Return the words of the filter; empty: everything is listed."""
        raise NotImplementedError

    def find(self, words: str) -> None:
        """List what has these words."""
        raise NotImplementedError

    @property
    def typing(self) -> bool:
        """Keys go into the filter."""
        return bool(self.query_one("#filter", Input).display)

    def action_filter(self) -> None:
        """Open the filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.value = self.words()
        # At once: what is typed next belongs there.
        self.set_focus(field)

    def close_filter(self) -> None:
        """Give the keys back to the list."""
        self.query_one("#filter", Input).display = False
        self.set_focus(None)
        self.fanout.draw()

    def take_typed(self, field: Filter, event: Key) -> bool:
        """Type a key into the filter, at once: what comes next may be for the list.

        False: it is no letter, and does what Textual has it do.
        """
        if event.key == "enter":
            self.find(field.value)
            self.close_filter()
        elif event.is_printable and event.character:
            field.take(event.character)
        else:
            return False
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed; what comes after it was closed is late."""
        if self.typing:
            self.find(event.value)

    def on_input_submitted(self) -> None:
        """Keep the filter."""
        self.close_filter()


class FindScreen(Finds, ScrollScreen):
    """Head, list, the line that takes the words, footer."""

    PLACEHOLDER = "filter"

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        """Head, list, filter, footer."""
        yield Block(id="head")
        yield self._list
        yield Filter(self.PLACEHOLDER)
        yield Block(id="footer")

    def words(self) -> str:
        """Return what is kept of where one is."""
        return self._place.filter

    def find(self, words: str) -> None:
        """List what has these words."""
        self._place.filter = words
        self.fanout.draw()

    def action_back(self) -> None:
        """Clear the filter; without one, back to where one came from."""
        if self.typing or self._place.filter:
            self._place.filter = ""
            self.close_filter()
        else:
            self.leave()

    def leave(self) -> None:
        """Back to where one came from."""
        self.dismiss()
