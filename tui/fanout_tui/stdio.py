"""Who may write to the terminal while the screen is up: the screen.

File descriptors 1 and 2 point into a pipe meanwhile, so a `print`, a write to
the raw descriptor and the output of a child process all become log lines; 0 is
empty. Textual's driver gets its own duplicates of the terminal.
"""

import fcntl
import os
import select
import signal
import sys
import termios
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from types import TracebackType
from typing import Any, Self

from fanout.words.commands import Command, Note

MARK = b"\x00fanout-drained-"
"""Begins the line that `drain` sends after everything printed before it."""

LINE_MAX = 20_000
"""Bytes after which a line without an end is passed on anyway."""

DRAIN_S = 0.3
"""How long the end waits for output that is still in the pipe."""

WAIT_MS = 100
STALL_WAITS = 5
"""A terminal that has not read for so often that long is not drawn on meanwhile."""
BEHIND_MAX = 64_000
"""Nor is one that has so many characters still to read."""
RESTORE_WAITS = 10
"""How often that long the end waits for a terminal that does not read."""
CHUNK, CHUNK_BLOCKING = 65_536, 256
"""Bytes of one write. One to a shared descriptor waits if they do not fit."""

CLEAR = "\x1b[0m\x1b[H\x1b[J"
"""Before a screen is left: some terminals keep lines of one that has grown."""
POP = "\x1b[23;2t"
"""Brings back the title there was."""

RESET = (
    "\x1b[<u"
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l\x1b[?2026l\x1b[?7h\x1b[0m"
    "\x1b[?1049l\x1b[?25h" + POP
)
"""Everything a screen may have switched on, off."""


_owed: list["Terminal"] = []
"""Terminals that did not read when they were to be restored."""


class Terminal:
    """The terminal as it was found; gives it back in that condition."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.clean = True
        """False while the screen has the terminal."""
        self._own = _open_again(sink)
        self._waits = 0
        self.behind = 0
        """Characters that are on their way to it."""
        try:
            self._attributes: list[Any] | None = termios.tcgetattr(source)
        except termios.error:
            self._attributes = None

    def size(self) -> tuple[int, int]:
        """Columns and lines; 80 by 24 where the terminal does not say."""
        try:
            size = os.get_terminal_size(self.sink)
        except OSError:
            return 80, 24
        return (size.columns or 80, size.lines or 24)

    @property
    def gone(self) -> bool:
        """Nobody is at the other end: the window was closed, the line dropped."""
        watch = select.poll()
        watch.register(self.sink, 0)
        return bool(watch.poll(0))

    @property
    def stalled(self) -> bool:
        """It does not read: what has been drawn last is not seen yet."""
        return self._waits >= STALL_WAITS or self.behind > BEHIND_MAX

    def send(self, data: bytes, given_up: Callable[[], bool]) -> bool:
        """Write it as fast as it is read; False: the rest was not, for good."""
        sink, most = self._own, CHUNK
        if sink is None:
            sink, most = self.sink, CHUNK_BLOCKING
        room = select.poll()
        room.register(sink, select.POLLOUT)
        while data and not given_up():
            if not room.poll(WAIT_MS):
                self._waits += 1
                continue
            self._waits = 0
            try:
                data = data[os.write(sink, data[:most]) :]
            except BlockingIOError:
                continue
            except OSError:
                break
        self._waits = 0
        return not data

    @contextmanager
    def lent(self, group: int) -> Iterator[None]:
        """What is typed is for this process group meanwhile, where it can be."""
        own = os.getpgrp()
        # To take it back is for one in the foreground, which this is not then.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            with suppress(OSError):
                os.tcsetpgrp(self.source, group)
            yield
        finally:
            with suppress(OSError):
                os.tcsetpgrp(self.source, own)
            # One that was killed has left it as it needed it.
            self._set_back()
            signal.signal(signal.SIGTTOU, before)

    def restore(self) -> None:
        """Give it back; does nothing when that was done already."""
        if self.clean:
            return
        self.clean = True
        waits = count()
        if not self.send(RESET.encode(), lambda: next(waits) > RESTORE_WAITS):
            _owed.append(self)
        self._set_back()

    def _set_back(self) -> None:
        if self._attributes is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.source, termios.TCSANOW, self._attributes)

    def close(self) -> None:
        """Let go of what is its own, unless that is needed still."""
        if self._own is not None and self not in _owed:
            os.close(self._own)
            self._own = None


def give_back() -> None:
    """Restore a terminal that would not read before; for whoever writes there next.

    It waits as long as what is to be written would have to wait.
    """
    while _owed:
        terminal = _owed.pop()
        terminal.send(RESET.encode(), lambda: False)
        terminal.close()


def _open_again(sink: int) -> int | None:
    """The terminal by a descriptor that is shared with nobody, and never waits.

    To make one that is shared so would change it for the shell, too; and others may.
    """
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(os.ttyname(sink), flags)
    except OSError:
        return None


class Stdio:
    """While entered, 0 is empty and 1 and 2 are the log."""

    def __init__(self, send: Callable[[Command], None]) -> None:
        self._send = send
        self._saved: tuple[int, ...] = ()
        self._reader: threading.Thread | None = None
        self._terminal: Terminal | None = None
        self._drained = threading.Event()
        self._source = -1
        self._busy = False
        """What was read from the pipe is being made into log lines."""
        self._quiet = threading.Condition()

    @property
    def out(self) -> int:
        """The standard output as it was found."""
        return self._saved[1]

    @property
    def err(self) -> int:
        """The standard error as it was found."""
        return self._saved[2]

    @property
    def terminal(self) -> Terminal:
        """The terminal itself, by its own descriptors."""
        assert self._terminal is not None, "not entered"
        return self._terminal

    def __enter__(self) -> Self:
        _flush()
        _buffer_by_line()
        self._saved = tuple(os.dup(number) for number in (0, 1, 2))
        self._terminal = Terminal(self._saved[0], self._saved[1])
        source, sink = os.pipe()
        self._source = source
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.close(sink)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._reader = threading.Thread(
            target=self._read, args=(source,), name="stdio", daemon=True
        )
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.terminal.restore()
        self.terminal.close()
        _flush()
        self._source = -1
        for number, saved in enumerate(self._saved):
            os.dup2(saved, number)
            os.close(saved)
        # A child may hold the pipe for longer; its output stays log lines.
        assert self._reader is not None
        self._reader.join(DRAIN_S)

    def drain(self) -> None:
        """Wait until what was printed up to now has become log lines."""
        _flush()
        self._drained.clear()
        with suppress(OSError):
            os.write(1, b"\n" + MARK + b"\n")
            self._drained.wait(DRAIN_S)

    def settle(self) -> None:
        """Wait until every whole line printed up to now has become a log line.

        Costs a glance at the pipe where nothing was printed.
        """
        if self._is_behind():
            with self._quiet:
                self._quiet.wait_for(lambda: not self._is_behind(), DRAIN_S)

    def _is_behind(self) -> bool:
        # In this order: the reader is busy before it takes anything out.
        held = array("i", [0])
        try:
            fcntl.ioctl(self._source, termios.FIONREAD, held)
        except (OSError, ValueError):
            return False
        return held[0] > 0 or self._busy

    def write(self, text: str) -> None:
        """Output of the script's own `print`, which Textual takes over."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(1, data) :]

    def _read(self, source: int) -> None:
        """In its own thread, until nobody holds the pipe any more."""
        pending = b""
        arrived = select.poll()
        arrived.register(source, select.POLLIN)
        with os.fdopen(source, "rb", buffering=0) as pipe:
            while self._awaits(arrived) and (data := pipe.read(65_536)):
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    self._note(line)
                if len(pending) > LINE_MAX:
                    self._note(pending)
                    pending = b""
        if pending:
            self._note(pending)
        self._is_idle()

    def _awaits(self, arrived: select.poll) -> bool:
        """Wait for more to read, and be busy with it."""
        self._is_idle()
        arrived.poll()
        self._busy = True
        return True

    def _is_idle(self) -> None:
        with self._quiet:
            self._busy = False
            self._quiet.notify_all()

    def _note(self, line: bytes) -> None:
        """One line; of a progress bar that overwrites itself, its last state."""
        if line.startswith(MARK):
            self._drained.set()
            return
        text = line.rstrip(b"\r").rsplit(b"\r", 1)[-1].decode("utf-8", "replace")
        if text.strip():
            self._send(Note("script", text))


def _buffer_by_line() -> None:
    """A `print` is a log line when it was made, not when a buffer is full."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
