"""The process of a simulated account: its arguments, its listener, its end.

It never outlives who started it. Three ties, since no single one is everywhere:
the end of stdin, a signal from the kernel at the parent's death (Linux), and a
look at the parent's id twice a second.
"""

import argparse
import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import sys

from aiohttp import web

from fanout.simulator import profile as profiles
from fanout.simulator.account import Account
from fanout.simulator.clock import SystemClock
from fanout.simulator.control import Control
from fanout.simulator.process import BACKLOG, HOST
from fanout.simulator.profile import Profile, ProfileError
from fanout.simulator.server import Service

_TICK_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1
_BODY_BYTES_READ = 320 * 1024 * 1024


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fanout.simulator")
    parser.add_argument("--profile", default="evaluation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--extra", default="{}", help="JSON laid over the profile")
    parser.add_argument("--until-stdin-closes", action="store_true")
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--listener", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Serve until stopped; 2 if the profile cannot be used."""
    given = arguments(words)
    _tie_to_parent(given.parent)
    try:
        profile = profiles.load(given.profile, json.loads(given.extra))
    except (ProfileError, ValueError) as error:
        _say({"error": str(error)})
        sys.stderr.write(f"{error}\n")
        return 2
    _raise_file_limit()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(profile, given))
    return 0


def _tie_to_parent(parent: int) -> None:
    if parent and os.getppid() != parent:
        sys.exit(0)
    parent = os.getppid()

    def orphaned(_number: int, _frame: object) -> None:
        # The kernel also tells when only the *thread* that started us has ended.
        if os.getppid() != parent:
            os._exit(0)

    if sys.platform == "linux":
        signal.signal(signal.SIGUSR1, orphaned)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)


def _raise_file_limit() -> None:
    try:
        import resource  # noqa: PLC0415  # there is none on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 65_536) if hard != resource.RLIM_INFINITY else 65_536
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


class Listener:
    """The listening socket, which a staged fault may close for a while."""

    def __init__(
        self, runner: web.AppRunner, port: int, given: int | None = None
    ) -> None:
        """`given` is the descriptor of a socket that listens already."""
        self._runner = runner
        self._port = port
        self._given = None if given is None else socket.socket(fileno=given)
        self._site: web.BaseSite | None = None

    async def open(self) -> int:
        """Listen, and tell the port."""
        if self._site is None:
            self._site = self._made()
            await self._site.start()
            self._port = self._runner.addresses[0][1]
        return self._port

    def _made(self) -> web.BaseSite:
        listener, self._given = self._given, None
        if listener is not None:
            return web.SockSite(self._runner, listener, backlog=BACKLOG)
        return web.TCPSite(
            self._runner, HOST, self._port, backlog=BACKLOG, reuse_address=True
        )

    async def close(self) -> None:
        """Refuse new connections; open ones live on."""
        if self._site is not None:
            site, self._site = self._site, None
            await site.stop()


def application(service: Service, control: Control) -> web.Application:
    """All paths of the account."""
    app = web.Application(client_max_size=_BODY_BYTES_READ)
    app.add_routes([*control.routes(), *service.routes()])
    return app


async def serve(profile: Profile, given: argparse.Namespace) -> None:
    """Serve one account until stdin closes, the parent dies, or a signal comes."""
    clock = SystemClock()
    service = Service(Account(profile, given.seed, clock.now()), clock)
    changed = asyncio.Event()
    control = Control(service, clock, changed.set)
    runner = web.AppRunner(
        application(service, control),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=profile.server.keepalive_seconds,
        shutdown_timeout=0.2,
    )
    await runner.setup()
    listener = Listener(runner, given.port, given.listener)
    port = await listener.open()
    _announce(profile, f"http://{HOST}:{port}")
    stopped = asyncio.Event()
    _watch_signals(stopped)
    if given.until_stdin_closes:
        _watch_stdin(stopped)
    parent = os.getppid()
    while not stopped.is_set() and os.getppid() == parent:
        service.account.batches.settle(clock.now())
        if service.account.refuses_connections(clock.now()):
            await listener.close()
        else:
            await listener.open()
        changed.clear()
        await _either(changed, stopped)
    await runner.cleanup()


async def _either(first: asyncio.Event, second: asyncio.Event) -> None:
    waits = [asyncio.create_task(first.wait()), asyncio.create_task(second.wait())]
    await asyncio.wait(
        waits, timeout=_TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    for wait in waits:
        wait.cancel()


def _announce(profile: Profile, url: str) -> None:
    line: dict[str, object] = {
        "url": url,
        "control": f"{url}/_control",
        "profile": profile.name,
        "limits": profile.limits.model_dump(),
    }
    _say(line)


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _watch_signals(stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)


def _watch_stdin(stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    handle = sys.stdin.fileno()

    def readable() -> None:
        if not os.read(handle, 4_096):
            loop.remove_reader(handle)
            stopped.set()

    try:
        loop.add_reader(handle, readable)
    except PermissionError:
        # A file cannot be watched, and has ended as soon as it is read.
        stopped.set()
    except NotImplementedError:
        return
