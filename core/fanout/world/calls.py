"""Calls, whoever makes them: ask for a place, send, and say how it came back.

A row asks for one call at a time (`ask`). Its ticket waits in the account's
queue until the plan starts it; then the intent is journaled, and only when that
is on disk is anything sent. What comes back is classified once: an answer and a
final refusal go to whoever asked, everything else waits and is tried again
here, so that an agent's turn and a script's own `client()` are throttled,
retried and shown alike.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from fanout.decide.admission.line import Ticket
from fanout.decide.admission.retry import Verdict, classify
from fanout.decide.contexts import too_large
from fanout.decide.losses import failed, given_up
from fanout.decide.money.budget import Refusal
from fanout.words.events import CallAbandoned, CallAdmitted, CallAnswered, CallRefused
from fanout.words.model import NO_USAGE, Cause, MissingKind, RowId, Usage
from fanout.words.outcome import Answered, Broken, Outcome, Refused
from fanout.words.timeouts import Timeouts
from fanout.world.core import Core
from fanout.world.messages import Came, InputKnown, Opened, Progressed
from fanout.world.models import Models
from fanout.world.reaching import Reaching
from fanout.world.reckoning import Reckoning
from fanout.world.request import Request, Sender
from fanout.world.showing import Showing
from fanout.world.spend.budgets import Budgets
from fanout.world.watching import Watching

STARTS_PER_SECOND = 100
"""Hundreds of streams opened in one tick stall the loop for up to a second."""


@dataclass(slots=True)
class _Flying:
    request: Request
    task: asyncio.Task[None] | None = None
    sent: bool = False
    usage: Usage = NO_USAGE
    outcome: Outcome | None = None
    kind: MissingKind = MissingKind.CANCELLED
    reason: str = "cancelled while its call was in flight"
    given_up: bool = False
    ends_row: bool = False
    """The row is given up, not only its call: what came anyway changes nothing."""
    again: bool = False
    """It was not sent, and waits in line again."""


class Calls:
    """All calls of a run."""

    def __init__(
        self,
        core: Core,
        api: Sender,
        *,
        budgets: Budgets,
        chance: Callable[[], float],
        on_account: Callable[[str], None],
        timeouts: Timeouts,
    ) -> None:
        self._core = core
        self._showing = Showing(core, timeouts)
        self._api = api
        self._budgets = budgets
        self._purse = budgets.purses
        self._chance = chance
        self._on_account = on_account
        self._waiting: dict[RowId, Request] = {}
        self._flying: dict[int, _Flying] = {}
        self._spacing: AsyncLimiter | None = None
        self.models = Models()
        self.reckoning = Reckoning(core)
        self.reaching = Reaching(core)

    @property
    def in_flight(self) -> int:
        """Calls admitted and not yet ended."""
        return len(self._flying)

    def ask(self, request: Request, ready: float = 0.0) -> None:
        """Queue a call; nothing of it is sent before the plan says so.

        `ready` is the monotonic second before which it stays out of line.
        """
        core = self._core
        refusal = self.models.refusal(request.model)
        if refusal is not None:
            request.on_final(request, MissingKind.REJECTED, *refusal)
            return
        # The account prices the ask anew until it starts, by what it has learned.
        request.need = core.estimator.price(request.asks())
        order = core.state.rows[request.row].order
        past = request.past(core.estimator.paths, core.clock.now())
        ticket = request.ticket(request.need, order=order, past=past, ready=ready)
        models = self.models.seen(request.pool, request.model)
        core.account.name_models(request.pool, models)
        reads = ticket.need.input + ticket.need.cached
        too_much = too_large(request.model, reads)
        if too_much:
            request.on_final(request, MissingKind.REJECTED, too_much, None)
            return
        self._waiting[request.row] = request
        core.account.enqueue(ticket, core.clock.now())

    def give_up(self, row: RowId, kind: MissingKind, reason: str) -> bool:
        """Take a row's call back; says whether one is in flight.

        One in flight is cancelled, and ends with `kind` and `reason` by its
        `on_final` once what it may have cost is known.
        """
        self._budgets.forget(row)
        if self._waiting.pop(row, None) is not None:
            self._core.account.withdraw(row)
        found = False
        for call, flying in self._flying.items():
            if flying.request.row == row:
                found = True
                self._give_up(call, flying, kind, reason, ends_row=True)
        return found

    def give_up_all(
        self, kind: MissingKind, reason: str, *, unsent_only: bool = False
    ) -> None:
        """Take every call in flight back, or those of which nothing was sent."""
        for call, flying in self._flying.items():
            if not (unsent_only and flying.sent):
                self._give_up(call, flying, kind, reason, ends_row=False)

    def take_unsent_back(self, reason: str) -> None:
        """Put calls that were admitted and not yet sent back into the line."""
        for call, flying in self._flying.items():
            if not flying.sent and not flying.given_up:
                kind = MissingKind.CANCELLED
                self._give_up(call, flying, kind, reason, ends_row=False)
                flying.again = True

    def _give_up(
        self,
        call: int,
        flying: _Flying,
        kind: MissingKind,
        reason: str,
        *,
        ends_row: bool,
    ) -> None:
        """Cancel a call; its end carries this kind and reason."""
        first = not flying.given_up
        flying.kind, flying.reason, flying.given_up = kind, reason, True
        flying.ends_row = flying.ends_row or ends_row
        flying.again = False
        if flying.task is not None:
            flying.task.cancel()
        elif first:
            # Its intent is on the way to the disk, and may never arrive.
            self._core.put(Came(flying.request.row, call, None, sent=False))

    async def renew(self, text: str) -> None:
        """Have what flies cut, and connections opened anew."""
        await self._api.renew(text)

    # -- the plan's starts -------------------------------------------------

    def refusal(self, ticket: Ticket) -> Refusal | None:
        """Say why a budget does not allow a start; None when all do."""
        request = self._waiting[ticket.row]
        request.need = ticket.need
        return self._budgets.refusal(request)

    def set_aside(self, ticket: Ticket, refusal: Refusal) -> None:
        """Take a call out of line that does not fit into its phase or its agent."""
        request = self._waiting.pop(ticket.row)
        self._core.account.withdraw(ticket.row)
        self._budgets.refused(request, refusal)

    def waits(self, row: RowId) -> bool:
        """The row's call is in line."""
        return row in self._waiting

    def start(self, ticket: Ticket) -> None:
        """Admit a call: journal the intent, then send it."""
        core = self._core
        request = self._waiting.pop(ticket.row)
        request.need = ticket.need
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
        self._purse.reserve(ticket.row, call, request.model, request.worst)
        flying = _Flying(request)
        self._flying[call] = flying
        core.flying.add(ticket.row)
        self._showing.admitted(ticket.row)
        core.after(seq, lambda: self._send(call, flying))

    def _send(self, call: int, flying: _Flying) -> None:
        if flying.given_up:
            return
        name = f"call {call} of {flying.request.row}"
        flying.task = self._core.spawn(self._perform(call, flying), name)
        # Not in the coroutine: one that is cancelled before its first step never
        # gets to its end.
        flying.task.add_done_callback(lambda _: self._ended(call, flying))

    def _ended(self, call: int, flying: _Flying) -> None:
        row = flying.request.row
        self._core.put(Came(row, call, flying.outcome, sent=flying.sent))

    async def _perform(self, call: int, flying: _Flying) -> None:
        request = flying.request
        if self._spacing is None:
            self._spacing = AsyncLimiter(1, 1 / STARTS_PER_SECOND)
        await self._spacing.acquire()
        flying.sent = True
        self._core.account.sent(call, self._core.clock.now())
        watcher = Watching(self._core, call, request.row, request.deliver())
        flying.outcome = await self._api.send(
            request.body(), watcher, path=request.path, headers=request.headers
        )

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
        self._showing.progressed(message)

    def came(self, message: Came) -> None:
        """Settle a call and decide what follows."""
        core = self._core
        flying = self._flying.pop(message.call)
        request, outcome = flying.request, message.outcome
        core.flying.discard(message.row)
        core.live.pop(message.row, None)
        self._purse.settle(message.row, message.call)
        self.reaching.came(outcome)
        verdict = classify(outcome) if outcome is not None else None
        core.account.ended(
            message.call, outcome, verdict, core.clock.now(), core.clock.wall()
        )
        if outcome is None or verdict is None:
            self._abandoned(message, flying)
        elif isinstance(outcome, Answered):
            self._answered(message, request, outcome)
            if flying.ends_row:
                # The answer had come before the call could be cancelled.
                request.on_final(request, flying.kind, flying.reason, None)
        else:
            self._refused(message, flying, outcome, verdict)

    def _abandoned(self, message: Came, flying: _Flying) -> None:
        request = flying.request
        assert request.need is not None, "admitted without a need"
        wasted, doubt = given_up(request.need, flying.usage, sent=message.sent)
        self._purse.charge(request.row, request.model, wasted)
        self._purse.doubt(request.row, message.call, request.model, doubt)
        self._core.record(
            CallAbandoned(
                row=message.row,
                call=message.call,
                reason=flying.reason,
                wasted=wasted,
                in_doubt=doubt,
            )
        )
        if flying.again and not message.sent:
            self.ask(request)
        else:
            request.on_final(request, flying.kind, flying.reason, None)

    def _answered(self, message: Came, request: Request, outcome: Answered) -> None:
        assert request.need is not None
        outcome = self.reckoning.of(request, outcome, cached=request.cached)
        request.show(self._core.estimator.paths, outcome, self._core.clock.now())
        self._purse.charge(request.row, request.model, outcome.usage)
        self.models.answered(request.model)
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
        flying: _Flying,
        outcome: Refused | Broken,
        verdict: Verdict,
    ) -> None:
        core, request = self._core, flying.request
        now = core.clock.now()
        retry = request.failed(verdict, core.account, now, self._chance)
        until = max(retry.at or now, now + (verdict.retry_after or 0.0))
        assert request.need is not None, "admitted without a need"
        wasted, doubt = failed(request.need, outcome)
        self._purse.charge(request.row, request.model, wasted)
        self._purse.doubt(request.row, message.call, request.model, doubt)
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
        if flying.ends_row:
            request.on_final(request, flying.kind, flying.reason, None)
        elif retry.at is None:
            kind = retry.missing or verdict.missing or MissingKind.REJECTED
            self._final(request, kind, retry.reason or verdict.reason, outcome)
        elif request.live:
            reason = f"{verdict.reason}; its live stream had begun"
            request.on_final(request, MissingKind.TRUNCATED, reason, outcome)
        else:
            self.ask(request, ready=retry.at)
        away = core.account.given_up(now)
        if away:
            self._end_waiting(MissingKind.TIMEOUT, away, outcome)

    def _final(
        self,
        request: Request,
        kind: MissingKind,
        reason: str,
        outcome: Refused | Broken,
    ) -> None:
        """End a request for good, and all that would fail in the same way."""
        unknown = self.models.learn(request.model, outcome, reason)
        request.on_final(request, kind, unknown or reason, outcome)
        if unknown:
            self._end_waiting(kind, unknown, outcome, model=request.model)

    def _end_waiting(
        self,
        kind: MissingKind,
        reason: str,
        outcome: Refused | Broken,
        *,
        model: str | None = None,
    ) -> None:
        """End what waits and would come to nothing: all, or what is for a model."""
        for row, waiting in list(self._waiting.items()):
            if model in {None, waiting.model}:
                self._waiting.pop(row, None)
                self._core.account.withdraw(row)
                waiting.on_final(waiting, kind, reason, outcome)
