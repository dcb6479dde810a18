"""The batch lane: rows gather, go out together, and are found again.

    ask ─▶ gathering ─▶ planned ─▶ at the service ─▶ results ─▶ whoever asked
            (a group)   (journaled)  (`batch_watch`)  (`batch_results`)

A call in a batch outlives this process. When nobody waits for it any more (a stop,
a kill, a cancelled row) it is left, and counted as in doubt; a row that asks the
same again takes it up (`claim`) and pays nothing, in this life or another, hours
later, whichever lane it is in by then.
"""

from collections.abc import Callable, Sequence

from fanout.decide.admission.line import Ask
from fanout.decide.batching import (
    BATCH,
    BYTES_MAX,
    POOL,
    PRICE,
    REQUEST_BYTES,
    REQUESTS_MAX,
    Gathering,
    digest_of,
    params_of,
)
from fanout.decide.contexts import too_large
from fanout.decide.fold.open_batches import Member
from fanout.decide.money.budget import Refusal, Scope
from fanout.words.batched import CallTakenUp
from fanout.words.counted import plural
from fanout.words.events import CallAbandoned, CallAdmitted, Noted
from fanout.words.model import NO_USAGE, Cause, MissingKind, RowId
from fanout.words.orders import AgentOrder
from fanout.words.snapshot import Gate
from fanout.world.batch.held import Doing, Held
from fanout.world.batch.line import BatchLine
from fanout.world.batch.results import BatchResults
from fanout.world.batch.watch import BatchWatch
from fanout.world.calls import Calls
from fanout.world.core import Core
from fanout.world.messages import BatchCame, BatchRead
from fanout.world.request import Request
from fanout.world.spend.budgets import Budgets

LOOK_AGAIN_SECONDS = 1.0
"""How often a group that may not go out looks whether it may by now."""
CLAIM_SECONDS = 0.3
"""Rows that take up their calls together are waited for together."""


class Batches:
    """All batches of a life."""

    def __init__(
        self,
        core: Core,
        line: BatchLine,
        *,
        calls: Calls,
        budgets: Budgets,
        chance: Callable[[], float],
        on_account: Callable[[str], None],
        default: str,
        lasting: bool,
        resume: str,
    ) -> None:
        """`default` is the lane of agents that name none.

        `lasting`: the account outlives this process; an embedded one does not.
        """
        self._core = core
        self._calls = calls
        self._budgets = budgets
        self._purse = budgets.purses
        self._default = default
        self._goes_on = "goes on" if lasting else "ends with the embedded account"
        self._lasting = lasting
        self._resume = resume
        self._gathering: dict[RowId, Request] = {}
        self._group = Gathering()
        self._armed = 0.0
        self._over_budget: Refusal | None = None
        self._held: dict[int, Held] = {}
        self._where: dict[RowId, tuple[Held, int]] = {}
        self._told_tools = False
        core.gathering = self.gate
        self._results = BatchResults(
            core,
            purse=budgets.purses,
            models=calls.models,
            reckoning=calls.reckoning,
            on_account=on_account,
            again=self.gather,
        )
        self._watch = BatchWatch(
            core,
            line,
            results=self._results,
            chance=chance,
            on_account=on_account,
            give_up=self._give_up_batch,
            over=self._let_go,
        )

    @property
    def in_flight(self) -> int:
        """Calls in batches that rows of this life wait for."""
        return sum(len(held.requests) for held in self._held.values())

    def note_tools(self, orders: Sequence[AgentOrder]) -> None:
        """Say once that agents with tools do not go into batches."""
        if self._default != BATCH or self._told_tools:
            return
        if any(order.tools and order.lane is None for order in orders):
            self._told_tools = True
            text = "agents with tools run on the live lane: a batch runs no tools"
            self._core.record(Noted(source="engine", text=text))

    # -- gathering -----------------------------------------------------------

    def gather(self, request: Request) -> None:
        """Let a call wait for the next batch."""
        core = self._core
        refusal = self._calls.models.refusal(request.model)
        if refusal is not None:
            request.on_final(request, MissingKind.REJECTED, *refusal)
            return
        request.need = core.estimator.price(
            Ask(
                model=request.model,
                phase=request.row.phase,
                turn=request.turn,
                new_bytes=request.new_bytes,
                known_input=request.known_input,
                cached=0,
                max_tokens=request.max_tokens,
            )
        )
        too_much = too_large(request.model, request.need.input)
        if too_much:
            request.on_final(request, MissingKind.REJECTED, too_much, None)
            return
        self._gathering[request.row] = request
        self._group.join(core.clock.now(), request.new_bytes + request.known_input * 4)
        self._arm(self._group.due)

    def _arm(self, when: float) -> None:
        """Look at the group then; a later look that was asked for before goes."""
        self._armed = when

        def look() -> None:
            if self._armed == when and self._gathering:
                self._send_group()

        self._core.at(when, look)

    def _send_group(self) -> None:
        """Send the group, or as much of it as may go."""
        core = self._core
        now = core.clock.now()
        if core.closed is not None:
            self._arm(now + LOOK_AGAIN_SECONDS)
            return
        chosen = self._choose()
        if not chosen:
            if self._over_budget and self.in_flight + self._calls.in_flight == 0:
                self._budgets.run_is_short(self._over_budget)
            if not self._gathering:
                self._group = Gathering()
                return
            self._arm(now + LOOK_AGAIN_SECONDS)
            return
        self._plan(chosen)
        if self._gathering:
            self._group = Gathering(now, now, len(self._gathering))
            self._arm(now + LOOK_AGAIN_SECONDS)
        else:
            self._group = Gathering()

    def _choose(self) -> list[Request]:
        """Take what fits into one batch and into the budget out of the line.

        What is chosen is reserved as it is chosen.
        """
        chosen: list[Request] = []
        size = 0
        call = self._core.state.next_call
        self._over_budget = None
        for request in list(self._gathering.values()):
            refusal = self._budgets.refusal(request)
            if refusal is not None and refusal.scope is Scope.RUN:
                self._over_budget = refusal
                break
            if refusal is not None:
                del self._gathering[request.row]
                self._budgets.refused(request, refusal)
                continue
            size += request.new_bytes + request.known_input * 4 + REQUEST_BYTES
            if len(chosen) >= REQUESTS_MAX or (chosen and size > BYTES_MAX):
                break
            del self._gathering[request.row]
            self._reserve(request, call + len(chosen))
            chosen.append(request)
        return chosen

    def _reserve(self, request: Request, call: int) -> None:
        row, model = request.row, request.model
        self._purse.reserve(row, call, model, request.worst, share=PRICE)

    def _plan(self, chosen: Sequence[Request]) -> None:
        """Journal the intent, and hand the batch in once it is on disk."""
        core = self._core
        number = core.state.batches.next_number
        held = Held(number=number, doing=Doing.PLANNED, begun_at=core.clock.now())
        self._held[number] = held
        for request in chosen:
            call = core.state.next_call
            assert request.need is not None, "gathered without a need"
            core.record(
                CallAdmitted(
                    row=request.row,
                    call=call,
                    turn=request.turn,
                    pool=POOL,
                    need=request.need,
                    batch=number,
                    digest=digest_of(params_of(request.body())),
                )
            )
            self._wait_for(held, call, request)
        self._watch.plan(held)

    def _wait_for(self, held: Held, call: int, request: Request) -> None:
        held.requests[call] = request
        self._where[request.row] = held, call

    def waits(self, row: RowId) -> bool:
        """The row's call gathers with others."""
        return row in self._gathering

    # -- taking up -----------------------------------------------------------

    def claim(self, request: Request) -> bool:
        """Wait for a call that was left and asks the same; says if there is one."""
        left = self._core.state.batches.left_of(request.row)
        if not left:
            return False
        digest = digest_of(params_of(request.body()))
        for member in left:
            if member.digest == digest:
                self._take_up(request, member)
                return True
        return False

    def _take_up(self, request: Request, member: Member) -> None:
        core = self._core
        batch = core.state.batches.batch_of(member.call)
        assert batch is not None, "left in no batch"
        self._results.taken_up(member)
        core.record(CallTakenUp(row=request.row, call=member.call))
        request.need = member.need
        self._reserve(request, member.call)
        held = self._held.get(batch.number)
        if held is None:
            held = Held(
                number=batch.number,
                doing=Doing.WAITING,
                begun_at=core.clock.now(),
            )
            self._held[batch.number] = held
            begin = self._watch.look if batch.id else self._watch.search
            self._watch.later(held, CLAIM_SECONDS, begin)
        held.late = True
        self._wait_for(held, member.call, request)
        self._watch.show(held, "is looked for")

    # -- giving up -----------------------------------------------------------

    def give_up(self, row: RowId, kind: MissingKind, reason: str) -> bool:
        """Wait no longer for a row's call; says whether one was under way.

        The row then ends by its `on_final`. The batch goes on at the service.
        """
        if self._gathering.pop(row, None) is not None:
            self._group.count = len(self._gathering)
            return False
        found = self._where.get(row)
        if found is None:
            return False
        held, call = found
        if call not in held.requests:
            return False
        self._leave(held, call, kind, reason)
        self._let_go(held)
        return True

    def _leave(self, held: Held, call: int, kind: MissingKind, reason: str) -> None:
        """One row waits no longer."""
        sent = held.doing is not Doing.PLANNED
        if sent:
            reason = f"{reason}; {self._watch.name(held)} {self._goes_on}"
        self._abandon(held, call, kind, reason, sent=sent)

    def _abandon(
        self, held: Held, call: int, kind: MissingKind, reason: str, *, sent: bool
    ) -> None:
        request = held.requests[call]
        assert request.need is not None, "waits without a need"
        self._where.pop(request.row, None)
        self._results.release(held, call)
        doubt = request.need.worst if sent else NO_USAGE
        self._purse.doubt(request.row, call, request.model, doubt, share=PRICE)
        self._core.record(
            CallAbandoned(row=request.row, call=call, reason=reason, in_doubt=doubt)
        )
        request.on_final(request, kind, reason, None)

    def _give_up_batch(
        self, held: Held, kind: MissingKind, reason: str, cost: bool
    ) -> None:
        """All rows of a batch end; `cost` says whether it may have cost anything."""
        for call in list(held.requests):
            self._abandon(held, call, kind, reason, sent=cost)
        self._let_go(held)

    def _let_go(self, held: Held) -> None:
        """Nobody waits for this batch: it is not looked at any more."""
        if not held.requests and held.task is None:
            held.step += 1
            self._held.pop(held.number, None)

    def leave_all(self, kind: MissingKind, reason: str) -> None:
        """The run stops: what is at the service goes on without it.

        What is being handed in or read just now comes to its end first.
        """
        for held in list(self._held.values()):
            if held.doing in (Doing.CREATING, Doing.READING) and held.task is not None:
                continue
            self._leave_batch(held, kind, reason)

    def stop(self, kind: MissingKind, reason: str, *, at_once: bool) -> None:
        """Begin to stop; at once: also what is being handed in or read is left."""
        for held in list(self._held.values()):
            if held.doing is Doing.PLANNED:
                held.step += 1
                self._leave_batch(held, kind, reason)
            elif at_once:
                if held.task is not None:
                    held.task.cancel()
                    held.task = None
                self._leave_batch(held, kind, reason)

    def _leave_batch(self, held: Held, kind: MissingKind, reason: str) -> None:
        if not held.requests:
            return
        sent = held.doing is not Doing.PLANNED
        count = plural(len(held.requests), "request")
        for call in list(held.requests):
            self._leave(held, call, kind, reason)
        if sent and self._lasting:
            text = f"{self._watch.name(held)} goes on at the service ({count}): "
            text += f"`{self._resume}` picks it up"
            self._core.record(Noted(source="engine", text=text))
        self._let_go(held)

    # -- what came back ------------------------------------------------------

    def came(self, message: BatchCame) -> None:
        """The service has answered about a batch."""
        held = self._held.get(message.batch)
        if held is not None and held.step == message.step:
            held.task = None
            self._watch.came(held, message.told)
            self._let_go(held)

    def read(self, message: BatchRead) -> None:
        """Some results of a batch."""
        held = self._held.get(message.batch)
        if held is not None and held.step == message.step:
            self._results.take(held, list(message.lines))

    # -- what is shown -------------------------------------------------------

    def gate(self) -> Gate | None:
        """Why those wait that gather; None when none does."""
        if not self._gathering:
            return None
        core = self._core
        cause = core.closed or (Cause.BUDGET if self._over_budget else Cause.GATHERING)
        until = self._armed if cause is Cause.GATHERING else None
        count, short = len(self._gathering), self._over_budget
        return Gate(
            pool=POOL,
            waiting=tuple(self._gathering),
            cause=cause,
            until=core.until_wall(until),
            detail=short.text if short else f"{count} so far",
        )
