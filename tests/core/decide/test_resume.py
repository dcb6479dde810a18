"""A run that is killed and gone on with: no storm of 429s, no idling.

On virtual time, against the modelled service, whose buckets remember what the
killed life has used; the new life has the journal and nothing else.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from bench.admission_driver import Agent, Result, Run, Terms
from bench.admission_server import INPUT, Reply
from bench.admission_work import WORK, rig
from core.decide.books import account
from fanout.decide.admission.account import Account
from fanout.decide.admission.line import Ticket
from fanout.decide.admission.planner import plan
from fanout.decide.admission.views import limits_of
from fanout.disk.recent import MINUTE, Recent
from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Event,
    Record,
)
from fanout.words.model import Cause, Need, RowId, Usage
from fanout.words.outcome import Answered, Outcome

CALL_EVENTS = {
    "send",
    "arrive",
    "begin",
    "opened",
    "produce",
    "progress",
    "refused",
    "ended",
}


class Killed(Run):
    """A run whose process dies at some seconds and is begun again after a while."""

    kills: tuple[float, ...] = ()
    gap = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.down = False
        self.taken: set[int] = set()
        self.journal: list[Record] = []
        self.refused_soon = 0
        self.woke = -1e9

    def at(self, when: float, what: Callable[..., Any], *args: Any) -> None:
        if what.__name__ not in CALL_EVENTS:
            super().at(when, what, *args)
            return

        def alive(*given: Any) -> Any:
            return what(*given) if given[0] in self.flying else None

        super().at(when, alive, *args)

    def begin_all(self) -> None:
        super().begin_all()
        for second in self.kills:
            self.at(second, self.die)

    def decide(self) -> None:
        if not self.down:
            super().decide()

    def write(self, event: Event) -> None:
        number = len(self.journal) + 1
        self.journal.append(Record(seq=number, life=1, at=self.now, event=event))

    def start(self, ticket: Ticket) -> None:
        super().start(ticket)
        self.write(
            CallAdmitted(
                row=ticket.row,
                call=self.calls,
                turn=1,
                pool=ticket.pool,
                need=ticket.need,
            )
        )

    def begin(self, call: int, reply: Reply) -> None:
        self.taken.add(call)
        super().begin(call, reply)

    def ended(self, call: int, outcome: Outcome) -> None:
        row = self.flying[call].row
        if isinstance(outcome, Answered):
            event: Event = CallAnswered(
                row=row, call=call, usage=outcome.usage, stop_reason=None, answer=[]
            )
        else:
            self.refused_soon += self.now < self.woke + 10.0
            retry_after = getattr(outcome, "retry_after", None)
            event = CallRefused(
                row=row,
                call=call,
                cause=Cause.LIMIT.value,
                status=429,
                message="no",
                until=self.now + (retry_after or 0.0),
            )
        self.write(event)
        super().ended(call, outcome)

    def die(self) -> None:
        self.service.flying -= len(self.taken & set(self.flying))
        self.flying.clear()
        self.queued_at.clear()
        self.down = True
        self.at(self.now + self.gap, self.wake)

    def wake(self) -> None:
        """A new process: an empty account, what the journal says, all rows again."""
        self.down, self.woke = False, self.now
        known = [limits_of(pool) for pool in self.account.pools.values()]
        self.account = Account(chance=self.chance.random, known=known, now=self.now)
        restore(self.account, self.journal, now=self.now, wall=self.now)
        self.looking = None
        for agent in self.agents:
            if agent.done_at is None:
                self.enqueue(agent, False, 0.0)


def restore(
    books: Account, records: Iterable[Record], *, now: float, wall: float
) -> None:
    """As a life does when it begins."""
    recent = Recent()
    for each in records:
        recent.take_in(each)
    for spent in recent.since(wall - MINUTE):
        at = now - max(0.0, wall - spent.at)
        books.pool(spent.pool).restore(spent.usage, spent.requests, at, now)


def killed(
    agents: list[Agent], terms: Terms, seed: int, kills: tuple[float, ...], gap: float
) -> tuple[Result, Killed]:
    run = Killed(terms, agents, seed=seed)
    run.kills, run.gap = kills, gap
    return run.go(), run


@pytest.mark.parametrize("gap", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("burst", [1.0, 1 / 6, 1 / 60], ids=["minute", "ten s", "s"])
def test_a_killed_run_goes_on_without_a_429_and_without_idling(
    gap: float, burst: float
) -> None:
    """Killed at random moments, each seed at others; what was under way is redone."""
    terms = Terms(burst=burst)
    for seed in range(1, 6):
        chance = random.Random(seed)
        kills = (chance.uniform(0.2, 8.0), chance.uniform(12.0 + gap, 30.0 + gap))
        result, run = killed(rig(seed), terms, seed, kills, gap)
        assert result.lost == 0
        assert run.refused_soon == 0
        assert result.refused_after_first == 0
        idle = sum(terms.input / 60 * gap for _ in kills)
        most = (run.service.given[INPUT] + idle) / (terms.input / 60)
        assert result.seconds <= 1.2 * most


def test_killed_again_and_again_a_long_run_still_ends_near_the_bound() -> None:
    kills = tuple(30.0 * n for n in range(1, 12))
    result, run = killed(WORK["multi-turn"](3)[:110], Terms(), 3, kills, 0.5)
    assert result.lost == 0
    assert run.refused_soon == 0
    paid = run.service.given[INPUT] / (Terms().input / 60)
    assert result.seconds <= 1.08 * paid + 0.5 * len(kills)


def record(at: float, event: Event) -> Record:
    return Record(seq=1, life=1, at=at, event=event)


def admitted(call: int, tokens: int = 1_000, batch: int | None = None) -> CallAdmitted:
    return CallAdmitted(
        row=RowId("p", f"r{call}"),
        call=call,
        turn=1,
        pool="m",
        need=Need(tokens, 100, 8_192),
        batch=batch,
    )


def came(call: int, usage: Usage) -> CallAnswered:
    return CallAnswered(
        row=RowId("p", f"r{call}"), call=call, usage=usage, stop_reason=None, answer=[]
    )


def test_the_trailing_minute_is_filled_with_what_an_earlier_life_used() -> None:
    books = account()
    records = [
        record(10.0, admitted(1)),
        record(20.0, came(1, Usage(9_999, 9_999))),  # more than a minute ago
        record(30.0, admitted(2)),
        record(
            80.0, came(2, Usage(3_000, 700))
        ),  # its input is older, its output is not
        record(85.0, admitted(3, 400)),  # under way at the kill
        record(86.0, admitted(4, 10**6, batch=1)),  # batches have limits of their own
        record(87.0, admitted(5, 10**6)),
        record(
            88.0,
            CallAbandoned(row=RowId("p", "r5"), call=5, reason="taken back"),
        ),
    ]
    restore(books, records, now=1_000.0, wall=100.0)
    spent = [bucket.spent for bucket in books.views(1_000.0)[0].buckets]
    assert spent == [1, 400, 700]
    assert [b.spent for b in books.views(1_050.0)[0].buckets] == [0, 0, 0]


def test_a_clock_that_was_set_back_makes_no_day_of_a_minute() -> None:
    """What the earlier life wrote lies a day ahead of now."""
    later = 86_400.0
    records = [
        record(later, admitted(1)),
        record(later + 1, came(1, Usage(3_000, 700))),
    ]
    books = account()
    restore(books, records, now=50.0, wall=100.0)
    assert [b.spent for b in books.views(50.0)[0].buckets] == [1, 3_000, 700]


def test_debt_of_an_earlier_life_is_waited_out() -> None:
    """Long answers have put the output into debt; the first call waits, then asks."""
    said = Run(Terms(), rig(1), known=True).account.pools.values()
    known = [limits_of(pool) for pool in said]
    books = Account(chance=lambda: 0.5, known=known, now=0.0)
    records = [record(90.0, admitted(1)), record(99.0, came(1, Usage(1_000, 480_000)))]
    restore(books, records, now=0.0, wall=100.0)
    books.enqueue(
        Ticket(row=RowId("p", "a"), pool="m", need=Need(10, 10, 10), priority=(0,)), 0.0
    )
    decision = plan(books, 0.0)
    assert not decision.starts
    assert decision.gates["m"].cause is Cause.OUTPUT
    assert decision.gates["m"].until is not None
    assert 3.0 <= decision.gates["m"].until <= 6.0
