"""One file of the journal while it is being written.

It knows how much of it is whole on disk. After any error the file is cut back to
that point and never written again: what a failed write or sync left behind is
not to be trusted, and a sync that is repeated after an error may claim success
for pages that were dropped.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from fanout.disk.codec import Seal, encode_seal
from fanout.disk.files import Files, write_all
from fanout.words.events import Record

SUFFIX = ".jsonl"


class Segment:
    """An open segment; appended to by one thread."""

    def __init__(self, folder: Path, number: int, files: Files) -> None:
        self.path = segment_path(folder, number)
        self._files = files
        self._fd = files.create(self.path)
        self._hash = hashlib.sha256()
        self._count = 0
        self._last: Record | None = None
        self._synced = 0
        self.size = 0
        try:
            files.sync_folder(folder)
        except OSError:
            self.abandon()
            raise

    def write(self, lines: bytes, records: list[Record]) -> None:
        """Hand whole lines to the system."""
        write_all(self._files, self._fd, lines)
        self._hash.update(lines)
        self._count += len(records)
        self._last = records[-1]
        self.size += len(lines)

    def sync(self) -> None:
        """Return once everything written has reached the disk."""
        self._files.sync(self._fd)
        self._synced = self.size

    def seal(self) -> None:
        """Close the segment for good, saying what it holds."""
        if self._last is not None:
            seal = Seal(self._count, self._hash.hexdigest())
            write_all(self._files, self._fd, encode_seal(self._last, seal))
            self._files.sync(self._fd)
        self._close()

    def abandon(self) -> None:
        """Cut back to what is surely on disk and close; never fails."""
        with suppress(OSError):
            self._files.truncate(self._fd, self._synced)
        with suppress(OSError):
            self._files.sync(self._fd)
        with suppress(OSError):
            self._close()
        if self._synced == 0:
            with suppress(OSError):
                self._files.remove(self.path)

    def _close(self) -> None:
        """Close once: by a second time the number may be another file's."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._files.close(fd)


def segment_path(folder: Path, number: int) -> Path:
    """Path of a segment in a journal folder."""
    return folder / f"{number:05}{SUFFIX}"


def numbers(folder: Path) -> list[int]:
    """Numbers of the segments in a journal folder, in order."""
    if not folder.is_dir():
        return []
    stems = (p.stem for p in folder.iterdir() if p.suffix == SUFFIX)
    return sorted(int(s) for s in stems if s.isascii() and s.isdigit())
