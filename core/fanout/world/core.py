"""The one writer: inbox, journal, state and account, and how a fact travels.

    post(message) ─▶ inbox ─▶ a desk's handler ─▶ record(event)
                                                    │ journal.append
                                                    │ apply(state, record)
                                                    ▼
                              plan(account, now) ─▶ starts ─▶ a desk performs

Everything that reaches the engine is a message: orders of the script, commands
of the screen, outcomes of calls. Desks (`agents`, `clients`, `stopping`) know
what each means; they change the run through `record` and nothing else. What may
happen only once a fact is on disk is handed to `after`.

The core runs on one loop. Other threads use `post`, which is all they may call.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, Protocol

from fanout.decide.admission.account import Account
from fanout.decide.admission.estimate import Estimator
from fanout.decide.admission.planner import Decision
from fanout.decide.fold.state import RunState, apply
from fanout.decide.forecast.outlook import Outlook
from fanout.decide.shown import Shown
from fanout.words.events import DURABLE, Event, Record
from fanout.words.model import Cause, RowId
from fanout.words.snapshot import Gate, Live
from fanout.world.clock import Clock

LOG_LINES_HELD = 100_000
"""A script that prints more than this between two snapshots outruns plain output."""


class Store(Protocol):
    """Where records go; `fanout.disk.journal` and its twin in memory."""

    @property
    def committed(self) -> int:
        """Number of the newest record that is safe on disk."""
        ...

    @property
    def failure(self) -> Exception | None:
        """What the disk said, while nothing is written until `retry`."""
        ...

    @property
    def short(self) -> bool:
        """The disk was full, and has not got its room back."""
        ...

    def append(self, event: Event, at: float) -> Record:
        """Number the event and take it; returns at once."""
        ...

    def retry(self) -> None:
        """Try again after the disk had refused."""
        ...


class Core:
    """What all desks share."""

    def __init__(
        self,
        *,
        store: Store,
        state: RunState,
        account: Account,
        estimator: Estimator,
        clock: Clock,
    ) -> None:
        self.store = store
        self.state = state
        self.account = account
        self.estimator = estimator
        self.clock = clock
        self.outlook = Outlook()
        """What is left to do, and what agents of this run have used."""
        self.decision = Decision(starts=(), gates={}, look_again=None)
        """The last plan: what the screen says about waits."""
        self.live: dict[RowId, Live] = {}
        self.shown = Shown(LOG_LINES_HELD)
        """The newest lines of the log."""
        self.flying: set[RowId] = set()
        """Rows with a call, tools or a check under way."""
        self.gathering: Callable[[], Gate | None] = lambda: None
        """Why rows wait that gather for a batch."""
        self.set_aside: Callable[[], dict[str, Gate]] = dict
        """Why rows wait whose phase has reached its budget."""
        self.closed: Cause | None = None
        """Why nothing new is sent at all; None while it may be."""
        self.trouble = ""
        """What the disk refuses, while it does."""
        self.cramped: dict[RowId, str] = {}
        """Rows whose output found no room on its disk, and what was said."""
        self.durable_seq = 0
        """Number of the newest record that must be on disk before it is shown."""
        self._inbox: deque[object] = deque()
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._apart: set[asyncio.Task[None]] = set()
        self._pending: list[tuple[int, int, Callable[[], None]]] = []
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._ties = count()

    # -- messages ---------------------------------------------------------

    def bind(self, loop: asyncio.AbstractEventLoop, tasks: asyncio.TaskGroup) -> None:
        """Run on this loop from now on; what was posted before is kept."""
        self._loop = loop
        self._tasks = tasks
        self._wake.set()

    def post(self, message: object) -> None:
        """Put a message into the inbox, from any thread."""
        self._inbox.append(message)
        if self._loop is not None:
            # The loop may close between a look and the call.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def put(self, message: object) -> None:
        """Put a message into the inbox, from the engine's own loop."""
        self._inbox.append(message)
        self._wake.set()

    def turn_again(self) -> None:
        """Have the engine's next turn at once, for what is left of this one."""
        self._wake.set()

    def drain(self, upto: tuple[type, ...]) -> list[object]:
        """Take what lies in the inbox, the first message of types `upto` as the last.

        What is left makes `wait` return at once.
        """
        self._wake.clear()
        messages: list[object] = []
        while self._inbox and not (messages and isinstance(messages[-1], upto)):
            messages.append(self._inbox.popleft())
        if self._inbox:
            self._wake.set()
        return messages

    async def wait(self, look_again: float | None) -> None:
        """Sleep until something was posted, or is due, or `look_again`.

        Others on the loop have their turn in any case.
        """
        if self._wake.is_set():
            await asyncio.sleep(0)
            return
        times = [self._due[0][0]] if self._due else []
        if look_again is not None:
            times.append(look_again)
        if not times:
            await self._wake.wait()
            return
        delay = max(0.0, min(times) - self.clock.now())
        try:
            async with asyncio.timeout(delay):
                await self._wake.wait()
        except TimeoutError:
            return

    # -- facts ------------------------------------------------------------

    def record(self, event: Event) -> int:
        """Journal and apply a fact; returns its number."""
        record = self.store.append(event, self.clock.wall())
        apply(self.state, record)
        self.outlook.take_in(record)
        if isinstance(event, DURABLE):
            self.durable_seq = record.seq
        self.shown.take_in(record)
        return record.seq

    def after(self, seq: int, then: Callable[[], None]) -> None:
        """Call `then` once record `seq` is safe on disk; it must be a durable one."""
        heapq.heappush(self._pending, (seq, next(self._ties), then))

    def committed(self) -> None:
        """Do what was waiting for the disk."""
        whole = self.store.committed >= self.durable_seq
        mended = self.store.failure is None and not self.store.short
        if self.trouble and whole and mended:
            self.trouble = ""
        while self._pending and self._pending[0][0] <= self.store.committed:
            heapq.heappop(self._pending)[2]()

    @property
    def disk(self) -> str:
        """What keeps new work from being begun, of all that goes to disks."""
        return self.trouble or next(iter(self.cramped.values()), "")

    def give_disk_up(self) -> None:
        """Wait no longer for a disk that neither takes what it is given nor fails."""
        if self._pending and not self.trouble:
            self.trouble = "the disk does not answer"

    @property
    def unsettled(self) -> bool:
        """Something still waits for the disk, and there is hope for it."""
        given_up = self.trouble and self.state.stop is not None
        return bool(self._pending) and not given_up

    def at(self, when: float, then: Callable[[], None]) -> None:
        """Call `then` at this monotonic second."""
        heapq.heappush(self._due, (when, next(self._ties), then))

    def run_due(self) -> None:
        """Do what has come due."""
        now = self.clock.now()
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()

    def expect_input(self, model: str, phase: str, size: int) -> int:
        """Return the input tokens expected of so many bytes."""
        return self.estimator.input_of(model, phase, size)

    # -- the world --------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a performer; an exception of its own is a defect and ends the run."""
        assert self._tasks is not None, "the engine is not running"
        return self._tasks.create_task(work, name=name)

    def spawn_apart(
        self, work: Coroutine[Any, Any, None], name: str
    ) -> asyncio.Task[None]:
        """Start a stranger's code: the engine's end does not wait for it."""
        assert self._loop is not None, "the engine is not running"
        task = self._loop.create_task(work, name=name)
        self._apart.add(task)
        task.add_done_callback(self._apart_ended)
        return task

    def _apart_ended(self, task: asyncio.Task[None]) -> None:
        self._apart.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.put(task.exception())

    def leave(self) -> None:
        """The engine ends: whatever still runs apart is cancelled."""
        for task in tuple(self._apart):
            task.cancel()

    def until_wall(self, monotonic: float | None) -> float | None:
        """Turn a scheduling time into one for records and the screen."""
        if monotonic is None:
            return None
        return self.clock.wall() + (monotonic - self.clock.now())
