"""Reading and replacing one file relative to a folder's descriptor.

Opening never follows a link and never waits: a FIFO or a device is opened
without blocking, seen for what it is, and refused. A file is replaced by
writing beside it, syncing and renaming within the same descriptor, so a reader
sees the old content or the new one and a link in its place is replaced, not
followed. A file with a second hard link is not ours alone to change: refused.
"""

import hashlib
import os
import secrets
import stat
from dataclasses import dataclass

from fanout.files.safepath import Refused, is_regular, refusal

MAX_FILE_BYTES = 8 * 1024 * 1024
TEMPORARY_PREFIX = ".fanout-"

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_PROBE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Content:
    """A whole file as it was read at one time."""

    data: bytes
    sha256: str
    """Hex digest of `data`."""


class TooLarge(Refused):
    """The file has more bytes than may be read at once."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 hex digest."""
    return hashlib.sha256(data).hexdigest()


def open_regular(name: str, folder: int | None) -> int:
    """Open a plain file for reading; the caller closes it. Raises `Refused`."""
    try:
        opened = os.open(name, _READ_FLAGS, dir_fd=folder)
    except OSError as error:
        if is_link(name, folder):
            raise Refused(f"`{name}` is a link; links are not followed") from error
        raise refusal(error, name) from error
    if not is_regular(os.fstat(opened)):
        os.close(opened)
        raise Refused(f"`{name}` is not a regular file")
    return opened


def is_link(name: str, folder: int | None) -> bool:
    """Whether the name is a symbolic link now."""
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except (OSError, ValueError):
        return False


def read_whole(
    name: str, folder: int, *, limit: int = MAX_FILE_BYTES, alone: bool = False
) -> Content:
    """Read a plain file of at most `limit` bytes. Raises `Refused`.

    With `alone`, a file that has a second hard link is refused: whoever has the
    other name could change it.
    """
    opened = open_regular(name, folder)
    try:
        found = os.fstat(opened)
        if found.st_size > limit:
            raise TooLarge(f"`{name}` has {found.st_size:,} bytes, more than {limit:,}")
        if alone and found.st_nlink > 1:
            raise Refused(f"`{name}` has {found.st_nlink} hard links")
        data = _read_up_to(opened, limit + 1)
    except OSError as error:
        raise refusal(error, name) from error
    finally:
        os.close(opened)
    if len(data) > limit:
        raise TooLarge(f"`{name}` grew beyond {limit:,} bytes while it was read")
    return Content(data, sha256(data))


def read_part(name: str, folder: int, *, offset: int, size: int) -> bytes:
    """Read up to `size` bytes of a plain file from `offset`. Raises `Refused`."""
    opened = open_regular(name, folder)
    try:
        os.lseek(opened, offset, os.SEEK_SET)
        return _read_up_to(opened, size)
    except OSError as error:
        raise refusal(error, name) from error
    finally:
        os.close(opened)


def _read_up_to(opened: int, limit: int) -> bytes:
    chunks = []
    left = limit
    while left > 0 and (chunk := os.read(opened, min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def as_text(data: bytes, name: str) -> str:
    """Decode UTF-8; binary and other encodings are `Refused`, and say so."""
    if reason := not_text(data):
        raise Refused(f"`{name}` is {reason} ({len(data):,} bytes)")
    return data.decode()


def not_text(data: bytes) -> str | None:
    """Why these bytes are no text; None if they are UTF-8 text."""
    if b"\0" in data[:_PROBE_BYTES]:
        return "binary, not text"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start:,})"
    return None


def replace(name: str, folder: int, data: bytes) -> str:
    """Put `data` in place of `name` and return its digest.

    Written beside, synced, renamed, the folder synced. An existing file keeps
    its permissions. Raises `Refused` for a link, a special file or a file with
    a second hard link, and when the system refuses.
    """
    mode = _mode_to_keep(name, folder)
    temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}.tmp"
    try:
        _write_new(temporary, folder, data, mode)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError as error:
        _remove(temporary, folder)
        raise refusal(error, name) from error
    return sha256(data)


def _mode_to_keep(name: str, folder: int) -> int | None:
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, name) from error
    if not is_regular(found):
        raise Refused(f"`{name}` is a link or not a regular file")
    if found.st_nlink != 1:
        raise Refused(f"`{name}` has {found.st_nlink} hard links; it is not changed")
    return stat.S_IMODE(found.st_mode) & 0o777


def _write_new(name: str, folder: int, data: bytes, mode: int | None) -> None:
    opened = os.open(name, _WRITE_FLAGS, 0o666, dir_fd=folder)
    try:
        if mode is not None:
            os.fchmod(opened, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(opened, view) :]
        os.fsync(opened)
    finally:
        os.close(opened)


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
