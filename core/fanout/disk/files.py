"""What the journal asks of a disk, so that a test can stand in for a bad one."""

import fcntl
import os
from pathlib import Path
from typing import Protocol


class Files(Protocol):
    """The handful of calls that can fail; each raises OSError as the disk does."""

    def create(self, path: Path) -> int:
        """Create a file that must not be there yet; return its descriptor."""
        ...

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write at the end; return how many bytes were taken."""
        ...

    def sync(self, fd: int) -> None:
        """Return once what was written has reached the disk."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Return once the folder's entries have reached the disk."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file back to `size` bytes."""
        ...

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Rename over whatever is there."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file; one that is gone is fine."""
        ...


class DiskFiles:
    """The real disk."""

    def create(self, path: Path) -> int:
        """Create a file for this user alone, for appending."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        return os.open(path, flags, 0o600)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write what the system takes at once."""
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Sync the data; on macOS only F_FULLFSYNC reaches the drive."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:
            fcntl.fcntl(fd, full)
        else:
            os.fdatasync(fd)

    def sync_folder(self, path: Path) -> None:
        """Sync the folder's own entries."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file back."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """Rename within one file system."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove the file if it is there."""
        path.unlink(missing_ok=True)


DISK: Files = DiskFiles()


def is_there(path: str | Path) -> bool:
    """Something has this path; also False where nothing can have it, being too long."""
    return os.path.exists(path)  # noqa: PTH110  Path.exists raises for such


def is_folder(path: str | Path) -> bool:
    """A folder has this path; also False where nothing can have it."""
    return os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises for such


def write_all(files: Files, fd: int, data: bytes) -> None:
    """Write all of `data`; a disk may take less than it was given.

    Taking nothing at all, without an error, is an error of its own.
    """
    view = memoryview(data)
    while view:
        taken = files.write(fd, view)
        if taken <= 0:
            raise OSError("the disk took nothing and reported no error")
        view = view[taken:]


def write_atomic(
    path: Path, data: bytes, *, files: Files = DISK, sync: bool = True
) -> None:
    """Put `data` where readers see the old content, or all of the new."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    files.remove(aside)
    fd = files.create(aside)
    try:
        try:
            write_all(files, fd, data)
            if sync:
                files.sync(fd)
        finally:
            files.close(fd)
        files.rename(aside, path)
    except BaseException:
        files.remove(aside)
        raise
    if sync:
        files.sync_folder(path.parent)
