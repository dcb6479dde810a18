"""One writer per run: a kernel lock that dies with its holder.

The lock is held on an open file, so a killed process cannot leave it behind and
nobody has to judge whether a process id is still the one that was meant. What the
file says about its holder is for people. It is never removed: a process that
waits on a removed file would lock nothing.

A child that a script forked holds the file too, and with it the lock, after its
parent was killed. A file system that knows no locks is no place for a run.
"""

import fcntl
import json
import os
import socket
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
NAME_MAX = 64


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a run."""

    pid: int | None
    host: str = ""
    boot: str = ""
    """Id of the boot in which it was started."""
    since: float | None = None
    """Wall-clock second at which it began."""

    @property
    def name(self) -> str:
        """What people are told: `process 123 on laptop`."""
        if self.pid is None:
            return "another process"
        return f"process {self.pid}" + (f" on {self.host}" if self.host else "")

    @property
    def gone(self) -> bool:
        """The process itself has ended: what holds the lock is a child of it."""
        if self.pid is None or (self.host, self.boot) != (_host(), _boot_id()):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


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
            self._say(Holder(os.getpid(), _host(), _boot_id(), now))
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
            except OSError as exc:
                raise UsageError(
                    f"{run_folder} cannot be locked: {exc.strerror or exc}; "
                    "two processes could write to one run",
                    hint="some network file systems know no locks: "
                    "name a folder on a local disk with --run-dir",
                ) from exc
            else:
                return
        raise _held(run_folder, _read(self._fd))

    def _say(self, holder: Holder) -> None:
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(asdict(holder)).encode() + b"\n", 0)


def _held(run_folder: Path, who: Holder) -> UsageError:
    """Say who works on the run, and what one can do meanwhile."""
    name = run_folder.name
    if who.gone:
        return UsageError(
            f"run {name} is held by a child that {who.name} has left behind",
            hint="end that child, which was forked by the script; "
            f"`fuser {run_folder / NAME}` names it",
        )
    return UsageError(
        f"run {name} is being worked on by {who.name}",
        hint=f"`fanout-tui watch {name}` shows it on this screen, "
        f"`fanout-tui report {name}` says how it stands; --fresh begins another run",
    )


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
        host = str(said.get("host", ""))[:NAME_MAX]
        return Holder(int(said["pid"]), host, str(said["boot"]), float(said["since"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Holder(None)


def _host() -> str:
    return socket.gethostname()[:NAME_MAX]


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:36]
    except OSError:
        return ""
