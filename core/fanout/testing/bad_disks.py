"""Disks that fail: the real one with a fault at a chosen call, or a power cut.

`FailingFiles` counts the calls that can fail and makes chosen ones do so, after
a short write where it is one. `after_power_cut` tells what a file may look like
when the power went: what was synced is there; in what came later every sector
may hold its data, zeros or rubbish, and the length is anybody's guess.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random

from fanout.disk.files import DISK, Files

SECTOR = 512


class FailingFiles:
    """Passes calls on to `inner`, but raises where `fails(n)` gives an error."""

    def __init__(
        self, fails: Callable[[int], OSError | None], inner: Files = DISK
    ) -> None:
        self.calls = 0
        self.failed = 0
        self._fails = fails
        self._inner = inner

    def create(self, path: Path) -> int:
        """Create, unless this call is to fail."""
        self._maybe_fail()
        return self._inner.create(path)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write all but the last byte of long data; nothing but half on failure."""
        error = self._next_error()
        if error is not None:
            self._inner.write(fd, memoryview(data)[: len(data) // 2])
            raise error
        return self._inner.write(fd, data[:-1] if len(data) > SECTOR else data)

    def sync(self, fd: int) -> None:
        """Sync, unless this call is to fail."""
        self._maybe_fail()
        self._inner.sync(fd)

    def sync_folder(self, path: Path) -> None:
        """Sync the folder, unless this call is to fail."""
        self._maybe_fail()
        self._inner.sync_folder(path)

    def truncate(self, fd: int, size: int) -> None:
        """Truncate, unless this call is to fail."""
        self._maybe_fail()
        self._inner.truncate(fd, size)

    def close(self, fd: int) -> None:
        """Close; a descriptor is gone whatever close says."""
        self._inner.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """Rename, unless this call is to fail."""
        self._maybe_fail()
        self._inner.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove, unless this call is to fail."""
        self._maybe_fail()
        self._inner.remove(path)

    def _next_error(self) -> OSError | None:
        self.calls += 1
        error = self._fails(self.calls)
        self.failed += error is not None
        return error

    def _maybe_fail(self) -> None:
        error = self._next_error()
        if error is not None:
            raise error


def after_power_cut(data: bytes, synced: int, random: Random) -> bytes:
    """Return what may be left of a file of which `synced` bytes had been synced."""
    end = random.randint(synced, len(data))
    left = bytearray(data[:end])
    start = synced
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        fate = random.random()
        if fate < 1 / 3:
            left[start:stop] = bytes(stop - start)
        elif fate < 2 / 3:
            left[start:stop] = random.randbytes(stop - start)
        start = stop
    if random.random() < 1 / 3:
        left += bytes(random.randrange(SECTOR))
    return bytes(left)
