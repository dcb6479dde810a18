"""A process that has the SDK imported, and forks the real program from itself.

Importing the SDK takes seconds; a fork takes milliseconds. So hundreds of real
processes can be killed in a minute. The server is this file run as a program: it
reads one JSON object a line and answers with one. It has no thread, so a fork of
it is a process like any other; what the child runs is `fanout-tui`'s own entry,
and it ends as an interpreter does.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

ROOT = Path(__file__).parent.parent.parent
POLL_SECONDS = 0.02


class ForkServer:
    """The server as its parent sees it; ends with the `with`."""

    def __init__(self, segment_bytes_max: int = 0, bug: str = "") -> None:
        """Journals get small segments, so that kills meet their rotation; 0: as ever.

        `bug` names one of `BUGS` to plant: whoever watches must see it.
        """
        self._lock = threading.Lock()
        self._child = subprocess.Popen(
            [sys.executable, __file__, str(segment_bytes_max), bug],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        self._ask({})

    def start(
        self, folder: Path, words: Sequence[str], environ: Mapping[str, str]
    ) -> int:
        """Begin the program in a folder; returns its process id."""
        asked = {"folder": str(folder), "words": list(words), "environ": dict(environ)}
        pid: int = self._ask(asked)["pid"]
        return pid

    def wait(self, pid: int) -> int:
        """Return the exit code of a process; negative: the signal that killed it."""
        code: int = self._ask({"wait": pid})["code"]
        return code

    def poll(self, pid: int) -> int | None:
        """Return the exit code of a process, or None while it goes on."""
        code: int | None = self._ask({"poll": pid})["code"]
        return code

    def kill(self, pid: int) -> int:
        """Kill a process for good, and return how it has ended."""
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
            told: dict[str, Any] = json.loads(stdout.readline())
        return told

    def close(self) -> None:
        """End the server; what it has started goes on."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        self._child.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class Forked:
    """A program that a server has started, as `subprocess.Popen` shows one."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or None while it goes on."""
        if self._code is None:
            self._code = self._server.poll(self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, for at most so many seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def shared() -> ForkServer:
    """One for all tests of this process."""
    server = ForkServer()
    atexit.register(server.close)
    return server


# -- the server itself ---------------------------------------------------------


def _serve(segment_bytes_max: int, bug: str) -> None:
    _load()
    if segment_bytes_max:
        _shrink(segment_bytes_max)
    BUGS[bug]()
    # What is imported stays: neither a fork nor its end looks through it again.
    gc.freeze()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        told: dict[str, Any] = {}
        if "wait" in asked:
            told["code"] = _ended(asked["wait"], 0)
        elif "poll" in asked:
            told["code"] = _ended(asked["poll"], os.WNOHANG)
        elif "words" in asked:
            told["pid"] = os.fork()
            if told["pid"] == 0:
                _become(asked)
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _ended(pid: int, how: int) -> int | None:
    done, status = os.waitpid(pid, how)
    return os.waitstatus_to_exitcode(status) if done else None


def _load() -> None:
    """Import what the program will import, the SDK first."""
    import importlib

    for name in (
        "anthropic",
        "anthropic.types",
        "fanout.world.wire.api",
        "fanout_tui.command.running",
        "fanout_tui.plain",
        "fanout_tui.jsonlines",
    ):
        importlib.import_module(name)


def _shrink(segment_bytes_max: int) -> None:
    from fanout.disk.journal import Journal

    defaults = Journal.__init__.__kwdefaults__
    assert "segment_bytes_max" in defaults
    defaults["segment_bytes_max"] = segment_bytes_max


def _no_bug() -> None:
    pass


def _waits_for_no_disk() -> None:
    """Seen on a disk that takes its time: else a kill seldom comes in between."""
    import time

    from fanout.disk.segment import Segment
    from fanout.world.core import Core

    write = Segment.write

    def late(self: Segment, *given: Any) -> None:
        time.sleep(0.2)
        write(self, *given)

    Segment.write = late  # type: ignore[method-assign]
    Core.after = lambda _core, _seq, then: then()  # type: ignore[method-assign]


def _finds_nothing() -> None:
    from fanout.disk.reuse import Reuse

    Reuse.take = lambda *_: None  # type: ignore[method-assign]
    Reuse.partial = lambda *_: None  # type: ignore[method-assign]


BUGS = {
    "": _no_bug,
    "waits for no disk": _waits_for_no_disk,
    "finds nothing of earlier lives": _finds_nothing,
}


def _become(asked: Mapping[str, Any]) -> NoReturn:
    """In the child: be the program, and end as it does."""
    os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    _redirect()
    # As `python -m` has them.
    sys.path[0] = asked["folder"]
    sys.argv = ["fanout-tui", *asked["words"]]
    from fanout_tui.__main__ import main

    main()
    raise AssertionError("the program ends by itself")


def _redirect() -> None:
    """Give the child an empty input and files for what it says."""
    for fd, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, "out", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, "err", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(name, flags, 0o600)
        os.dup2(opened, fd)
        os.close(opened)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
