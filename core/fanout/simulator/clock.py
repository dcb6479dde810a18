"""Time as an argument: what the server waits on and what it stamps with."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Where a server takes its time from."""

    def now(self) -> float:
        """Seconds since the epoch, never going backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""
        ...


class SystemClock:
    """The wall's time at the start, advanced by the monotonic clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()  # noqa: TID251

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._offset + time.monotonic()  # noqa: TID251

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""
        await asyncio.sleep(seconds)
