"""One request of a batch: looked at, answered and charged at half price.

Its parameters are looked at only now, as the service does it: what is wrong with
them is the request's own result, and costs nothing.
"""

from typing import Any, Protocol

from fanout.simulator import brain, chance, errors, events, tokens, validation
from fanout.simulator import call as calls
from fanout.simulator.batches import Item, Result
from fanout.simulator.books import Books, Entry
from fanout.simulator.cache import Split
from fanout.simulator.call import Call
from fanout.simulator.errors import Refusal
from fanout.simulator.faults import FaultPlan, Target
from fanout.simulator.profile import Profile

NEVER = ("stream", "speed", "thread")
"""What a request in a batch cannot have."""


class Accountant(Protocol):
    """The account as the work needs it."""

    profile: Profile
    seed: int
    faults: FaultPlan
    books: Books

    def next_request_id(self) -> str:
        """Another id each time."""
        ...

    def target(self, call: Call) -> Target:
        """What fault rules may look at."""
        ...

    def read_in_batch(
        self, call: Call, target: Target, entry: Entry, now: float
    ) -> Split | Refusal:
        """Charge what a request reads, or say why not."""
        ...

    def write_in_batch(self, call: Call, entry: Entry, count: int) -> None:
        """Charge what was written."""
        ...


class BatchWork:
    """Answers requests of batches for an account."""

    def __init__(self, account: Accountant) -> None:
        self._account = account

    def expires(self, item: Item) -> bool:
        """Whether this request is never got to."""
        account = self._account
        share = account.profile.batches.expired
        luck = chance.unit("expired", account.seed, item.custom_id, item.due)
        if luck < share:
            return True
        if not account.faults.has("expiry"):
            return False
        call = _read(item)
        if isinstance(call, Refusal):
            return False
        target = account.target(call)
        return account.faults.first("expiry", target, item.due) is not None

    def perform(self, item: Item, now: float, gone: str | None) -> Result:
        """Return how a request ended; `gone`: it was never got to."""
        account = self._account
        call = _read(item)
        entry = Entry(
            at=now,
            endpoint="batch",
            status=200,
            kind=None,
            row=item.custom_id,
            model=call.model.id if isinstance(call, Call) else "",
            request_id=account.next_request_id(),
            body_sha256=call.digest if isinstance(call, Call) else "",
            retry_count=0,
            ended="running",
        )
        if gone is not None:
            account.books.settle_batched(entry, gone)
            return {"type": gone}
        done = call if isinstance(call, Refusal) else self._answer(call, entry, now)
        if isinstance(done, Refusal):
            entry.status, entry.kind = done.status, done.kind
            account.books.settle_batched(entry, "errored")
            return {"type": "errored", "error": done.body(entry.request_id)}
        account.books.settle_batched(entry, "succeeded")
        return {"type": "succeeded", "message": done}

    def _answer(self, call: Call, entry: Entry, now: float) -> dict[str, Any] | Refusal:
        account = self._account
        target = account.target(call)
        table = account.profile.batches
        if chance.unit("errored", account.seed, entry.request_id) < table.errored:
            return Refusal(
                kind="batch_error",
                status=500,
                type=table.error_type,
                message="The request could not be processed (a staged fault).",
            )
        split = account.read_in_batch(call, target, entry, now)
        if isinstance(split, Refusal):
            return split
        said = brain.answer(call, account.seed, account.profile)
        account.write_in_batch(call, entry, said.tokens)
        return events.message(
            said,
            message_id="msg_" + chance.letters(24, entry.request_id),
            model=call.body["model"],
            split=split,
            tier="batch",
        )


def _read(item: Item) -> Call | Refusal:
    params = item.params
    for name in NEVER:
        if params.get(name):
            return errors.invalid(f"{name}: Extra inputs are not permitted")
    return validation.check(
        params,
        version=item.version,
        endpoint="batch_requests",
        digest=calls.digest_of(tokens.canonical(params).encode("utf-8", "replace")),
        row=item.custom_id,
    )
