"""The acceleration limit, minute by minute; and what refusals say in words."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.admission.ramp import Ramp, Use
from fanout.decide.admission.said import SaidRamp, said_limit, said_ramp
from fanout.words.model import Dimension

LIMIT = 1_000_000.0
RAMP_TEXT = (
    "429 ramp_limit_exceeded: This request would exceed your organization's maximum "
    "usage increase rate for input tokens per minute (org: 1-2, model: m). Your "
    "current limit is 58,276 input tokens per minute, and will increase to 68,276 at "
    "the next minute boundary. Please scale up your input tokens usage more gradually "
    "to stay within the acceleration limit"
)
LIMIT_TEXT = (
    "This request would exceed your organization's rate limit of {} {} per minute "
    "(org: 1-2, model: m). For details, refer to: https://docs.claude.com"
)


def ask(ramp: Ramp, need: float, now: float, unanswered: float = 0.0) -> float:
    """Seconds that a call waits when so much of the minute is not answered."""
    ramp.follow(LIMIT, now)
    return ramp.wait(need, ramp.use(0.0, unanswered), now)


def told(ceiling: int = 100_000, following: int = 120_000) -> Ramp:
    """A minute that ends at 60 and is full, the figures said."""
    ramp = Ramp()
    said = SaidRamp(ceiling, following)
    ramp.refused(Use(ceiling, 0.0), 10.0, ends_in=50.0, said=said)
    return ramp


def spend(ramp: Ramp, now: float, piece: float) -> float:
    """What gets through at one moment, each call answered before the next."""
    spent = 0.0
    while not ask(ramp, piece, now) and spent < 10 * LIMIT:
        ramp.charge(piece, now)
        spent += piece
    return spent


def test_without_a_refusal_there_is_no_ramp() -> None:
    ramp = Ramp()
    ramp.charge(10**9, 0.0)
    assert not ramp.active
    assert ask(ramp, 10**9, 0.0) == 0


def test_a_full_minute_is_waited_out_and_the_next_holds_what_was_said() -> None:
    ramp = told()
    assert ask(ramp, 1_000, 10.0) == 50.0
    assert ask(ramp, 1_000, 40.0) == 20.0
    assert 117_000 <= spend(ramp, 60.5, 1_000) <= 120_000
    assert ask(ramp, 1_000, 61.0) == 59.0
    assert 136_000 <= spend(ramp, 125.0, 1_000) <= 140_000


def test_a_pause_of_minutes_grows_by_a_step_each() -> None:
    ramp = told()
    assert 175_000 <= spend(ramp, 4 * 60 + 1.0, 1_000) <= 180_000


def test_a_guess_is_tried_beyond_and_no_more_at_once_than_got_through_beyond() -> None:
    """Without the text the step is a guess; one call asks, then two, then four."""
    ramp = Ramp()
    ramp.refused(Use(100_000, 0.0), 10.0, ends_in=50.0)
    ramp.follow(LIMIT, 61.0)
    ramp.charge(120_000, 61.0)
    assert ask(ramp, 5_000, 61.0) == 0
    assert ask(ramp, 5_000, 61.0, unanswered=5_000) > 0
    ramp.charge(40_000, 62.0)
    assert ask(ramp, 5_000, 62.0, unanswered=20_000) == 0
    assert ask(ramp, 5_000, 62.0, unanswered=60_000) > 0


def test_the_step_is_what_it_grew_by_between_two_refusals() -> None:
    ramp = Ramp()
    ramp.refused(Use(100_000, 0.0), 10.0, ends_in=50.0)
    ramp.follow(LIMIT, 60.0)
    ramp.refused(Use(180_000, 0.0), 70.0, ends_in=50.0)
    ramp.follow(LIMIT, 121.0)
    ramp.charge(1.0, 121.0)
    use = ramp.use(0.0, 1_000.0)
    assert 250_000 <= ramp.allowed(use, 0.0) <= 262_000


def test_at_the_accounts_own_limit_it_is_gone() -> None:
    ramp = told()
    ramp.follow(LIMIT, 60.0 * 50)
    assert not ramp.active
    ramp.charge(10**9, 60.0 * 50)
    assert ask(ramp, 10**9, 60.0 * 50) == 0


def test_a_refusal_before_anything_got_through_still_allows_a_call() -> None:
    ramp = Ramp()
    ramp.refused(Use(50_000, 50_000), 0.0, ends_in=30.0)
    assert ask(ramp, 50_000, 31.0) == 0
    ramp.charge(50_000, 31.0)
    assert ask(ramp, 50_000, 32.0) == 0
    assert ask(ramp, 50_000, 32.0, unanswered=50_000) > 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["refused", "said", "charge", "ask"]),
            st.floats(0, 300),
            st.floats(0, 1e7),
        ),
        max_size=40,
    )
)
def test_whatever_happens_a_wait_ends_within_a_minute(
    steps: list[tuple[str, float, float]],
) -> None:
    ramp, now = Ramp(), 0.0
    for what, seconds, amount in steps:
        now += seconds
        if what == "charge":
            ramp.charge(amount, now)
        elif what != "ask":
            said = (
                SaidRamp(round(amount), round(2 * amount)) if what == "said" else None
            )
            ends_in = max(0.01, seconds % 60)
            ramp.refused(Use(amount, amount / 2), now, ends_in=ends_in, said=said)
        wait = ask(ramp, max(1.0, amount), now, unanswered=amount / 3)
        assert 0 <= wait <= 60.0
        # A minute in which nothing was sent lets one call through, whatever its size.
        assert ask(deepcopy(ramp), 1e12, now + wait + 61.0) == 0


def test_the_words_of_the_acceleration_limit() -> None:
    assert said_ramp(RAMP_TEXT) == SaidRamp(58_276, 68_276)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ramp",
        RAMP_TEXT.replace("58,276", "many"),
        RAMP_TEXT.replace("58,276", "0"),
        RAMP_TEXT.replace("68,276", "1,000"),
        RAMP_TEXT.replace("68,276", "9" * 400),
    ],
)
def test_a_ramp_that_says_nothing_sensible_says_nothing(text: str) -> None:
    assert said_ramp(text) is None


@pytest.mark.parametrize(
    ("figure", "unit", "dimension", "limit"),
    [
        ("30,000", "input tokens", Dimension.INPUT, 30_000),
        ("8,000", "output tokens", Dimension.OUTPUT, 8_000),
        ("50", "requests", Dimension.REQUESTS, 50),
    ],
)
def test_the_words_of_a_limit(
    figure: str, unit: str, dimension: Dimension, limit: int
) -> None:
    said = said_limit(LIMIT_TEXT.format(figure, unit))
    assert said is not None
    assert (said.dimension, said.limit) == (dimension, limit)


@pytest.mark.parametrize(
    ("figure", "unit"),
    [("0", "requests"), ("9" * 30, "requests"), ("-5", "requests"), ("5", "images")],
)
def test_a_limit_that_says_nothing_sensible_says_nothing(
    figure: str, unit: str
) -> None:
    assert said_limit(LIMIT_TEXT.format(figure, unit)) is None


@given(st.text())
def test_no_text_makes_the_readers_raise(text: str) -> None:
    assert said_limit(text) is None or "per minute" in text.lower()
    assert said_ramp(text) is None or "next minute" in text.lower()
