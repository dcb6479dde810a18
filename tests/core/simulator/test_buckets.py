"""Buckets and limiter on plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.simulator import headers
from fanout.simulator.buckets import Bucket
from fanout.simulator.limiter import Limits, PoolLimiter, Shares

SMALL = Limits(requests=60, input_tokens=30_000, output_tokens=6_000)


def bucket(limit: float = 60, **more: float) -> Bucket:
    full = {"capacity": limit, "level": limit, "settled_at": 0.0} | more
    return Bucket(limit=limit, **full)


def pool(limits: Limits = SMALL, burst: Shares | None = None) -> PoolLimiter:
    return PoolLimiter(limits, burst or Shares(), 0.0)


def test_it_fills_at_a_sixtieth_of_the_limit_a_second() -> None:
    one = bucket()
    one.take(0, 60)
    assert one.settle(30) == 30
    assert one.settle(600) == 60


def test_debt_is_repaid_first() -> None:
    one = bucket(600)
    one.take(0, 900)
    assert one.settle(20) == -100
    assert one.seconds_until_fits(20, 50) == 15
    assert one.seconds_until_full(20) == 70


def test_more_than_capacity_fits_when_full() -> None:
    one = bucket(600)
    assert one.fits(0, 10_000)
    one.take(0, 1)
    assert not one.fits(0, 10_000)
    assert one.fits(0.1, 10_000)


def test_others_take_their_share_but_never_into_debt() -> None:
    one = bucket(600, foreign=15.0)
    assert one.settle(60) == 300
    assert one.settle(600) == 0
    one.take(600, 100)
    assert one.settle(605) == -50


def test_output_asks_for_anything_at_all() -> None:
    one = bucket(60)
    one.take(0, 60)
    assert not one.is_positive(0)
    assert one.seconds_until_positive(0) == 1
    one.take(0, 10)
    assert one.seconds_until_positive(0) == 11
    assert not one.is_positive(10)
    assert one.is_positive(11)


def test_resizing_keeps_what_was_used() -> None:
    one = bucket(600)
    one.take(0, 200)
    one.resize(0, limit=60, capacity=60)
    assert one.level == -140
    one.resize(0, limit=600, capacity=600)
    assert one.level == 400


def test_a_burst_is_a_share_of_the_minute_and_holds_at_least_one() -> None:
    tight = pool(SMALL, Shares(requests=0.001, input_tokens=1 / 6, output_tokens=1))
    assert tight.requests.capacity == 1
    assert tight.input_tokens.capacity == 5_000
    assert tight.input_tokens.rate == 500


def test_the_dimension_that_waits_longest_is_named() -> None:
    limiter = pool()
    for _ in range(60):
        limiter.charge_admission(0, 500)
    limiter.charge_output(0, 6_300)
    shortage = limiter.shortage(0, 1_000)
    assert shortage is not None
    assert (shortage.dimension, shortage.retry_after) == ("output_tokens", 4)
    assert shortage.limit == 6_000
    assert limiter.shortage(4, 1_000) is None


def test_input_is_corrected_once_it_is_known() -> None:
    limiter = pool()
    limiter.charge_admission(0, 1_000)
    limiter.correct_input(0, 1_000, 200)
    assert limiter.input_tokens.level == 29_800


def test_headers_round_tokens_and_reveal_debt_by_reset() -> None:
    limiter = pool()
    limiter.charge_admission(0.9, 1_499)
    shot = headers.snapshot(limiter, 0.9)
    assert (shot.requests.remaining, shot.input_tokens.remaining) == (59, 29_000)
    limiter.charge_admission(0.9, 40_000)
    lines = headers.render(headers.snapshot(limiter, 0.9))
    assert lines["anthropic-ratelimit-input-tokens-remaining"] == "0"
    assert lines["anthropic-ratelimit-input-tokens-reset"] == "1970-01-01T00:01:23Z"
    assert lines["anthropic-ratelimit-tokens-limit"] == "36000"
    assert lines["anthropic-ratelimit-tokens-remaining"] == "6000"
    assert lines["anthropic-ratelimit-tokens-reset"] == "1970-01-01T00:00:00Z"


def test_remaining_may_be_shown_against_the_minute() -> None:
    tight = pool(SMALL, Shares(input_tokens=1 / 6))
    tight.charge_admission(0, 2_000)
    shown = headers.snapshot(tight, 0, minute=False).input_tokens
    whole = headers.snapshot(tight, 0, minute=True).input_tokens
    assert (shown.remaining, whole.remaining) == (3_000, 28_000)


steps = st.lists(
    st.tuples(
        st.floats(0, 20, allow_nan=False),
        st.integers(1, 45_000),
        st.integers(0, 3_000),
    ),
    min_size=1,
    max_size=60,
)


@given(steps, st.sampled_from([1.0, 0.5, 1 / 6]))
def test_no_more_passes_than_flowed_in(
    script: list[tuple[float, int, int]], share: float
) -> None:
    """Against an independent account: what was admitted, and when, and nothing else.

    Whenever a request passes, all that passed in any window before it, and itself,
    is at most the capacity plus what flowed in during the window.
    """
    burst = Shares(requests=share, input_tokens=share, output_tokens=share)
    limiter = pool(SMALL, burst)
    capacity = SMALL.input_tokens * share
    passed: list[tuple[float, int]] = []
    now = 0.0
    for wait, tokens, output in script:
        now += wait
        if limiter.shortage(now, tokens) is not None:
            continue
        limiter.charge_admission(now, tokens)
        limiter.charge_output(now, output)
        for first, (since, _) in enumerate(passed):
            before = sum(units for _, units in passed[first:])
            flowed = (now - since) * SMALL.input_tokens / 60
            assert before + min(tokens, capacity) <= capacity + flowed + 1e-3
        passed.append((now, tokens))


@given(steps)
def test_the_wait_told_is_the_shortest_whole_one(
    script: list[tuple[float, int, int]],
) -> None:
    limiter = pool()
    now = 0.0
    for wait, tokens, output in script:
        now += wait
        shortage = limiter.shortage(now, tokens)
        if shortage is None:
            limiter.charge_admission(now, tokens)
            limiter.charge_output(now, output)
            continue
        later = now + shortage.retry_after
        if shortage.retry_after > 1:
            assert limiter.shortage(later - 1, tokens) is not None
        assert limiter.shortage(later, tokens) is None
        now = later


@given(steps)
def test_reset_says_when_a_bucket_is_full(
    script: list[tuple[float, int, int]],
) -> None:
    limiter = pool()
    now = 1_000.0
    for wait, tokens, output in script:
        now += wait
        limiter.charge_admission(now, tokens)
        limiter.charge_output(now, output)
    for name, one in limiter.buckets().items():
        shown = getattr(headers.snapshot(limiter, now), name)
        assert shown.reset <= now + one.seconds_until_full(now) < shown.reset + 1
        deficit = one.capacity - one.level
        assert one.seconds_until_full(now) * one.rate == pytest.approx(deficit)
        assert 0 <= shown.remaining <= one.limit
