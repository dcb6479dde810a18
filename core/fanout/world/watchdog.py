"""Cuts calls that have gone silent, counting only time the loop was alive.

A timer that compares clock readings kills healthy streams after the process was
stopped, the machine slept, or a C call held the interpreter for seconds: the
bytes were there, nobody had read them. The watchdog therefore counts its own
ticks. A blocked loop does not tick, so silence is what is left: seconds in which
we could have read and there was nothing to read.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TICK_SECONDS = 1.0


class Silent(Exception):  # noqa: N818  a fact, not a defect
    """Nothing came for as long as was allowed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing came for {seconds:.0f} s")


class Guard:
    """One guarded wait; `alive()` starts its silence anew."""

    def __init__(self, watchdog: "Watchdog", limit: float) -> None:
        self._watchdog = watchdog
        self._limit = limit
        self._last = watchdog.ticks
        self._task = asyncio.current_task()
        self.expired = False

    def alive(self, limit: float | None = None) -> None:
        """Something came; from now on `limit` seconds of silence are allowed."""
        self._last = self._watchdog.ticks
        if limit is not None:
            self._limit = limit

    @property
    def limit(self) -> float:
        """Seconds of silence allowed now."""
        return self._limit

    def check(self) -> None:
        """Cancel the guarded task when it has been silent for too long."""
        silent = (self._watchdog.ticks - self._last) * TICK_SECONDS
        if silent > self._limit and not self.expired and self._task is not None:
            self.expired = True
            self._task.cancel()


class Watchdog:
    """One ticker for all guarded waits of a loop."""

    def __init__(self) -> None:
        self.ticks = 0
        self._guards: set[Guard] = set()

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.ticks += 1
            for guard in tuple(self._guards):
                guard.check()

    @asynccontextmanager
    async def guard(self, limit: float) -> AsyncIterator[Guard]:
        """Guard the current task; raises `Silent` when it was cut for silence."""
        guard = Guard(self, limit)
        self._guards.add(guard)
        try:
            yield guard
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if guard.expired and task is not None and task.uncancel() == 0:
                raise Silent(guard.limit) from None
            raise
        finally:
            self._guards.discard(guard)
