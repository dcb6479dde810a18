"""Coroutines that wait until the journal's thread has a record on disk."""

import asyncio
import threading
from pathlib import Path

from fanout.disk.files import DISK, Files
from fanout.disk.journal import Journal


class Acknowledged:
    """A journal that has begun, and who waits for which of its records."""

    def __init__(self, folder: Path, files: Files = DISK) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.journal = Journal(folder, life=1, files=files, on_commit=self._commit)
        self.journal.start()

    async def durable(self, seq: int) -> None:
        """Return once record `seq` is on disk."""
        with self._lock:
            if seq <= self.journal.committed:
                return
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((seq, future))
        await future

    def _commit(self, seq: int) -> None:
        with self._lock:
            due = [future for waited, future in self._waiting if waited <= seq]
            self._waiting = [one for one in self._waiting if one[0] > seq]
        for future in due:
            future.get_loop().call_soon_threadsafe(future.set_result, None)
