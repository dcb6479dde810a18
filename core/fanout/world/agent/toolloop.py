"""A loop of its own for a script's tools: one that blocks holds up no call.

An async tool is a stranger's coroutine. On the engine's loop, a `time.sleep` in
it would stop admission, streams and signals for everybody; here it holds up other
tools only. The thread is a daemon and begins with the first tool.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

CLOSE_SECONDS = 0.5


class ToolLoop:
    """Runs coroutines apart; call `run` from one loop only."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._serve, name="tools", daemon=True)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, which runs elsewhere; cancelled, do not wait for its end."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        assert self._loop is not None, "not started"
        self._loop.run_forever()
        if not asyncio.all_tasks(self._loop):
            self._loop.close()

    async def close(self) -> None:
        """Let the thread end; what blocks it is left behind."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)


async def here(work: Coroutine[Any, Any, T]) -> T:
    """Await it where it stands: for virtual time."""
    return await work
