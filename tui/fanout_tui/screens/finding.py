"""Screens whose list can be searched: words are typed, what has them stays."""

from textual.app import ComposeResult
from textual.widgets import Input

from fanout_tui.screens.base import Place, ScrollScreen
from fanout_tui.widgets.lines import Block


class FindScreen(ScrollScreen):
    """Head, list, the line that takes the words, footer."""

    PLACEHOLDER = "filter"

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        """Head, list, filter, footer."""
        yield Block(id="head")
        yield self._list
        yield Input(id="filter", placeholder=self.PLACEHOLDER)
        yield Block(id="footer")

    def action_filter(self) -> None:
        """Open the filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.value = self._place.filter
        # At once: what is typed next belongs there.
        self.set_focus(field)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed."""
        self._place.filter = event.value
        self.fanout.draw()

    def on_input_submitted(self) -> None:
        """Keep the filter and give the keys back to the list."""
        self.query_one("#filter", Input).display = False
        self.set_focus(None)
        self.fanout.draw()

    def action_back(self) -> None:
        """Clear the filter; without one, back to the rows."""
        field = self.query_one("#filter", Input)
        if not field.display and not self._place.filter:
            self.leave()
            return
        field.value = self._place.filter = ""
        self.on_input_submitted()

    def leave(self) -> None:
        """Back to where one came from."""
        self.dismiss()
