"""Textual's driver on descriptors of its own, because 0, 1 and 2 are the log's."""

import io
import os
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from fanout_tui.stdio import Terminal


def driver_for(terminal: Terminal) -> type[Driver]:
    """A driver class bound to this terminal."""

    class TerminalDriver(LinuxDriver):
        """Draws on, and reads from, the terminal's own descriptors."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._file = _stream(terminal.sink)
            self.fileno = terminal.source
            self.input_tty = os.isatty(terminal.source)

        def _get_terminal_size(self) -> tuple[int, int]:
            return terminal.size()

        def start_application_mode(self) -> None:
            """Take the terminal."""
            terminal.clean = False
            super().start_application_mode()  # type: ignore[no-untyped-call]

        def close(self) -> None:
            """Give it back: what was written is flushed by now."""
            super().close()
            terminal.clean = True

    return TerminalDriver


def _stream(sink: int) -> io.TextIOWrapper:
    """A text stream on a duplicate, so that its end does not close the terminal."""
    return io.TextIOWrapper(
        os.fdopen(os.dup(sink), "wb"), encoding="utf-8", errors="replace"
    )
