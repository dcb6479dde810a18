"""Textual's driver on descriptors of its own, because 0, 1 and 2 are the log's.

Five more things differ from Textual's: a terminal that does not read, or is gone,
holds nobody up (`Outgoing`); what comes in is sorted before it is taken for keys
(`typed`); `SIGCONT`, which the kernel sends with every hang-up and `timeout` with
every signal, starts no second reader, and nothing once the screen is closed; the
title there was comes back; and the terminal knows whether somebody still has it.
"""

import asyncio
import os
import select
import signal
from collections.abc import Callable, Iterator
from threading import Condition, Event, Thread
from typing import Any, ClassVar

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from fanout_tui.stdio import CLEAR, POP, Terminal
from fanout_tui.typed import Keyboard

STOPPED = (signal.SIGTSTP, signal.SIGCONT)
CLOSE_S = 1.0
"""How long a terminal may take to read what is left."""
READ_MAX = 65_536
QUIET_MS = 100
"""A key is one by itself when nothing follows it for so long."""


class Outgoing:
    """What is on its way to a terminal; a thread of its own waits for that."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._waiting: list[str] = []
        self._news = Condition()
        self._closing = False
        self._given_up = Event()
        self._whole = True
        """Nothing that was taken out to be written is unwritten."""
        self._thread = Thread(target=self._work, name="terminal", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Have it written, after what was put before; never waits."""
        with self._news:
            self._waiting.append(text)
            self._terminal.behind += len(text)
            self._news.notify()

    def close(self, seconds: float) -> bool:
        """Write what is left, as far as it goes; says whether all of it did."""
        with self._news:
            self._closing = True
            self._news.notify()
        self._thread.join(seconds)
        # Nothing of it may come later, over whoever has the terminal then.
        self._given_up.set()
        self._thread.join()
        self._terminal.behind = 0
        return self._whole

    def _work(self) -> None:
        while text := self._next():
            data = text.encode("utf-8", "replace")
            self._whole = self._terminal.send(data, self._given_up.is_set)
            if not self._whole:
                return
            with self._news:
                self._terminal.behind -= len(text)

    def _next(self) -> str:
        """All that waits, as one: few, large writes do not flicker. Empty: the end."""
        with self._news:
            self._news.wait_for(lambda: self._waiting or self._closing)
            text = "".join(self._waiting)
            self._waiting.clear()
        return text


class TerminalDriver(LinuxDriver):
    """Draws on, and reads from, the terminal's own descriptors."""

    terminal: ClassVar[Terminal]

    def __init__(self, *args: Any, **options: Any) -> None:
        self._before = list(map(signal.getsignal, STOPPED))
        super().__init__(*args, **options)
        self.fileno = self.terminal.source
        self.input_tty = os.isatty(self.terminal.source)
        self._outgoing = Outgoing(self.terminal)
        self._up: asyncio.AbstractEventLoop | None = None
        """The loop that draws, until the screen closes for good."""
        self._comes_back = False
        """It is only out of the way, for a pager or because it was stopped."""

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal.size()

    def write(self, data: str) -> None:
        """Have it written; a terminal that does not read holds nobody up."""
        if data:
            self._outgoing.put(data)

    def _sigtstp_application(self, *_: object) -> None:
        self._soon(super()._sigtstp_application)

    def _sigcont_application(self, *_: object) -> None:
        """Begin again after a stop, and only on a terminal that is there."""
        if self._auto_restart and not self.terminal.gone:
            self._soon(self._begin_again)

    def _soon(self, do: Callable[[], None]) -> None:
        """Between two events: a signal may come while this is being written to."""
        if self._up is not None:
            self._up.call_soon_threadsafe(do)

    def _begin_again(self) -> None:
        if not self._must_signal_resume:
            self.suspend_application_mode()
        self.resume_application_mode()

    def start_application_mode(self) -> None:
        """Take the terminal."""
        self.terminal.clean = False
        self._up = asyncio.get_running_loop()
        # Each has a thread; the one there was is done, and must not be left waiting.
        self._outgoing.close(CLOSE_S)
        self._outgoing = Outgoing(self.terminal)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def suspend_application_mode(self) -> None:
        """Get out of the way until `resume_application_mode`."""
        self._comes_back = True
        super().suspend_application_mode()
        self._comes_back = False

    def run_input_thread(self) -> None:
        """Hand keys, pastes and the mouse over until the screen closes."""
        for message in _typed_on(self.terminal, self.exit_event):
            self.process_message(message)

    def stop_application_mode(self) -> None:
        """Switch off what the screen has switched on."""
        self.write(CLEAR)
        super().stop_application_mode()
        if not self._comes_back:
            self.write(POP)

    def close(self) -> None:
        """Give it back, once what was written is there, as far as it is read."""
        super().close()
        self.terminal.clean = self._outgoing.close(CLOSE_S)
        if not self._comes_back:
            # Who is stopped and continued from now on has no screen to resume.
            self._up = None
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
