"""Paints nothing while the terminal reads nothing, and all of it once it does again.

Frames that nobody sees would only pile up; the newest is all that is wanted.
"""

from contextlib import ExitStack

from textual.app import App

from fanout_tui.stdio import Terminal


class Holding:
    """Whether the screen is held."""

    def __init__(self, app: App[None], terminal: Terminal | None) -> None:
        self._app = app
        self._terminal = terminal
        self._batch = ExitStack()
        self._on = False
        self._seen = True

    @property
    def unseen(self) -> bool:
        """What is on the screen is not on the terminal yet."""
        return self.is_on() or not self._seen

    def is_on(self) -> bool:
        """Look at the terminal; say whether anything may be painted."""
        stalled = self._terminal is not None and self._terminal.stalled
        if stalled and not self._on:
            self._seen = False
            self._batch.enter_context(self._app.batch_update())
        elif self._on and not stalled:
            self._batch.close()
            self._app.refresh()
            self._app.call_after_refresh(self._is_seen)
        self._on = stalled
        return stalled

    def _is_seen(self) -> None:
        self._seen = not self._on
