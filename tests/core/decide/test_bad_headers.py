"""Whole runs against a service whose headers make no sense.

Whatever it says, everything is done, near the time that it takes at all; what was
ignored is said once in the log; and no nonsense is answered with a storm.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from bench.admission_driver import Run
from bench.admission_server import INPUT, NAMES, Reply, Service, Terms
from bench.admission_work import rig
from core.decide.books import Desk, answer, ticket
from fanout.decide.admission.planner import Decision
from fanout.words.model import Usage

Mangle = Callable[[dict[str, str], random.Random], None]


def each(part: str, value: Callable[[random.Random], str]) -> Mangle:
    """Put a value into this part of all triples."""

    def mangle(headers: dict[str, str], chance: random.Random) -> None:
        for name in NAMES:
            headers[f"anthropic-ratelimit-{name}-{part}"] = value(chance)

    return mangle


def only(part: str) -> Mangle:
    """Leave this part of the triples out."""

    def mangle(headers: dict[str, str], _: random.Random) -> None:
        for name in NAMES:
            del headers[f"anthropic-ratelimit-{name}-{part}"]

    return mangle


def date(value: str | None) -> Mangle:
    """Another date, or none."""

    def mangle(headers: dict[str, str], _: random.Random) -> None:
        headers.pop("date")
        if value is not None:
            headers["date"] = value

    return mangle


def flipping(headers: dict[str, str], chance: random.Random) -> None:
    """Two gateways that disagree on the limit."""
    if chance.random() < 0.5:
        headers[f"anthropic-ratelimit-{INPUT}-limit"] = "1200000"


MANGLED: dict[str, tuple[Mangle, bool]] = {
    "remaining empty": (each("remaining", lambda _: ""), True),
    "remaining negative": (each("remaining", lambda c: str(-c.randint(1, 99))), True),
    "remaining no number": (each("remaining", lambda _: "NaN"), True),
    "remaining more than the limit": (each("remaining", lambda _: "10000000"), True),
    "remaining nothing, ever": (each("remaining", lambda _: "0"), False),
    "reset empty": (each("reset", lambda _: ""), True),
    "reset no instant": (each("reset", lambda c: f"soon {c.random()}"), True),
    "reset in the past": (each("reset", lambda _: "1999-01-01T00:00:00Z"), True),
    "reset hours ahead": (each("reset", lambda _: "2027-01-15T14:00:00Z"), True),
    "reset years ahead": (each("reset", lambda _: "2999-01-01T00:00:00Z"), True),
    "limit empty": (each("limit", lambda _: ""), True),
    "limit nothing": (each("limit", lambda _: "0"), True),
    "limit infinite": (each("limit", lambda _: "inf"), True),
    "limit absurd": (each("limit", lambda _: "9" * 40), True),
    "no limit": (only("limit"), False),
    "no remaining": (only("remaining"), False),
    "no reset": (only("reset"), False),
    "no date": (date(None), False),
    "date no date": (date("tomorrow"), True),
    "date stands still": (date("Fri, 15 Jan 2027 08:00:00 GMT"), False),
    "limits disagree": (flipping, False),
}


class Confused(Service):
    """Mangles what it says of its limits; its limits themselves are sound."""

    def __init__(self, terms: Terms, seed: int, mangle: Mangle) -> None:
        super().__init__(terms, random.Random(seed).random)
        self.mangle = mangle
        self.luck = random.Random(seed)

    def headers(self, at: float) -> dict[str, str]:
        headers = super().headers(at)
        self.mangle(headers, self.luck)
        return headers


def confused(terms: Terms, mangle: Mangle, seed: int) -> Run:
    service = Confused(terms, seed, mangle)
    return Run(terms, rig(seed), seed=seed, shared=service, cap=600)


@pytest.mark.parametrize("name", list(MANGLED))
def test_nonsense_in_the_headers_costs_little(name: str) -> None:
    mangle, said = MANGLED[name]
    run = confused(Terms(), mangle, 1)
    result = run.go()
    assert result.lost == 0
    assert result.in_flight_end == 0
    assert result.refused <= 10
    # Who is told that nothing is left sends one call a full bucket, and ends.
    assert result.ratio <= (13.0 if name == "remaining nothing, ever" else 1.25)
    notes = run.account.notes()
    assert bool(notes) is said
    names = [note.partition(", ")[2].partition(":")[0] for note in notes]
    assert all(note.startswith("ignored a header") for note in notes)
    assert len(set(names)) == len(names) <= 3


class Stubborn(Service):
    """Refuses everything for a while, and says strange things about how long."""

    def __init__(self, retry_after: str | None, seed: int) -> None:
        super().__init__(Terms(), random.Random(seed).random)
        self.retry_after = retry_after

    def admit(self, tokens: float, at: float) -> Reply:
        if not 2.0 <= at < 8.0:
            return super().admit(tokens, at)
        reply = self._no(Reply(429, "rate_limit_error", message="no"), 1.0, at)
        del reply.headers["retry-after"]
        if self.retry_after is not None:
            reply.headers["retry-after"] = self.retry_after
        return reply


@pytest.mark.parametrize(
    "text",
    [None, "", "0", "-1", "-1e9", "NaN", "inf", "soon", "0.001", "1999-01-01"],
)
def test_a_strange_retry_after_is_no_hot_loop_and_no_standstill(
    text: str | None,
) -> None:
    service = Stubborn(text, 1)
    run = Run(Terms(), rig(1), shared=service, cap=600)
    result = run.go()
    assert result.lost == 0
    assert service.refused <= 60
    assert result.ratio <= 1.6


@pytest.mark.parametrize("seconds", [5, 30])
def test_a_retry_after_that_is_a_date_is_waited_for(seconds: int) -> None:
    service = Stubborn(None, 1)
    until = datetime.fromtimestamp(int(Service.EPOCH) + 2 + seconds, UTC)
    service.retry_after = format_datetime(until, usegmt=True)
    sent: list[float] = []

    def watch(run: Run, decision: Decision) -> None:
        sent.extend(run.now for _ in decision.starts)

    run = Run(Terms(), rig(1), shared=service, cap=600, check=watch)
    assert run.go().lost == 0
    assert not [at for at in sent if 2.3 < at < 2 + seconds]


def test_usage_that_grows_or_is_missing_is_charged_as_it_was_told_last() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 1_000, output=500), ticket("b", 1_000, order=1))
    desk.go()
    desk.opened("a", tokens=1_000)
    desk.books.progressed(desk.calls["a"], 100, 0.0)
    grown = replace(answer(), usage=Usage(25_000, 4_000))
    desk.ended("a", grown)
    desk.ended("b", replace(answer(), usage=Usage()))
    spent = [b.spent for b in desk.books.views(0.0)[0].buckets]
    assert spent == [3, 25_001, 4_001]
    assert [b.held for b in desk.books.views(0.0)[0].buckets] == [0, 0, 0]
