"""The journal as the engine sees it; the one on disk and the one in memory."""

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol

from fanout.words.events import DURABLE, Event, Record

OnCommit = Callable[[int], None]
"""Called with the number up to which all records are durable."""
OnError = Callable[[Exception], None]
"""Called when the disk refused; nothing is lost, nothing is durable until a retry."""

_DURABLE = frozenset(DURABLE)


class JournalPort(Protocol):
    """Appends facts; says when they can no longer be lost.

    Callbacks may be called on another thread and must only hand over
    (`loop.call_soon_threadsafe`).
    """

    @property
    def committed(self) -> int:
        """Number up to which all records are durable."""
        ...

    def append(self, event: Event, at: float) -> Record:
        """Number a fact and take it; returns at once.

        The event's payloads must not be changed afterwards.
        """
        ...

    async def durable(self, seq: int) -> None:
        """Return once record `seq` is durable."""
        ...

    def retry(self) -> None:
        """Try again after an error, with everything that is not yet durable."""
        ...

    def close(self) -> None:
        """Write what waits, close the segment; raises OSError if it cannot."""
        ...


def is_durable(event: Event) -> bool:
    """Whether the world may act on the event only once it is on disk."""
    return type(event) in _DURABLE


class Waiters:
    """Coroutines that wait for a record to be durable, on whatever loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._committed = 0

    @property
    def committed(self) -> int:
        """Number up to which all records are durable."""
        return self._committed

    def start_at(self, seq: int) -> None:
        """Take everything up to `seq` for durable: an earlier life wrote it."""
        self._committed = seq

    async def wait(self, seq: int) -> None:
        """Return once `seq` is durable."""
        with self._lock:
            if seq <= self._committed:
                return
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((seq, future))
        await future

    def commit(self, seq: int) -> None:
        """Everything up to `seq` is durable; wake whoever waited for it."""
        with self._lock:
            self._committed = max(self._committed, seq)
            due = [f for s, f in self._waiting if s <= seq]
            self._waiting = [(s, f) for s, f in self._waiting if s > seq]
        for future in due:
            loop = future.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
