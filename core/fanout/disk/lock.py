"""One writer per run: a kernel lock that dies with its holder.

The lock is held on an open file, so a killed process cannot leave it behind and
nobody has to judge whether a process id is still the one that was meant. What the
file says about its holder is for people. It is never removed: a process that
waits on a removed file would lock nothing.
"""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from fanout.errors import UsageError

NAME = "run.lock"
TRIES = 5
"""Whoever looks for a holder takes the lock for a moment."""
PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a run."""

    pid: int | None
    boot: str = ""
    """Id of the boot in which it was started."""
    since: float | None = None


class RunLock:
    """Held from its making until `release`, or until this process is gone."""

    def __init__(self, run_folder: Path, *, now: float) -> None:
        """Take the lock, or raise `UsageError` saying who holds it."""
        path = run_folder / NAME
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise UsageError(
                f"{path} cannot be opened: {exc.strerror}",
                hint="a run that is only to be read needs no lock: use `report`",
            ) from exc
        try:
            self._take(run_folder)
            self._say(Holder(os.getpid(), _boot_id(), now))
        except BaseException:
            os.close(self._fd)
            raise

    def release(self) -> None:
        """Let others work on the run."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _exc: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()

    def _take(self, run_folder: Path) -> None:
        for _ in range(TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PAUSE_SECONDS)
            else:
                return
        who = _read(self._fd)
        by = "another process" if who.pid is None else f"process {who.pid}"
        raise UsageError(
            f"run {run_folder.name} is being worked on by {by}",
            hint=f"`fanout-tui report {run_folder.name}` says how it stands; "
            "--fresh begins another run",
        )

    def _say(self, holder: Holder) -> None:
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(asdict(holder)).encode() + b"\n", 0)


def holder(run_folder: Path) -> Holder | None:
    """Return who works on the run; None when nobody does."""
    try:
        fd = os.open(run_folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(fd)
    except OSError:  # a file system without locks has no holders either
        return None
    else:
        return None
    finally:
        os.close(fd)


def _read(fd: int) -> Holder:
    try:
        said = json.loads(os.pread(fd, 1_000, 0))
        return Holder(int(said["pid"]), str(said["boot"]), float(said["since"]))
    except (ValueError, KeyError, TypeError):
        return Holder(None)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:36]
    except OSError:
        return ""
