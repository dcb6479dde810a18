"""What the results of a batch make of the rows that wait for them, and of the rest.

An answer is journaled like one that came on its own, and goes to whoever asked. A
request that expired, or failed by the service's fault, joins the next batch, a few
times. A result nobody waits for tells what it has cost: its answer stays with the
service, for whoever takes the call up.
"""

from collections import Counter
from collections.abc import Callable

from fanout.decide.admission.retry import Verdict, classify
from fanout.decide.batching import PRICE, TRIES_MAX, Unanswered, read_result
from fanout.decide.fold.open_batches import Member
from fanout.decide.losses import estimated, failed, is_told
from fanout.decide.money.budget import Purses
from fanout.words.batched import CallSettled
from fanout.words.clean import well_formed
from fanout.words.events import CallAbandoned, CallAnswered, CallRefused
from fanout.words.model import NO_USAGE, Cause, MissingKind, RowId
from fanout.words.outcome import Answered, Broken, Refused
from fanout.world.batch.held import Held
from fanout.world.batch.line import name_of
from fanout.world.core import Core
from fanout.world.models import Models
from fanout.world.reckoning import Reckoning
from fanout.world.request import Request

NO_RESULT = "the batch ended, and its results do not have this request"


class BatchResults:
    """Takes results in."""

    def __init__(
        self,
        core: Core,
        *,
        purse: Purses,
        models: Models,
        reckoning: Reckoning,
        on_account: Callable[[str], None],
        again: Callable[[Request], None],
    ) -> None:
        """`again` puts a request into the next batch."""
        self._core = core
        self._purse = purse
        self._models = models
        self._reckoning = reckoning
        self._on_account = on_account
        self._again = again
        self._failures: Counter[RowId] = Counter()
        self._charged: set[int] = set()
        """Calls that were charged when they were settled, before they were taken up."""

    def taken_up(self, member: Member) -> None:
        """Somebody waits for a call that had been left."""
        if member.wasted.total:
            self._charged.add(member.call)
        self._purse.resolve(member.row, member.call)

    def never_sent(self, member: Member) -> None:
        """A call that had been left was never sent, as it turned out."""
        self._purse.resolve(member.row, member.call)
        self._core.record(
            CallSettled(
                row=member.row, call=member.call, wasted=NO_USAGE, answered=False
            )
        )

    def take(self, held: Held, lines: list[str]) -> None:
        """Take some results in, in whatever order they come."""
        for line in lines:
            name, result = name_of(well_formed(line))
            call = held.names.get(name)
            if call is None:
                continue
            request = held.requests.get(call)
            if request is not None:
                self._deliver(held, request, call, result)
            else:
                self._settle(call, result)

    def _deliver(self, held: Held, request: Request, call: int, result: object) -> None:
        core = self._core
        outcome = read_result(result, core.clock.now() - held.begun_at)
        self.release(held, call)
        match outcome:
            case Answered():
                self._answered(request, call, outcome)
            case Unanswered():
                self._unanswered(held, request, call, outcome.how)
            case _:
                self._failed(request, call, outcome)

    def release(self, held: Held, call: int) -> None:
        """Nobody waits for this call any more: it is over, or left."""
        request = held.requests.pop(call)
        self._core.flying.discard(request.row)
        self._core.live.pop(request.row, None)
        self._purse.settle(request.row, call)

    def _answered(self, request: Request, call: int, outcome: Answered) -> None:
        core = self._core
        outcome = self._reckoning.of(request, outcome, cached=0)
        if call in self._charged:
            self._charged.discard(call)
        else:
            self._purse.charge(request.row, request.model, outcome.usage, share=PRICE)
        self._models.answered(request.model)
        del self._failures[request.row]
        seq = core.record(
            CallAnswered(
                row=request.row,
                call=call,
                usage=outcome.usage,
                stop_reason=outcome.message.get("stop_reason"),
                answer=request.answer(outcome),
                request_id=outcome.request_id,
                seconds=outcome.seconds,
            )
        )
        request.on_answer(request, outcome, seq)

    def _unanswered(self, held: Held, request: Request, call: int, how: str) -> None:
        name = held.seen.id if held.seen is not None else f"batch {held.number}"
        reason = f"{how} in {name}"
        self._core.record(CallAbandoned(row=request.row, call=call, reason=reason))
        if how == "canceled":
            said = f"{name} was cancelled at the service before it got to this"
            request.on_final(request, MissingKind.CANCELLED, said, None)
        else:
            self._once_more(request, MissingKind.TIMEOUT, "expired")

    def _failed(self, request: Request, call: int, outcome: Refused | Broken) -> None:
        verdict = classify(outcome)
        assert request.need is not None, "admitted without a need"
        wasted, doubt = failed(request.need, outcome)
        self._purse.charge(request.row, request.model, wasted, share=PRICE)
        self._purse.doubt(request.row, call, request.model, doubt, share=PRICE)
        self._core.record(
            CallRefused(
                row=request.row,
                call=call,
                cause=(verdict.cause or Cause.SERVICE).value,
                status=getattr(outcome, "status", None),
                message=verdict.reason,
                until=None,
                request_id=outcome.request_id,
                wasted=wasted,
                in_doubt=doubt,
            )
        )
        self._decide(request, outcome, verdict)

    def _decide(
        self, request: Request, outcome: Refused | Broken, verdict: Verdict
    ) -> None:
        if verdict.stops_run:
            self._on_account(verdict.reason)
        if verdict.missing is not None:
            unknown = self._models.learn(request.model, outcome, verdict.reason)
            reason = unknown or verdict.reason
            request.on_final(request, verdict.missing, reason, outcome)
        else:
            self._once_more(request, MissingKind.REJECTED, f"failed: {verdict.reason}")

    def _once_more(self, request: Request, kind: MissingKind, what: str) -> None:
        """Join the next batch, unless that was tried often enough."""
        row = request.row
        self._failures[row] += 1
        count = self._failures[row]
        if count >= TRIES_MAX:
            del self._failures[row]
            request.on_final(request, kind, f"in {count} batches: {what}", None)
        else:
            self._again(request)

    def _settle(self, call: int, result: object) -> None:
        """A result nobody waits for."""
        core = self._core
        member = core.state.batches.member(call)
        if member is None or not member.left or member.wasted.total:
            return
        outcome = read_result(result, 0.0)
        answered = isinstance(outcome, Answered)
        if isinstance(outcome, Broken):
            return
        usage = NO_USAGE
        if isinstance(outcome, Answered):
            told = is_told(outcome.usage)
            usage = outcome.usage if told else estimated(member.need, outcome)
        self._purse.resolve(member.row, call)
        if call not in self._charged:
            self._purse.charge(member.row, member.model, usage, share=PRICE)
        self._charged.discard(call)
        core.record(
            CallSettled(row=member.row, call=call, wasted=usage, answered=answered)
        )
