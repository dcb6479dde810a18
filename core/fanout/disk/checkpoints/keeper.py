"""Has checkpoints of a live run written, each by a child process.

A killed run then opens as fast as one that ended: at most some ten thousand records
are folded again. A child folds what is on disk, so it needs nothing of the engine,
takes neither its memory nor its interpreter lock, and may be killed at any moment.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

RECORDS = 20_000
"""Records between two checkpoints; they fold within a fifth of a second."""
REST = 10.0
"""A child rests so many times as long as the last one worked."""
CLOSE_SECONDS = 5.0

_PASSED_ON = ("PATH", "HOME", "LANG", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""What a child needs of the environment; nothing secret is among it."""


def _command(folder: Path, upto: int) -> Sequence[str]:
    # -P: what lies in the working folder is not to be imported.
    module = "fanout.disk.checkpoints.checkpointing"
    return [sys.executable, "-P", "-m", module, str(folder), str(upto)]


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _PASSED_ON if name in environ}


class Keeper:
    """Told what is committed, it starts a child when enough has come together."""

    def __init__(
        self,
        run_folder: Path,
        *,
        since: int,
        now: Callable[[], float],
        records: int = RECORDS,
        command: Callable[[Path, int], Sequence[str]] = _command,
    ) -> None:
        """`since` is the record that the newest checkpoint has got to."""
        self._folder = run_folder
        self._records = records
        self._now = now
        self._command = command
        self._last = since
        self._not_before = now()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def committed(self, seq: int) -> None:
        """All records up to `seq` are on disk. Returns at once."""
        if seq - self._last < self._records or self._now() < self._not_before:
            return
        with self._lock:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(
                target=self._write, args=(seq,), name="fanout-checkpoint", daemon=True
            )
        self._thread.start()

    def close(self) -> None:
        """Start no more; a child that still works is told to leave it."""
        with self._lock:
            self._closed = True
            child, thread = self._child, self._thread
        if child is not None and child.stdin is not None:
            with suppress(OSError):
                child.stdin.close()
        if thread is not None:
            thread.join(CLOSE_SECONDS)
        if thread is not None and thread.is_alive() and child is not None:
            child.kill()
            thread.join(CLOSE_SECONDS)

    def _write(self, seq: int) -> None:
        """The thread: one child from its start to its end, however that may be."""
        began = self._now()
        # A machine that has no room for a child goes without checkpoints.
        with suppress(OSError):
            self._run(seq)
        self._last = seq
        self._not_before = self._now() + REST * (self._now() - began)

    def _run(self, seq: int) -> None:
        with self._lock:
            if self._closed:
                return
            child = subprocess.Popen(  # noqa: S603
                self._command(self._folder, seq),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(os.environ),
            )
            self._child = child
        try:
            child.wait()
        finally:
            with self._lock:
                self._child = None
                if child.stdin is not None:
                    child.stdin.close()
