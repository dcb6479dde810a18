"""Textual's driver on descriptors of its own, because 0, 1 and 2 are the log's.

Three more things differ from Textual's: a terminal that is gone is written to in
vain instead of killing the writer thread (its queue would fill up and hold the
app); `SIGCONT`, which the kernel sends with every hang-up and `timeout` with every
signal, starts no second reader, and nothing once the screen is closed; and the
terminal knows whether somebody still has it.
"""

import os
import signal
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from fanout_tui.stdio import Terminal

STOPPED = (signal.SIGTSTP, signal.SIGCONT)


class Sink:
    """A stream onto a terminal; what cannot be written is dropped."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._pending: list[str] = []

    def write(self, text: str) -> int:
        """Keep the text until `flush`: few, large writes do not flicker."""
        self._pending.append(text)
        return len(text)

    def flush(self) -> None:
        """Send everything; blocks while the terminal does not read."""
        data = "".join(self._pending).encode("utf-8", "replace")
        self._pending.clear()
        try:
            while data:
                data = data[os.write(self._terminal.sink, data) :]
        except OSError:
            return

    def fileno(self) -> int:
        """The terminal's own descriptor."""
        return self._terminal.sink


def driver_for(terminal: Terminal) -> type[Driver]:
    """A driver class bound to this terminal."""

    class TerminalDriver(LinuxDriver):
        """Draws on, and reads from, the terminal's own descriptors."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self._before = list(map(signal.getsignal, STOPPED))
            super().__init__(*args, **options)
            self._file: Any = Sink(terminal)
            self.fileno = terminal.source
            self.input_tty = os.isatty(terminal.source)

        def _get_terminal_size(self) -> tuple[int, int]:
            return terminal.size()

        def _sigcont_application(self, *_: object) -> None:
            """Begin again after a stop, and only on a terminal that is there."""
            if terminal.gone:
                return
            if not self._must_signal_resume:
                self.suspend_application_mode()
            super()._sigcont_application()

        def start_application_mode(self) -> None:
            """Take the terminal."""
            terminal.clean = False
            super().start_application_mode()  # type: ignore[no-untyped-call]

        def close(self) -> None:
            """Give it back: what was written is flushed by now."""
            super().close()
            terminal.clean = True
            # Whoever is stopped and continued from now on has no screen to resume.
            list(map(signal.signal, STOPPED, self._before))

    return TerminalDriver
