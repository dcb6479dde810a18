"""Signals of the process, handed to the run as commands.

The first SIGINT drains, the second stops at once. SIGTERM and SIGHUP stop at
once: whoever sends them will not wait for minutes. SIGUSR1 asks plain output
what every row waits for. Handlers only post; the engine does the rest.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fanout.words.commands import Stop
from fanout_tui.command.transcripts import Handle


@contextmanager
def listening(handle: Handle, *, plain: bool) -> Iterator[None]:
    """Turn signals into commands while entered; only on the main thread."""
    interrupts = 0

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        mode = "drain" if interrupts == 1 else "now"
        handle.send(Stop(mode, "SIGINT", "interrupted"))

    def ended(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        handle.send(Stop("now", name, f"stopped by {name}"))

    def asked(_number: int, _frame: FrameType | None) -> None:
        handle.request_dump()

    wanted: dict[int, Any] = {
        signal.SIGINT: interrupted,
        signal.SIGTERM: ended,
        signal.SIGHUP: ended,
    }
    if plain:
        wanted[signal.SIGUSR1] = asked
    before = {number: signal.signal(number, act) for number, act in wanted.items()}
    try:
        yield
    finally:
        for number, act in before.items():
            signal.signal(number, act)
