"""Where one row stands, for whoever waits for it on whatever loop.

The engine's thread settles and reopens tickets; coroutines of the script wait
for them. A script may run several loops (`asyncio.run` inside a sync `main`),
so a ticket wakes each waiter on the loop that the waiter belongs to.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from fanout.errors import UsageError
from fanout.words.model import RowId
from fanout.words.orders import RowOutcome

Waiter = asyncio.Future[None]


_lock = threading.RLock()
"""Of all tickets: a run may have as many as rows, and none is held for long."""


class Ticket:
    """One row that was claimed: nobody else may schedule it."""

    __slots__ = ("_error", "_outcome", "_waiters", "holders", "row", "told")

    def __init__(self, row: RowId) -> None:
        self.row = row
        self.holders = 0
        """How many coroutines want this outcome; at 0 the row may be given up."""
        self.told = False
        """The engine knows what is to become of it."""
        self._outcome: RowOutcome | None = None
        self._error: UsageError | None = None
        self._waiters: dict[Waiter, asyncio.AbstractEventLoop] | None = None

    @property
    def outcome(self) -> RowOutcome | None:
        """How the row ended; None while it has not. Raises what refused it."""
        if self._error is not None:
            raise UsageError(str(self._error), hint=self._error.hint)
        return self._outcome

    def settle(self, outcome: RowOutcome) -> None:
        """The row ended; from any thread."""
        with _lock:
            self._outcome = outcome
            self._wake(_finish)

    def reopen(self) -> None:
        """The row is worked on again: whoever still waits waits for that."""
        with _lock:
            self._outcome = None

    def fail(self, error: UsageError) -> None:
        """The row was refused before anything was sent."""
        with _lock:
            self._error = error
            self._wake(_finish)

    def cancel_waiters(self) -> None:
        """Whoever waits is cancelled; from any thread."""
        with _lock:
            self._wake(_cancel)

    async def ended(self) -> None:
        """Return once the row has ended; it may be open again by then."""
        loop = asyncio.get_running_loop()
        waiter: Waiter = loop.create_future()
        with _lock:
            if self._outcome is not None or self._error is not None:
                return
            if self._waiters is None:
                self._waiters = {}
            self._waiters[waiter] = loop
        try:
            await waiter
        finally:
            with _lock:
                if self._waiters is not None:
                    self._waiters.pop(waiter, None)
                    self._waiters = self._waiters or None

    def _wake(self, how: Callable[[Waiter], None]) -> None:
        for waiter, loop in (self._waiters or {}).items():
            # A loop that was closed has nobody left to wake.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(how, waiter)


def outcomes(tickets: Iterable[Ticket]) -> list[RowOutcome] | None:
    """All outcomes at this moment; None while one is open."""
    found = [ticket.outcome for ticket in tickets]
    ended = [outcome for outcome in found if outcome is not None]
    return ended if len(ended) == len(found) else None


def _finish(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _cancel(waiter: Waiter) -> None:
    waiter.cancel()
