"""The books: each reservation is settled once, and nothing stalls."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decide.books import Desk, answer, refusal, row, started, ticket
from fanout.decide.admission.account import Account
from fanout.decide.admission.planner import plan
from fanout.decide.admission.retry import classify
from fanout.words.model import Dimension, Usage
from fanout.words.outcome import Broken, Limits, Outcome, Triple

CUT = Broken(stage="stream", message="reset", usage=Usage(1_000, 200))
SILENT = Broken(stage="headers", message="", timeout=True)
UNSENT = Broken(stage="connect", message="refused")
IN_STREAM = refusal(200, "overloaded_error")


@pytest.mark.parametrize(
    ("outcome", "opened", "charged"),
    [
        (answer(1_000, 500), True, (1, 1_000, 500)),
        (answer(1_000, 500), False, (1, 1_000, 500)),
        (refusal(retry_after=1), False, (0, 0, 0)),
        (refusal(529, "overloaded_error"), False, (0, 0, 0)),
        (UNSENT, False, (0, 0, 0)),
        (SILENT, False, (1, 1_200, 0)),
        (CUT, True, (1, 1_000, 200)),
        (IN_STREAM, True, (1, 1_000, 100)),
        (None, True, (1, 1_000, 100)),
        (None, False, (1, 1_200, 0)),
    ],
)
def test_every_ending_settles_what_was_used(
    outcome: Outcome | None, opened: bool, charged: tuple[int, int, int]
) -> None:
    desk = Desk().learned()
    before = [bucket.spent for bucket in desk.books.views(0.0)[0].buckets]
    desk.wait(ticket("a", 1_200))
    desk.go()
    call = desk.calls["a"]
    if opened:
        desk.opened("a")
        desk.books.progressed(call, 100, desk.now)
    desk.ended("a", outcome)
    desk.books.ended(call, outcome, None, desk.now, 0.0)
    desk.books.progressed(call, 9_999, desk.now)
    view = desk.books.views(0.0)[0]
    spent = [b.spent - was for b, was in zip(view.buckets, before, strict=True)]
    assert tuple(spent) == charged
    assert [bucket.held for bucket in view.buckets] == [0, 0, 0]
    assert desk.books.in_flight == 0


def test_a_call_that_was_never_sent_costs_nothing() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 50_000))
    (start,) = plan(desk.books, 0.0).starts
    desk.books.admitted(7, start, 0.0)
    assert desk.books.views(0.0)[0].buckets[1].held == 50_000
    desk.books.ended(7, None, None, 0.0, 0.0)
    assert desk.books.views(0.0)[0].buckets[1].held == 0
    desk.wait(ticket("b", 50_000))
    assert started(desk.go()) == ["b"]


def test_a_refund_is_at_once_room_for_the_next() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 55_000), ticket("b", 55_000, order=1))
    assert started(desk.go()) == ["a"]
    desk.ended("a", UNSENT)
    assert started(desk.go()) == ["b"]


def test_over_reserved_input_is_given_back_when_it_is_known() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 50_000), ticket("b", 40_000, order=1))
    desk.go()
    desk.opened("a", tokens=5_000)
    assert started(desk.go()) == ["b"]


def test_cache_reads_are_shown_and_not_charged() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 100))
    desk.go()
    desk.books.opened(desk.calls["a"], Limits(), 0.0, 0.0)
    desk.books.input_known(desk.calls["a"], Usage(100, 1, 110_000, 0), 0.0)
    view = desk.books.views(0.0)[0]
    assert view.cached == 110_000
    assert view.buckets[1].spent == 101  # the first call had one


BAD = st.one_of(st.none(), st.integers(-5, 10**13))
RESET = st.one_of(st.none(), st.floats(-1e12, 1e12))
TRIPLES = st.dictionaries(
    st.sampled_from(list(Dimension)), st.builds(Triple, BAD, BAD, RESET)
)
SETS = st.builds(
    lambda triples, date: Limits(
        triples={k: _sane(v) for k, v in triples.items()}, date=date, ignored=("x",)
    ),
    TRIPLES,
    RESET,
)


def _sane(triple: Triple) -> Triple:
    """What the reader lets through: never below 0, never a limit of 0."""
    limit = triple.limit if triple.limit and triple.limit > 0 else None
    left = triple.remaining
    return Triple(limit, None if left is None or left < 0 else left, triple.reset)


ENDINGS = st.sampled_from(
    [
        answer(),
        answer(10**6, 10**5),
        answer(0, 0),
        CUT,
        SILENT,
        UNSENT,
        IN_STREAM,
        None,
        refusal(),
        refusal(retry_after=0),
        refusal(retry_after=1e9),
        refusal(retry_after=3),
        refusal(529, "overloaded_error"),
        refusal(code="ramp_limit_exceeded", retry_after=3),
        refusal(message="Number of concurrent connections has exceeded"),
        refusal(400, "invalid_request_error"),
    ]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["wait", "go", "sent", "open", "grow", "end", "drop"]),
        st.floats(0, 40),
        SETS,
        ENDINGS,
        st.integers(1, 300_000),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_whatever_happens_the_books_balance_and_nothing_stalls(
    steps: list[tuple[str, float, Limits, Outcome | None, int]],
) -> None:
    """Nonsense headers, any ending, any order: settled once, and never stuck."""
    script = Script()
    for name, passed, said, outcome, size in steps:
        script.now += passed
        script.step(name, said, outcome, size)
        script.check()
    script.finish()


class Script:
    """Does to an account what a hostile world may do."""

    def __init__(self) -> None:
        self.books = Account(chance=lambda: 0.5)
        self.now = 0.0
        self.flying: list[int] = []
        self.calls = 0
        self.rows = 0

    def step(self, name: str, said: Limits, outcome: Outcome | None, size: int) -> None:
        if name == "wait":
            self.rows += 1
            self.books.enqueue(ticket(f"r{self.rows}", size, order=size), self.now)
        elif name == "go":
            for start in plan(self.books, self.now).starts:
                self.calls += 1
                self.books.admitted(self.calls, start, self.now)
                self.flying.append(self.calls)
        elif name == "drop":
            self.books.withdraw(row(f"r{size % (self.rows + 1)}"))
        elif self.flying:
            self.fact(name, self.flying[size % len(self.flying)], said, outcome, size)

    def fact(
        self, name: str, call: int, said: Limits, outcome: Outcome | None, size: int
    ) -> None:
        if name == "sent":
            self.books.sent(call, self.now)
        elif name == "open":
            self.books.opened(call, said, self.now, 0.0)
            self.books.input_known(call, Usage(size, 1), self.now)
        elif name == "grow":
            self.books.progressed(call, size % 10_000, self.now)
        else:
            self.end(call, outcome)

    def end(self, call: int, outcome: Outcome | None) -> None:
        verdict = None if outcome is None else classify(outcome)
        for _ in range(2):
            self.books.ended(call, outcome, verdict, self.now, 0.0)
        self.flying.remove(call)

    def check(self) -> None:
        decision = plan(self.books, self.now)
        waiting = any(self.books.waiting(pool) for pool in self.books.pools)
        if waiting and not self.flying and not decision.starts:
            assert decision.look_again is not None
            assert decision.look_again > self.now
        assert set(decision.gates) <= set(self.books.pools)
        self.books.views(self.now)
        self.books.notes()

    def finish(self) -> None:
        for call in list(self.flying):
            self.end(call, None)
        assert self.books.in_flight == 0
        for pool in self.books.pools.values():
            assert pool.unsent == (0, 0)
            assert pool.output_to_come == 0
            assert not pool.warming


def later(desk: Desk, now: float) -> list[int]:
    """What the trailing minute is expected to be, by bucket."""
    return [bucket.forecast for bucket in desk.books.views(now)[0].buckets]


def test_while_nothing_is_let_out_the_gauges_expect_no_new_calls() -> None:
    """Paused, drained or held: what was spent falls out of the minute, no more comes."""
    desk = Desk().learned()
    desk.wait(*(ticket(f"{n}", 10_000, order=n) for n in range(9)))
    desk.go(100.0)
    for key in list(desk.calls):
        desk.opened(key, tokens=10_000)
        desk.ended(key, answer(10_000, 500))
    desk.now = 101.0
    spent = [bucket.spent for bucket in desk.books.views(101.0)[0].buckets]
    assert len(desk.books.pools["m"].line)
    assert later(desk, 101.0)[1] > spent[1]
    plan(desk.books, 101.0, open=False)
    assert later(desk, 101.0) == spent
    plan(desk.books, 101.0)
    assert later(desk, 101.0)[1] > spent[1]
    whole = later(desk, 101.0)[1]
    soon, late = ({"m": second} for second in (108.5, 120.0))
    views = [desk.books.views(101.0, starts)[0] for starts in (soon, late)]
    planned = [view.buckets[1].forecast for view in views]
    assert spent[1] < planned[0] < whole
    assert planned[1] == spent[1]
    desk.books.pools["m"].hold.until = 108.5
    half = later(desk, 101.0)[1]
    assert half < spent[1] * 1.6
    desk.books.pools["m"].hold.until = 200.0
    assert later(desk, 101.0) == spent
