"""Signals of the process, by what the run is doing when they come.

| while | what a signal does |
|---|---|
| it opens | leaves at once: nothing was sent |
| it runs | SIGINT drains, and a second one stops at once, as SIGTERM and SIGHUP do |
| it has ended, on a screen | leaves the screen; the run's own code stands |
| reports are written | nothing: they are finished; a second signal leaves them |

SIGUSR1 asks plain output what every row waits for, also after a screen was left; under
a screen, which shows it anyway, it does nothing. SIGQUIT writes what every thread is
doing into the run's folder and ends nothing. Handlers only hand over; the engine does
the rest.
"""

import faulthandler
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from fanout.words.commands import Note, Stop
from fanout_tui.command.handle import Handle
from fanout_tui.command.say import Ended, warn

STACKS = "stacks.txt"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """While entered, on the main thread, signals mean what the table says."""

    def __init__(self) -> None:
        self._handle: Handle | None = None
        self._over = False
        self._interrupts = 0
        self._late = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in ENDING:
            self._before[number] = signal.signal(number, self._ending)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]

    def attach(self, handle: Handle, *, plain: bool, folder: Path) -> None:
        """There is a run now: what comes is for it."""
        self._handle = handle
        stacks: Callable[..., object] = lambda *_: _write_stacks(handle, folder)  # noqa: E731
        self._before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._before[signal.SIGQUIT] = signal.signal(signal.SIGQUIT, stacks)
        if plain:
            self.plain()

    def plain(self) -> None:
        """What is to be said is said in plain lines from here on."""
        handle = self._handle
        if handle is not None:
            signal.signal(signal.SIGUSR1, lambda *_: handle.request_dump())

    def over(self) -> None:
        """The run has ended; what follows is being written."""
        self._over = True

    def _ending(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._over:
            self._late += 1
            if self._late > 1:
                raise Ended(name, "before all reports were written")
            return
        if self._handle is None:
            raise Ended(name, "before anything was sent")
        if number == signal.SIGINT:
            self._interrupts += 1
            mode = "drain" if self._interrupts == 1 else "now"
            self._handle.send(Stop(mode, name))
        else:
            self._handle.send(Stop("now", name))


def _write_stacks(handle: Handle, folder: Path) -> None:
    path = folder / STACKS
    try:
        with path.open("w", encoding="utf-8") as file:
            faulthandler.dump_traceback(file=file, all_threads=True)
    except OSError as error:
        with suppress(OSError):
            warn(f"fanout-tui: {path} cannot be written: {error.strerror or error}")
        return
    handle.send(Note("engine", f"SIGQUIT: what every thread does is in {path}"))
