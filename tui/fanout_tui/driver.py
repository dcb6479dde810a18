"""Textual's driver on descriptors of its own, because 0, 1 and 2 are the log's.

Four more things differ from Textual's: a terminal that is gone is written to in
vain instead of killing the writer thread (its queue would fill up and hold the
app); what comes in is sorted before it is taken for keys (`typed`); `SIGCONT`,
which the kernel sends with every hang-up and `timeout` with every signal, starts no
second reader, and nothing once the screen is closed; and the terminal knows whether
somebody still has it.
"""

import os
import select
import signal
from collections.abc import Iterator
from threading import Event
from typing import Any, ClassVar

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from fanout_tui.stdio import Terminal
from fanout_tui.typed import Keyboard

STOPPED = (signal.SIGTSTP, signal.SIGCONT)
READ_MAX = 65_536
QUIET_MS = 100
"""A key is one by itself when nothing follows it for so long."""


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


class TerminalDriver(LinuxDriver):
    """Draws on, and reads from, the terminal's own descriptors."""

    terminal: ClassVar[Terminal]

    def __init__(self, *args: Any, **options: Any) -> None:
        self._before = list(map(signal.getsignal, STOPPED))
        super().__init__(*args, **options)
        self._file: Any = Sink(self.terminal)
        self.fileno = self.terminal.source
        self.input_tty = os.isatty(self.terminal.source)

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal.size()

    def _sigcont_application(self, *_: object) -> None:
        """Begin again after a stop, and only on a terminal that is there."""
        if self.terminal.gone:
            return
        if not self._must_signal_resume:
            self.suspend_application_mode()
        super()._sigcont_application()

    def start_application_mode(self) -> None:
        """Take the terminal."""
        self.terminal.clean = False
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def run_input_thread(self) -> None:
        """Hand keys, pastes and the mouse over until the screen closes."""
        for message in _typed_on(self.terminal, self.exit_event):
            self.process_message(message)

    def close(self) -> None:
        """Give it back: what was written is flushed by now."""
        super().close()
        self.terminal.clean = True
        # Whoever is stopped and continued from now on has no screen to resume.
        list(map(signal.signal, STOPPED, self._before))


def driver_for(terminal: Terminal) -> type[Driver]:
    """A driver class bound to this terminal."""
    return type("BoundDriver", (TerminalDriver,), {"terminal": terminal})


def _typed_on(terminal: Terminal, ended: Event) -> Iterator[Message]:
    """What comes from the terminal, until it is gone or the screen closes."""
    keyboard = Keyboard()
    watch = select.poll()
    watch.register(terminal.source, select.POLLIN)
    while not ended.is_set():
        data = b""
        if watch.poll(QUIET_MS):
            try:
                data = os.read(terminal.source, READ_MAX)
            except BlockingIOError:
                continue
            except OSError:
                return
            if not data:
                return
        yield from keyboard.events(data)
