"""Calls, whoever makes them: ask for a place, send, and say how it came back.

A row asks for one call at a time (`ask`). Its ticket waits in the account's
queue until the plan starts it; then the intent is journaled, and only when that
is on disk is anything sent. What comes back is classified once: an answer and a
final refusal go to whoever asked, everything else waits and is tried again
here, so that an agent's turn and a script's own `client()` are throttled,
retried and shown alike.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from aiolimiter import AsyncLimiter

from fanout.decide.account import Ticket
from fanout.decide.budget import Purse
from fanout.decide.losses import failed, given_up
from fanout.decide.order import priority
from fanout.decide.retry import Tries, Verdict, classify, next_try
from fanout.words.events import CallAbandoned, CallAdmitted, CallAnswered, CallRefused
from fanout.words.model import NO_USAGE, Cause, MissingKind, Need, RowId, Usage
from fanout.words.outcome import Answered, Broken, Outcome, Refused
from fanout.words.snapshot import Live
from fanout.world.core import Core
from fanout.world.messages import Came, InputKnown, Opened, Progressed
from fanout.world.watching import Watching

STARTS_PER_SECOND = 50
"""Hundreds of streams opened in one tick stall the loop for up to a second."""


class Sender(Protocol):
    """The API as calls see it."""

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Send one call and see it to its end."""
        ...


@dataclass(slots=True, kw_only=True)
class Request:
    """One call that a row asks for."""

    row: RowId
    model: str
    pool: str
    turn: int
    body: Callable[[], Mapping[str, Any]]
    """Builds the body when it is sent, so that queued rows hold none."""
    new_bytes: int
    known_input: int
    """Input tokens of the conversation, as the last call measured them."""
    cached: int
    """Tokens expected to be read from the prompt cache."""
    max_tokens: int
    on_answer: Callable[["Request", Answered, int], None]
    """Given the answer and the number of its record."""
    on_final: Callable[["Request", MissingKind, str, Outcome | None], None]
    """The call cannot succeed; nothing more will be tried."""
    path: str = "/v1/messages"
    headers: Mapping[str, str] = field(default_factory=dict)
    sink: Callable[[bytes], None] | None = None
    tries: Tries = field(default_factory=Tries)
    need: Need | None = None
    answer: Callable[[Answered], Any] = lambda outcome: outcome.message["content"]
    """What of an answer is journaled: its content blocks."""
    remaining: float = 0.0
    """Tokens this row is still expected to need, this call included."""

    @property
    def worst(self) -> Usage:
        """The most this call can use: all it may read, all it may write."""
        assert self.need is not None, "not asked yet"
        return self.need.worst


@dataclass(slots=True)
class _Flying:
    request: Request
    task: asyncio.Task[None] | None = None
    sent: bool = False
    usage: Usage = NO_USAGE
    kind: MissingKind = MissingKind.CANCELLED
    reason: str = "cancelled while its call was in flight"
    given_up: bool = False

    def give_up(self, kind: MissingKind, reason: str) -> None:
        """Cancel it; its end carries this kind and reason."""
        self.kind, self.reason, self.given_up = kind, reason, True
        if self.task is not None:
            self.task.cancel()


class Calls:
    """All calls of a run."""

    def __init__(
        self,
        core: Core,
        api: Sender,
        *,
        purse: Purse,
        chance: Callable[[], float],
        on_account: Callable[[str], None],
    ) -> None:
        self._core = core
        self._api = api
        self._purse = purse
        self._chance = chance
        self._on_account = on_account
        self._waiting: dict[RowId, Request] = {}
        self._flying: dict[int, _Flying] = {}
        self._spacing: AsyncLimiter | None = None

    @property
    def in_flight(self) -> int:
        """Calls admitted and not yet ended."""
        return len(self._flying)

    def ask(self, request: Request, ready: float = 0.0) -> None:
        """Queue a call; nothing of it is sent before the plan says so.

        `ready` is the monotonic second before which it stays out of line.
        """
        core = self._core
        request.need = core.estimator.need(
            model=request.model,
            phase=request.row.phase,
            turn=request.turn,
            new_bytes=request.new_bytes,
            known_input=request.known_input,
            cached=request.cached,
            max_tokens=request.max_tokens,
        )
        request.need = replace(request.need, cached=request.cached)
        self._waiting[request.row] = request
        core.account.enqueue(self._ticket(request, ready), core.clock.now())

    def _ticket(self, request: Request, ready: float) -> Ticket:
        assert request.need is not None
        row = self._core.state.rows[request.row]
        return Ticket(
            row=request.row,
            pool=request.pool,
            need=request.need,
            priority=priority(
                throttled=request.tries.limits + request.tries.troubles > 0,
                turns_done=request.turn - 1,
                remaining=request.remaining,
                order=row.order,
            ),
            ready=ready,
        )

    def give_up(self, row: RowId, kind: MissingKind, reason: str) -> bool:
        """Take a row's call back; says whether one is in flight.

        One in flight is cancelled, and ends with `kind` and `reason` by its
        `on_final` once what it may have cost is known.
        """
        if self._waiting.pop(row, None) is not None:
            self._core.account.withdraw(row)
        found = False
        for flying in self._flying.values():
            if flying.request.row == row:
                found = True
                flying.give_up(kind, reason)
        return found

    def give_up_all(self, kind: MissingKind, reason: str) -> None:
        """Take every call in flight back."""
        for flying in self._flying.values():
            flying.give_up(kind, reason)

    # -- the plan's starts -------------------------------------------------

    def refusal(self, ticket: Ticket) -> str:
        """Say why the budget does not allow a start; empty when it does."""
        request = self._waiting[ticket.row]
        return self._purse.refusal(request.model, request.worst)

    def start(self, ticket: Ticket) -> None:
        """Admit a call: journal the intent, then send it."""
        core = self._core
        request = self._waiting.pop(ticket.row)
        call = core.state.next_call
        seq = core.record(
            CallAdmitted(
                row=ticket.row,
                call=call,
                turn=request.turn,
                pool=ticket.pool,
                need=ticket.need,
            )
        )
        core.account.admitted(call, ticket, core.clock.now())
        self._purse.reserve(call, request.model, request.worst)
        flying = _Flying(request)
        self._flying[call] = flying
        core.flying.add(ticket.row)
        self._show(ticket.row, Live(cause=Cause.SENT, active_at=core.clock.wall()))
        core.after(seq, lambda: self._send(call, flying))

    def _send(self, call: int, flying: _Flying) -> None:
        if flying.given_up:
            # Given up while its intent was on the way to the disk.
            self._core.put(Came(flying.request.row, call, None, sent=False))
            return
        name = f"call {call} of {flying.request.row}"
        flying.task = self._core.spawn(self._perform(call, flying), name)

    async def _perform(self, call: int, flying: _Flying) -> None:
        request = flying.request
        outcome: Outcome | None = None
        try:
            if self._spacing is None:
                self._spacing = AsyncLimiter(1, 1 / STARTS_PER_SECOND)
            await self._spacing.acquire()
            flying.sent = True
            self._core.account.sent(call, self._core.clock.now())
            watcher = Watching(self._core, call, request.row, request.sink)
            outcome = await self._api.send(
                request.body(), watcher, path=request.path, headers=request.headers
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.uncancel() > 0:
                raise
        finally:
            self._core.put(Came(request.row, call, outcome, sent=flying.sent))

    # -- what came back ----------------------------------------------------

    def opened(self, message: Opened) -> None:
        """Headers at first byte: the account learns from them at once."""
        core = self._core
        core.account.opened(
            message.call, message.limits, core.clock.now(), core.clock.wall()
        )

    def input_known(self, message: InputKnown) -> None:
        """The input's true size."""
        if message.call in self._flying:
            self._flying[message.call].usage = message.usage
        now = self._core.clock.now()
        self._core.account.input_known(message.call, message.usage, now)

    def progressed(self, message: Progressed) -> None:
        """A stream goes on."""
        core = self._core
        if message.call not in self._flying:
            return
        core.account.progressed(message.call, message.output_tokens, core.clock.now())
        note = f"writes {message.doing}" if message.doing else ""
        self._show(
            message.row,
            Live(
                cause=Cause.STREAMING,
                note=note,
                output_tokens=message.output_tokens,
                active_at=core.clock.wall(),
            ),
        )

    def came(self, message: Came) -> None:
        """Settle a call and decide what follows."""
        core = self._core
        flying = self._flying.pop(message.call)
        request, outcome = flying.request, message.outcome
        core.flying.discard(message.row)
        core.live.pop(message.row, None)
        self._purse.settle(message.call)
        verdict = classify(outcome) if outcome is not None else None
        core.account.ended(
            message.call, outcome, verdict, core.clock.now(), core.clock.wall()
        )
        if outcome is None or verdict is None:
            self._abandoned(message, flying)
        elif isinstance(outcome, Answered):
            self._answered(message, request, outcome)
        else:
            self._refused(message, request, outcome, verdict)

    def _abandoned(self, message: Came, flying: _Flying) -> None:
        request = flying.request
        assert request.need is not None, "admitted without a need"
        wasted, doubt = given_up(request.need, flying.usage, sent=message.sent)
        self._purse.charge(request.model, wasted)
        self._purse.doubt(message.call, request.model, doubt)
        self._core.record(
            CallAbandoned(
                row=message.row,
                call=message.call,
                reason=flying.reason,
                wasted=wasted,
                in_doubt=doubt,
            )
        )
        request.on_final(request, flying.kind, flying.reason, None)

    def _answered(self, message: Came, request: Request, outcome: Answered) -> None:
        assert request.need is not None
        self._core.estimator.learn(
            model=request.model,
            phase=request.row.phase,
            turn=request.turn,
            new_bytes=request.new_bytes,
            known_input=request.known_input,
            cached=request.cached,
            usage=outcome.usage,
        )
        self._purse.charge(request.model, outcome.usage)
        seq = self._core.record(
            CallAnswered(
                row=message.row,
                call=message.call,
                usage=outcome.usage,
                stop_reason=outcome.message.get("stop_reason"),
                answer=request.answer(outcome),
                request_id=outcome.request_id,
                seconds=outcome.seconds,
            )
        )
        request.on_answer(request, outcome, seq)

    def _refused(
        self,
        message: Came,
        request: Request,
        outcome: Refused | Broken,
        verdict: Verdict,
    ) -> None:
        core = self._core
        now = core.clock.now()
        request.tries = request.tries.after(verdict, now)
        retry = next_try(verdict, request.tries, now, self._chance)
        until = max(retry.at or now, now + (verdict.retry_after or 0.0))
        assert request.need is not None, "admitted without a need"
        wasted, doubt = failed(request.need, outcome)
        self._purse.charge(request.model, wasted)
        self._purse.doubt(message.call, request.model, doubt)
        cause = verdict.cause or Cause.SERVICE
        core.record(
            CallRefused(
                row=message.row,
                call=message.call,
                cause=cause.value,
                status=getattr(outcome, "status", None),
                message=verdict.reason,
                until=core.until_wall(until),
                request_id=outcome.request_id,
                wasted=wasted,
                in_doubt=doubt,
            )
        )
        if verdict.stops_run:
            self._on_account(verdict.reason)
        if retry.at is None:
            kind = retry.missing or verdict.missing or MissingKind.REJECTED
            request.on_final(request, kind, retry.reason or verdict.reason, outcome)
            return
        self.ask(request, ready=retry.at)

    def _show(self, row: RowId, live: Live) -> None:
        self._core.live[row] = live
