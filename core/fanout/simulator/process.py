"""A simulated account as the parent sees it: a child process and its addresses.

Standard library only, and no event loop: the parent holds the child's stdin, and
lets go of it to end it. The child's stderr goes to a file or nowhere, never to a
terminal that a screen is drawn on.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

BUILT_IN = ("demo", "evaluation", "start", "build", "scale")
"""The profiles that come with the product."""
HOST = "127.0.0.1"
BACKLOG = 4_096
STOP_SECONDS = 3.0


class SimulatorError(RuntimeError):
    """The simulated account could not be started; the text says why."""


class SimulatedAccount:
    """A running simulated account; a context manager that ends it."""

    def __init__(self, port: int, child: "subprocess.Popen[bytes]") -> None:
        self.url = f"http://{HOST}:{port}"
        """The base URL for a client."""
        self.control_url = f"{self.url}/_control"
        """Where `state`, `set` and `reset` are."""
        self._child = child
        self._told: dict[str, Any] | None = None
        self._lock = threading.Lock()

    @classmethod
    def begin(
        cls,
        profile: str = "evaluation",
        seed: int = 0,
        extra: dict[str, Any] | None = None,
        *,
        port: int = 0,
        stderr: Path | None = None,
    ) -> Self:
        """Start one and return at once: what connects is served when it has begun."""
        with _listening(port) as listener:
            child = _spawn(profile, seed, extra or {}, listener, stderr)
            return cls(listener.getsockname()[1], child)

    @classmethod
    def start(
        cls,
        profile: str = "evaluation",
        seed: int = 0,
        extra: dict[str, Any] | None = None,
        *,
        port: int = 0,
        stderr: Path | None = None,
    ) -> Self:
        """Start one and return once it serves; `extra` is laid over the profile."""
        account = cls.begin(profile, seed, extra, port=port, stderr=stderr)
        account.await_ready()
        return account

    def await_ready(self) -> dict[str, Any]:
        """Wait until it serves; return what it says of itself."""
        with self._lock:
            if self._told is None:
                told = _first_line(self._child)
                if "profile" not in told:
                    _end(self._child)
                    raise SimulatorError(
                        told.get("error", "the simulated account did not start")
                    )
                self._told = told
            return self._told

    @property
    def profile(self) -> str:
        """The name of its profile."""
        name: str = self.await_ready()["profile"]
        return name

    @property
    def limits(self) -> dict[str, int]:
        """Requests, input tokens and output tokens per minute."""
        limits: dict[str, int] = self.await_ready()["limits"]
        return limits

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """Whether the child lives."""
        return self._child.poll() is None

    def stop(self) -> None:
        """End the child; harmless if it has ended."""
        _end(self._child)

    def state(self, requests: int = 200) -> dict[str, Any]:
        """The account's own truth, with the last `requests` one by one."""
        return self._ask(f"state?requests={requests}", None)

    def set(self, **wishes: Any) -> dict[str, Any]:
        """Change the profile from now on; the words are the profile's own."""
        return self._ask("set", wishes)

    def reset(self) -> None:
        """Start the account anew under its first profile."""
        self._ask("reset", {})

    def _ask(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        # Only tests ask; whoever starts a screen need not wait for this import.
        import urllib.error  # noqa: PLC0415
        import urllib.request  # noqa: PLC0415

        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.control_url}/{path}", data, timeout=10) as reply:
                told: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise SimulatorError(error.read().decode("utf-8", "replace")) from error
        return told

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()


def _listening(port: int) -> socket.socket:
    """Listen in the child's place: who connects before it serves has to wait."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SimulatorError(f"port {port}: {error.strerror}") from error
    return listener


def _spawn(
    profile: str,
    seed: int,
    extra: dict[str, Any],
    listener: socket.socket,
    stderr: Path | None,
) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable, "-m", "fanout.simulator",
        "--profile", profile,
        "--seed", str(seed),
        "--listener", str(listener.fileno()),
        "--extra", json.dumps(extra),
        "--parent", str(os.getpid()),
        "--until-stdin-closes",
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        sink: int | IO[bytes] = subprocess.DEVNULL
        if stderr is not None:
            sink = stack.enter_context(stderr.open("ab"))
        # Its own session: a Ctrl-C at the terminal is the parent's to handle.
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            pass_fds=(listener.fileno(),),
            start_new_session=True,
        )


def _first_line(child: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert child.stdout is not None
    line = child.stdout.readline()
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return told


def _close(child: "subprocess.Popen[bytes]") -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _end(child: "subprocess.Popen[bytes]") -> None:
    _close(child)
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
