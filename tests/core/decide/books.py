"""Small words for tests of admission."""

from fanout.decide.admission.account import Account
from fanout.decide.admission.line import Ticket
from fanout.decide.admission.order import priority
from fanout.decide.admission.planner import Decision, plan
from fanout.decide.admission.retry import classify
from fanout.words.model import Dimension, Need, RowId, Usage
from fanout.words.outcome import Answered, Limits, Outcome, Refused, Triple

START = 1_000_000.0


def row(key: str) -> RowId:
    return RowId("p", key)


def ticket(
    key: str,
    tokens: int = 1_000,
    *,
    output: int = 500,
    turns: int = 0,
    order: int = 0,
    pool: str = "m",
    prefix: str | None = None,
    ready: float = 0.0,
) -> Ticket:
    return Ticket(
        row=row(key),
        pool=pool,
        need=Need(tokens, output, 8_192),
        priority=priority(throttled=False, turns_done=turns, order=order),
        prefix=prefix,
        ready=ready,
    )


def account() -> Account:
    return Account(chance=lambda: 0.5)


def limits(
    now: float,
    *,
    requests: int | None = 1_000,
    tokens: tuple[int, int] | None = (60_000, 60_000),
    output: tuple[int, int] | None = (60_000, 60_000),
) -> Limits:
    """A header set: (limit, remaining) of each dimension, a minute's burst."""
    triples = {}
    if requests is not None:
        triples[Dimension.REQUESTS] = _triple(requests, requests - 1, now)
    if tokens is not None:
        triples[Dimension.INPUT] = _triple(*tokens, now)
    if output is not None:
        triples[Dimension.OUTPUT] = _triple(*output, now)
    return Limits(triples=triples, date=float(int(START + now)))


def _triple(limit: int, remaining: int, now: float) -> Triple:
    return Triple(
        limit, remaining, float(int(START + now + (limit - remaining) / limit * 60))
    )


def answer(tokens: int = 1_000, output: int = 500) -> Answered:
    return Answered(
        message={},
        usage=Usage(tokens, output),
        request_id=None,
        limits=Limits(),
        seconds=1.0,
    )


def refusal(
    status: int = 429,
    kind: str = "rate_limit_error",
    *,
    retry_after: float | None = None,
    said: Limits | None = None,
    message: str = "",
    code: str | None = None,
) -> Refused:
    return Refused(
        status=status,
        type=kind,
        code=code,
        message=message,
        retry_after=retry_after,
        limits=said or Limits(),
        request_id=None,
    )


class Desk:
    """An account and somebody who does what its plans say."""

    def __init__(self, books: Account | None = None) -> None:
        self.books = books or account()
        self.calls: dict[str, int] = {}
        self.now = 0.0

    def wait(self, *tickets: Ticket) -> None:
        for each in tickets:
            self.books.enqueue(each, self.now)

    def go(self, now: float | None = None) -> Decision:
        """Plan, and start what the plan says."""
        self.now = self.now if now is None else now
        decision = plan(self.books, self.now)
        for start in decision.starts:
            call = sum(self.calls.values()) + 1_000 + len(self.calls)
            self.calls[start.row.key] = call
            self.books.admitted(call, start, self.now)
            self.books.sent(call, self.now)
        return decision

    def opened(self, key: str, said: Limits | None = None, tokens: int = 1_000) -> None:
        call = self.calls[key]
        self.books.opened(call, said or limits(self.now), self.now, 0.0)
        self.books.input_known(call, Usage(tokens, 1), self.now)

    def ended(self, key: str, outcome: Outcome | None) -> None:
        verdict = None if outcome is None else classify(outcome)
        self.books.ended(self.calls.pop(key), outcome, verdict, self.now, 0.0)

    def learned(self, said: Limits | None = None) -> "Desk":
        """One call has come and gone, so that the limits are known."""
        self.wait(ticket("first", 1, output=1))
        self.go()
        self.opened("first", said, tokens=1)
        self.ended("first", answer(1, 1))
        return self


def started(decision: Decision) -> list[str]:
    return [start.row.key for start in decision.starts]
