"""One script and its run: which rows it claimed, and how it waits for them.

There is one session in a process at a time; whatever loop or thread the script
uses finds it with `current`. It talks to the engine through
its port only.

    agent()   ─▶ built     remembered until it is scheduled, else never started
    await     ─▶ enlist    claimed now, sent with all others of the same tick
    parallel  ─▶ claim     all or nothing, then `send`
    collect   ─▶ waits, reopened rows included

A key or an output that is claimed twice is a `UsageError`, raised before
anything of the same batch was sent. After `stop` no await returns to the
script any more: each raises `CancelledError`.
"""

import asyncio
import os
import shlex
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath

from fanout.errors import UsageError
from fanout.script.tickets import Ticket, outcomes
from fanout.words.budgets import Budget
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import AgentOrder, EnginePort, RowOutcome

CANCELLED = "cancelled by the script"
NEVER_STARTED = "the script made it and never started it"

NO_BUDGET = Budget()


@dataclass(slots=True)
class _Batch:
    """Agents awaited in one tick of one loop; sent together or not at all."""

    entries: list[tuple[AgentOrder, Ticket]] = field(default_factory=list)
    error: UsageError | None = None


class Session:
    """What the running script has claimed, and what it still waits for."""

    def __init__(self, port: EnginePort) -> None:
        self.port = port
        self.ending = False
        """The engine or the end of `main` decides about rows, not the script."""
        self.stopped = False
        self._lock = threading.RLock()
        self._tickets: dict[RowId, Ticket] = {}
        self._outputs: dict[PurePosixPath, RowId] = {}
        self._folders: dict[PurePosixPath, RowId] = {}
        self._batches: dict[asyncio.AbstractEventLoop, _Batch] = {}
        self._built: dict[int, RowId] = {}
        self._waits: dict[asyncio.Task[object], asyncio.AbstractEventLoop] = {}
        self._numbers = count()
        self._phases: set[str] = set()
        self._process = os.getpid()

    # What is declared

    def enter(
        self,
        phase: str,
        allow_missing: str | None = None,
        budget: Budget = NO_BUDGET,
    ) -> None:
        """Declare a phase; the engine hears of it once, and of all that is stated."""
        with self._lock:
            if phase in self._phases and allow_missing is None and budget.is_none:
                return
            self._phases.add(phase)
        self.port.enter_phase(phase, allow_missing, budget)

    def built(self, row: RowId) -> int:
        """Remember an agent until `started` is told its number."""
        number = next(self._numbers)
        self._built[number] = row
        return number

    def started(self, number: int | None) -> None:
        """The agent of this number is scheduled."""
        if number is not None:
            self._built.pop(number, None)
            if not self._built:
                self._built.clear()  # a dict keeps its room for what it once held

    def claim_row(self, row: RowId) -> Ticket:
        """Take a row that no agent makes (`client(key=…)`)."""
        with self._lock:
            self._refuse_twice(row)
            ticket = self._tickets[row] = Ticket(row)
        return ticket

    def claim(self, orders: Sequence[AgentOrder]) -> list[Ticket]:
        """Take all these rows, or raise `UsageError` and take none."""
        taken: list[Ticket] = []
        with self._lock:
            try:
                for order in orders:
                    taken.append(self._take(order))  # noqa: PERF401  kept on error
            except UsageError:
                self._give_back(taken)
                raise
        return taken

    # What is sent

    def send(self, orders: Sequence[AgentOrder]) -> None:
        """Hand claimed orders to the engine, in one go."""
        self.proceed()
        self._enter_all([order.row for order in orders])
        for order in orders:
            self._tickets[order.row].told = True
        if orders:
            self.port.schedule(orders, self._on_end, self._on_reopen)

    def expect(self, rows: Sequence[RowId]) -> None:
        """Declare rows ahead."""
        self._enter_all(rows)
        if rows:
            self.port.expect(list(dict.fromkeys(rows)))

    def unclaimed(self, rows: Sequence[RowId]) -> list[RowId]:
        """Those of `rows` that no agent has taken."""
        return [row for row in rows if row not in self._tickets]

    def withdraw(self, row: RowId) -> None:
        """Another row took the place of this one, which was declared ahead."""
        if row not in self._tickets:
            self.port.withdraw([row])

    def _enter_all(self, rows: Sequence[RowId]) -> None:
        for phase in dict.fromkeys(row.phase for row in rows):
            self.enter(phase)

    def enlist(self, order: AgentOrder) -> Ticket:
        """Claim one order; it is sent with the others of this tick."""
        self.proceed()
        loop = asyncio.get_running_loop()
        batch = self._batches.get(loop)
        if batch is None:
            batch = self._batches[loop] = _Batch()
            loop.call_soon(self._flush, loop)
        try:
            (ticket,) = self.claim([order])
        except UsageError as error:
            batch.error = error
            raise
        batch.entries.append((order, ticket))
        return ticket

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._batches.pop(loop)
        if batch.error is not None:
            self._give_back([ticket for _, ticket in batch.entries])
            for _, ticket in batch.entries:
                self.built(ticket.row)
                ticket.fail(batch.error)
            return
        if self.stopped:
            return
        self.send([order for order, ticket in batch.entries if ticket.holders])
        dropped = [ticket.row for _, ticket in batch.entries if not ticket.holders]
        self.skip(dropped, MissingKind.CANCELLED, CANCELLED)

    def skip(self, rows: Sequence[RowId], kind: MissingKind, reason: str) -> None:
        """Rows that will not be scheduled end as missing."""
        self.expect(rows)
        for row in rows:
            self.port.finish_missing(row, kind, reason)
            if (ticket := self._tickets.get(row)) is not None:
                ticket.told = True
                ticket.settle(RowOutcome(row=row, done=False, kind=kind, reason=reason))

    # What is waited for

    def proceed(self) -> None:
        """Return when the script may go on; else it is cancelled, again."""
        if os.getpid() != self._process:
            raise UsageError(
                "agents cannot be used in a copy of the process (os.fork)",
                hint="start programs with subprocess, or multiprocessing's `spawn`",
            )
        if self.stopped:
            raise asyncio.CancelledError

    async def collect(self, tickets: Sequence[Ticket]) -> list[RowOutcome]:
        """Return all outcomes once every row has ended, reopened ones too.

        Cancelled, it gives up the rows that nobody else waits for.
        """
        self.proceed()
        found: list[RowOutcome] | None = None
        for ticket in tickets:
            ticket.holders += 1
        try:
            while (found := outcomes(tickets)) is None:
                for ticket in tickets:
                    await ticket.ended()
        finally:
            for ticket in tickets:
                ticket.holders -= 1
            if found is None:
                self._abandon(tickets)
        self.proceed()
        return found

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let `stop` cancel the task that waits for something else in here."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self.proceed()
        self._waits[task] = loop
        try:
            yield
        finally:
            self._waits.pop(task, None)
        self.proceed()

    def _abandon(self, tickets: Iterable[Ticket]) -> None:
        if self.ending:
            return
        for ticket in tickets:
            if ticket.told and not ticket.holders and ticket.outcome is None:
                self.port.finish_missing(ticket.row, MissingKind.CANCELLED, CANCELLED)

    # How it ends

    def stop(self) -> None:
        """Cancel whoever waits, and whoever will; from any thread."""
        self.ending = True
        self.stopped = True
        with self._lock:
            tickets = list(self._tickets.values())
        for ticket in tickets:
            ticket.cancel_waiters()
        for task, loop in list(self._waits.items()):
            # A loop that was closed has no task left to cancel.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    def close(self, *, returned: bool) -> None:
        """Say which agents were built and never awaited; `main` has ended.

        Nothing can be scheduled any more.
        """
        self.ending = True
        self.stopped = True
        with self._lock:
            known = {row for row, ticket in self._tickets.items() if ticket.told}
            claimed = [*self._built.values(), *self._tickets]
            rows = [row for row in dict.fromkeys(claimed) if row not in known]
            self._built.clear()
        if returned:
            self.skip(rows, MissingKind.NEVER_STARTED, NEVER_STARTED)
        else:
            # How a broken or stopped script's rows end is the engine's to say.
            self.expect(rows)

    def _on_end(self, outcome: RowOutcome) -> None:
        self._tickets[outcome.row].settle(outcome)

    def _on_reopen(self, row: RowId) -> None:
        self._tickets[row].reopen()

    # Who has what

    def _take(self, order: AgentOrder) -> Ticket:
        self._refuse_twice(order.row)
        if order.output is not None:
            self._take_output(PurePosixPath(order.output), order.row)
        ticket = self._tickets[order.row] = Ticket(order.row)
        return ticket

    def _refuse_twice(self, row: RowId) -> None:
        if row in self._tickets:
            raise UsageError(
                f"two agents have the key `{row.key}` in the phase `{row.phase}`",
                hint=f'give each its own, such as key=f"{row.key}/{{n}}"',
            )

    def _take_output(self, written: PurePosixPath, row: RowId) -> None:
        path = one_file(written)
        folders = path.parents[:-1]
        rival = self._outputs.get(path) or self._folders.get(path)
        for folder in folders:
            rival = rival or self._outputs.get(folder)
        if rival is not None:
            raise UsageError(
                f"`{rival}` and `{row}` cannot both write the output `{written}`",
                hint='name outputs by key, such as output=f"findings/{key}.json"',
            )
        self._outputs[path] = row
        for folder in folders:
            self._folders.setdefault(folder, row)

    def _give_back(self, tickets: Iterable[Ticket]) -> None:
        with self._lock:
            gone = {ticket.row for ticket in tickets}
            for row in gone:
                self._tickets.pop(row, None)
            for table in (self._outputs, self._folders):
                for path in [path for path, row in table.items() if row in gone]:
                    del table[path]


def one_file(path: PurePosixPath) -> PurePosixPath:
    """Return the one spelling of what is one file on this system's disks."""
    if sys.platform != "darwin":
        return path
    return PurePosixPath(unicodedata.normalize("NFD", str(path)).casefold())


_current: Session | None = None


def current() -> Session:
    """The session of the script that runs; `UsageError` outside of a run."""
    if _current is None:
        raise UsageError(
            "there is no run here",
            hint=f"run the script with `fanout-tui {_program()}`, not with `python`",
        )
    return _current


def _program() -> str:
    """Return the file that Python runs, as it was typed."""
    name = sys.argv[0] if sys.argv else ""
    return shlex.quote(name) if name.endswith(".py") else "script.py"


def current_or_none() -> Session | None:
    """The session of the script that runs, if one does."""
    return _current


def make_current(session: Session | None) -> None:
    """Let the script find `session`; it stays, for tools that outlive `main`."""
    global _current  # noqa: PLW0603  one process runs one script
    _current = session
