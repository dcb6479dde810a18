"""The line that takes the words of a filter: of what is longer, it takes the start."""

from textual import events
from textual.widgets import Input

FILTER_MAX = 200
"""Characters; every one of them has every row looked through anew."""


class Filter(Input):
    """Takes words; bounded, whatever is pasted or typed into it."""

    def __init__(self, placeholder: str) -> None:
        super().__init__(id="filter", placeholder=placeholder, max_length=FILTER_MAX)

    def take(self, text: str) -> None:
        """Put it where the cursor is, in place of what is marked."""
        start, end = sorted(self.selection)
        if len(self.value) - (end - start) + len(text) <= FILTER_MAX:
            self.replace(text, start, end)

    def _on_paste(self, event: events.Paste) -> None:
        """Keep what fits of the first line; Textual's own handler comes after this."""
        line = next(iter(event.text.splitlines()), "")
        event.text = line[: max(0, FILTER_MAX - len(self.value))]
