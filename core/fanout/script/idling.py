"""A loop that can say when it waits: everything that was ready has been run.

Only then is it known that what the script asked for so far is all it asks for at
this moment. The loop looks for work in its selector; when it is ready to wait there
for longer than no time at all, nothing is left to do.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable
from contextlib import suppress


class _Watched(selectors.DefaultSelector):
    """A selector that tells before it waits."""

    def __init__(self, waits: Callable[[], None]) -> None:
        super().__init__()
        self._waits = waits

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._waits()
        return super().select(timeout)


class Idling:
    """Answers, from the loop's thread, who asked whether it waits."""

    def __init__(self, answer: Callable[[int], None]) -> None:
        """`answer` is given the number of the question; from the loop's thread."""
        self._answer = answer
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: int | None = None

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """Return a loop of the kind that is set, which answers if it can."""
        loop = asyncio.new_event_loop()
        if type(loop) is asyncio.SelectorEventLoop:
            loop.close()
            loop = asyncio.SelectorEventLoop(_Watched(self._waits))
            with self._lock:
                self._loop = loop
        return loop

    def ended(self) -> None:
        """The loop is about to be closed."""
        with self._lock:
            self._loop = None

    def ask(self, number: int) -> None:
        """Answer this number once the loop waits; from any thread."""
        with self._lock:
            loop = self._loop
        if loop is not None:
            # The loop may close between the look and the call.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take, number)

    def _take(self, number: int) -> None:
        """On the loop, behind everything it was told before the question."""
        self._asked = number

    def _waits(self) -> None:
        number, self._asked = self._asked, None
        if number is not None:
            self._answer(number)
