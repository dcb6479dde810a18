"""Room kept for a run's last facts, to be given up when the disk is full.

A file of its size that has no name any more: it is gone with the process however
that ends, and giving it up is closing it. Its bytes are random, so that a file
system that compresses keeps as much.
"""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from fanout.disk.files import DISK, Files, write_all

BYTES = 8 * 1024 * 1024
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What a disk says that has no room, and may have some again."""


def no_room(error: BaseException | None) -> bool:
    """Whether an error, or one behind it, says that there is no room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


class Reserve:
    """The room that one run keeps; used by one thread."""

    def __init__(self, folder: Path, files: Files = DISK, size: int = BYTES) -> None:
        self._path = folder / ".reserve"
        self._files = files
        self._size = size
        self._fd = -1

    @property
    def held(self) -> bool:
        """The room is kept."""
        return self._fd >= 0

    def hold(self) -> bool:
        """Keep the room; false when there is not enough, or the disk refuses."""
        if self.held:
            return True
        try:
            space = os.statvfs(self._path.parent)
            if space.f_bavail * space.f_frsize < 2 * self._size:
                return False
            self._files.remove(self._path)
            fd = self._files.create(self._path)
        except OSError:
            return False
        try:
            write_all(self._files, fd, secrets.token_bytes(self._size))
            self._files.sync(fd)
        except OSError:
            self._close(fd)
            return False
        with suppress(OSError):
            self._files.remove(self._path)
        self._fd = fd
        return True

    def free(self) -> None:
        """Give the room up; never fails."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._close(fd)

    def _close(self, fd: int) -> None:
        with suppress(OSError):
            self._files.close(fd)
        with suppress(OSError):
            self._files.remove(self._path)
