"""A script's side without an engine: a port that records, and answers as told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from fanout.words.budgets import Budget
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import AgentOrder, ClientOrder, ClientReply, RowOutcome

Answer = Callable[[AgentOrder], RowOutcome | None]
Reply = Callable[[ClientOrder], ClientReply | None]


def done(row: RowId, value: Any = "text", **more: Any) -> RowOutcome:
    return RowOutcome(row=row, done=True, value=value, attempts=1, **more)


def missing(
    row: RowId, kind: MissingKind = MissingKind.REJECTED, reason: str = "400"
) -> RowOutcome:
    return RowOutcome(row=row, done=False, kind=kind, reason=reason, attempts=1)


class FakePort:
    """Answers each order at once, unless `answer` gives None: then it is held."""

    def __init__(self) -> None:
        self.quiets: list[int] = []
        self.answer: Answer = lambda order: done(order.row)
        self.reply: Reply = lambda order: None
        self.budgets: dict[str, Budget] = {}
        self.phases: list[tuple[str, str | None]] = []
        self.expected: list[RowId] = []
        self.batches: list[list[AgentOrder]] = []
        self.finished: list[tuple[RowId, MissingKind, str]] = []
        self.withdrawn: list[RowId] = []
        self.notes: list[tuple[str, str]] = []
        self.calls: list[ClientOrder] = []
        self.cancelled: list[ClientOrder] = []
        self.on_end: dict[RowId, Callable[[RowOutcome], None]] = {}
        self.on_reopen: dict[RowId, Callable[[RowId], None]] = {}
        self.on_reply: list[Callable[[ClientReply], None]] = []

    @property
    def scheduled(self) -> list[RowId]:
        return [order.row for batch in self.batches for order in batch]

    def enter_phase(
        self, phase: str, allow_missing: str | None, budget: Budget
    ) -> None:
        if not budget.is_none:
            self.budgets[phase] = budget
        self.phases.append((phase, allow_missing))

    def expect(self, rows: Sequence[RowId]) -> None:
        self.expected.extend(rows)

    def schedule(
        self,
        orders: Sequence[AgentOrder],
        on_end: Callable[[RowOutcome], None],
        on_reopen: Callable[[RowId], None],
    ) -> None:
        self.batches.append(list(orders))
        for order in orders:
            self.on_end[order.row] = on_end
            self.on_reopen[order.row] = on_reopen
            if (outcome := self.answer(order)) is not None:
                on_end(outcome)

    def end(self, outcome: RowOutcome) -> None:
        self.on_end[outcome.row](outcome)

    def reopen(self, row: RowId) -> None:
        self.on_reopen[row](row)

    def call(self, order: ClientOrder, on_reply: Callable[[ClientReply], None]) -> None:
        self.calls.append(order)
        self.on_reply.append(on_reply)
        if (reply := self.reply(order)) is not None:
            on_reply(reply)

    def cancel_call(self, order: ClientOrder) -> None:
        self.cancelled.append(order)

    def finish_missing(self, row: RowId, kind: MissingKind, reason: str) -> None:
        self.finished.append((row, kind, reason))

    def withdraw(self, rows: Sequence[RowId]) -> None:
        self.withdrawn.extend(rows)

    def quiet(self, number: int) -> None:
        self.quiets.append(number)

    def note(self, source: str, text: str) -> None:
        self.notes.append((source, text))


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def called(port: FakePort, count: int = 1) -> None:
    """Wait until the SDK has come that far; it takes turns of the loop, not time."""
    for _ in range(10_000):
        if len(port.calls) >= count:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{len(port.calls)} calls, not {count}")
