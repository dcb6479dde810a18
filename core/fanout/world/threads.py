"""A run on threads of its own, and the handle that screens and signals hold.

    main thread      Textual, or plain output; pulls snapshots, sends commands
    engine thread    the engine's loop: admission, calls, journal, state
    script thread    the script's loop: `main`, its tasks, its blocking code

Between them go messages and snapshots, nothing else. A terminal that stops
reading blocks the first thread only, a script that computes for seconds the
third only; calls in flight stay healthy meanwhile. What holds the interpreter
lock itself (one C call that never releases it) holds all three: see
`watchdog`, which does not count such time against a stream.
"""

import asyncio
import threading
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from fanout.words.commands import Command
from fanout.words.snapshot import Snapshot
from fanout.world import messages as said
from fanout.world.engine import Engine

Build = Callable[["RunThread"], Awaitable[Engine]]
"""Builds the engine on its own loop; what it needs closed it gives to `closing`."""


class RunThread:
    """One life of a run, driven from other threads."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._thread = threading.Thread(target=self._main, name="engine", daemon=True)
        self._engine: Engine | None = None
        self._early: list[object] = []
        # A signal's handler posts too, and may interrupt a post of its own thread.
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._ready = threading.Event()
        self._last: Snapshot | None = None
        self.error: BaseException | None = None
        """What ended the engine, if it was not the run's own end."""
        self.tampered: Callable[[], str] = str
        """Names what the script has replaced that an engine cannot do without."""
        self.trace = ""
        """Its traceback, without values."""
        self.closing: list[Callable[[], Awaitable[Any]]] = []
        """Awaited at the end, last first."""

    # -- for other threads -------------------------------------------------

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot; None before the first."""
        engine = self._engine
        if engine is not None and engine.publisher.latest is not None:
            return engine.publisher.latest
        return self._last

    def ask(self) -> None:
        """Ask for a fresh snapshot."""
        engine = self._engine
        if engine is not None and not self._over.is_set():
            engine.publisher.wanted = True
            self.post(said.Wanted())

    def send(self, command: Command) -> None:
        """Have the engine carry out a command."""
        self.post(command)

    def post(self, message: object) -> None:
        """Put a message into the engine's inbox, also before there is one."""
        with self._lock:
            if self._engine is None:
                self._early.append(message)
                return
        self._engine.core.post(message)

    def close(self) -> None:
        """Nobody lingers any more."""
        self.post(said.Close())

    def finished(self) -> bool:
        """The engine has ended."""
        return self._over.is_set()

    @property
    def facts(self) -> int:
        """Number of the newest fact: whether the engine still gets somewhere."""
        return self._engine.core.state.seq if self._engine is not None else 0

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the engine's end; says whether it has come."""
        return self._over.wait(timeout)

    @property
    def engine(self) -> Engine | None:
        """The engine, once it was built."""
        return self._engine

    # -- the engine's thread -----------------------------------------------

    def _main(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001  told to whoever waits
            self.error = error
            self.trace = "".join(traceback.format_exception(error))
            if self._engine is not None:
                self._engine.publisher.crash(self.tampered())
        finally:
            self._over.set()

    async def _live(self) -> None:
        try:
            engine = await self._build(self)
            with self._lock:
                self._engine = engine
                for message in self._early:
                    engine.core.post(message)
                self._early.clear()
            await engine.run()
            engine.publisher.latest = engine.publisher.build()
        finally:
            for close in reversed(self.closing):
                await close()
        # A tool that swallows its cancellation would hold the loop's own end up.
        self._over.set()
