"""A simulated account as the parent sees it: a child process and its addresses.

Standard library only, and no event loop: the parent holds the child's stdin, and
lets go of it to end it. The child's stderr goes to a file or nowhere, never to a
terminal that a screen is drawn on.
"""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

STOP_SECONDS = 3.0


class SimulatorError(RuntimeError):
    """The simulated account could not be started; the text says why."""


@dataclass(slots=True)
class SimulatedAccount:
    """A running simulated account; a context manager that ends it."""

    url: str
    """The base URL for a client."""
    control_url: str
    """Where `state`, `set` and `reset` are."""
    profile: str
    limits: dict[str, int]
    """Requests, input tokens and output tokens per minute."""
    _child: "subprocess.Popen[bytes]"

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
        """Start one and return once it listens; `extra` is laid over the profile."""
        child = _spawn(profile, seed, extra or {}, port, stderr)
        told = _first_line(child)
        if "url" not in told:
            _end(child)
            raise SimulatorError(
                told.get("error", "the simulated account did not start")
            )
        return cls(told["url"], told["control"], told["profile"], told["limits"], child)

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


def _spawn(
    profile: str, seed: int, extra: dict[str, Any], port: int, stderr: Path | None
) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable, "-m", "fanout.simulator",
        "--profile", profile,
        "--seed", str(seed),
        "--port", str(port),
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
