"""The disk of a simulated run: slow, failing, and what a kill leaves of it.

A kill leaves what was handed to the system; a power cut leaves what was synced,
and of the rest any sector or none (`after_power_cut`). What is left is written to
real files, so that the next life reads it with the code that reads real journals.
"""

import asyncio
import os
from pathlib import Path
from random import Random
from typing import Any

from fanout.disk.codec import encode
from fanout.testing.bad_disks import after_power_cut
from fanout.testing.memory_journal import MemoryJournal
from fanout.words.events import CallAdmitted, Event, Record, RowDone, RowMissing
from fanout.words.model import RowId


class DelayedJournal(MemoryJournal):
    """Commits after a while, and only what it had been given when it began."""

    def __init__(self, chance: Random, seconds: float, **changes: Any) -> None:
        super().__init__(**changes)
        self._random = chance
        self._seconds = seconds
        self._syncing = False
        self.intents: dict[int, int] = {}
        """Number of the record that holds a call's intent."""
        self.ends: dict[RowId, list[int]] = {}
        """Numbers of the records by which a row ended."""

    def append(self, event: Event, at: float) -> Record:
        record = super().append(event, at)
        if isinstance(event, CallAdmitted):
            self.intents[event.call] = record.seq
        elif isinstance(event, RowDone | RowMissing):
            self.ends.setdefault(event.row, []).append(record.seq)
        return record

    def _commit(self) -> None:
        if self._syncing or self._told or not self._waiting:
            return
        self._syncing = True
        upto = self._waiting[-1].seq
        wait = self._random.random() * self._seconds
        asyncio.get_running_loop().call_later(wait, self._synced, upto)

    def _synced(self, upto: int) -> None:
        self._syncing = False
        later = [r for r in self._waiting if r.seq > upto]
        self._waiting = [r for r in self._waiting if r.seq <= upto]
        super()._commit()
        self._waiting += later
        if later:
            self._commit()

    def sync_now(self) -> None:
        """What a journal does when it is closed."""
        super()._commit()

    def left(self, random: Random, *, power_cut: bool) -> bytes:
        """What a kill, or a power cut, leaves of this life's segment."""
        synced = b"".join(self.lines)
        written = self._waiting[: random.randint(0, len(self._waiting))]
        tail = b"".join(map(encode, written))
        if power_cut:
            return after_power_cut(synced + tail, len(synced), random)
        return synced + tail[: random.randint(0, len(tail))]

    def all(self) -> bytes:
        """What a life that closed its journal leaves."""
        return b"".join(self.lines)


class Synced:
    """Stands where `os.fsync` does, and remembers which files were synced."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}

    def __call__(self, fd: int) -> None:
        status = os.fstat(fd)
        self._files[status.st_ino] = status.st_size

    def cut(self, out: Path, random: Random) -> None:
        """The power goes: a file that was never synced may be anything."""
        for path in sorted(out.rglob("*")):
            if path.is_file() and path.stat().st_ino not in self._files:
                data = path.read_bytes()
                path.write_bytes(after_power_cut(data, 0, random))


def lose(out: Path, random: Random) -> list[str]:
    """Somebody takes outputs away between two lives; returns their names."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    gone = [path for path in files if random.random() < 0.5]
    for path in gone:
        path.unlink()
    return [str(path.relative_to(out)) for path in gone]


def write_segment(run: Path, life: int, data: bytes) -> None:
    """Put a life's segment where the journal's reader looks for it."""
    folder = run / "journal"
    folder.mkdir(exist_ok=True)
    (folder / f"{life:05}.jsonl").write_bytes(data)
