"""A real terminal for a child process: a pty whose output is kept."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from typing import Any

from canary import CANARY

ROOT = Path(__file__).parent.parent.parent


class Terminal:
    """Runs a Python program on a pty of a given size."""

    def __init__(self, code: str, size: tuple[int, int] = (80, 24), **env: str) -> None:
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            paths = os.pathsep.join(map(str, (ROOT / "core", ROOT / "tui")))
            os.environ.update(env, TERM="xterm-256color", PYTHONPATH=paths)
            os.environ["ANTHROPIC_API_KEY"] = CANARY
            os.environ.pop("NO_COLOR", None)
            # Whatever the tests run under, a terminal that is gone must not turn
            # an exit into a failure to flush.
            os.environ["PYTHONUNBUFFERED"] = "1"
            os.environ.pop("COLUMNS", None)
            os.environ.pop("LINES", None)
            os.execv(sys.executable, [sys.executable, "-c", code])
        window = struct.pack("HHHH", size[1], size[0], 0, 0)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, window)

    def read_until(self, wanted: bytes, seconds: float = 20.0) -> bytes:
        """Everything up to and with `wanted`; fails when it does not come."""
        end = time.monotonic() + seconds
        while wanted not in self.output:
            left = end - time.monotonic()
            assert left > 0, f"{wanted!r} did not come: {self.output[-2000:]!r}"
            if not self._read(left):
                assert wanted in self.output, self.output[-2000:]
        return self.output

    def attributes(self) -> list[Any]:
        """How the terminal is set: echo, line mode and the like."""
        return termios.tcgetattr(self.fd)

    def read_all(self, seconds: float) -> bytes:
        """Everything up to the child's end, also where it is tens of megabytes."""
        end = time.monotonic() + seconds
        chunks = []
        while ready := select.select([self.fd], [], [], end - time.monotonic())[0]:
            try:
                data = os.read(self.fd, 1 << 20)
            except OSError:
                break
            chunks.append(data)
            if not data:
                break
        assert ready, f"it does not end: {b''.join(chunks[-3:])!r}"
        self.output += b"".join(chunks)
        return self.output

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65_536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def settle(self, quiet: float = 0.15) -> None:
        """Read until nothing has come for a moment."""
        before = -1
        while before != len(self.output):
            before = len(self.output)
            self._read(quiet)

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float = 20.0) -> int:
        """The exit code, after reading everything."""
        end = time.monotonic() + seconds
        while self._read(0.2) and time.monotonic() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                while select.select([self.fd], [], [], 0)[0] and self._read(0):
                    pass
                return os.waitstatus_to_exitcode(status)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed does."""
        os.close(self.fd)
        self.fd = os.open(os.devnull, os.O_RDONLY)

    def exit_code(self, seconds: float = 20.0) -> int:
        """The exit code of a child whose output nobody reads any more."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            select.select([], [], [], 0.02)
        raise AssertionError("the child does not end")

    def close(self) -> None:
        """End the child, if it is still there; what it has shown holds no key."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)
        assert CANARY.encode() not in self.output
