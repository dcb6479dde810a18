"""The level, as arithmetic and as it follows what headers say."""

import asyncio
import math

import pytest
from aiolimiter import AsyncLimiter
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.admission.bucket import Bucket, Moment
from fanout.decide.admission.clock import ServerClock
from fanout.words.model import Dimension
from fanout.words.outcome import Triple


def bucket(limit: int = 60_000, dimension: Dimension = Dimension.INPUT) -> Bucket:
    made = Bucket(dimension)
    made.learn_limit(limit, 0.0)
    return made


def at(now: float, *, server: float = 1000.0) -> Moment:
    return Moment(now, server + now, server + now)


def test_an_unknown_limit_lets_everything_pass() -> None:
    unknown = Bucket(Dimension.INPUT)
    assert unknown.wait(10**9, 0.0) == 0
    assert unknown.level(0.0) == math.inf
    unknown.charge(5, 0.0)


def test_the_wait_is_what_the_refill_takes() -> None:
    made = bucket()
    made.charge(60_000, 0.0)
    wait = made.wait(10_000, 0.0)
    assert wait == pytest.approx((10_200 + made.reserve()) / 1000)
    assert made.wait(10_000, wait) == 0


def test_a_call_larger_than_the_bucket_waits_for_a_full_one_and_goes() -> None:
    made = bucket()
    made.charge(30_000, 0.0)
    assert made.wait(500_000, 0.0) == pytest.approx(30)
    assert made.wait(500_000, 30.0) == 0
    made.charge(500_000, 30.0)
    assert made.level(30.0) == -440_000


def test_what_is_held_is_not_free() -> None:
    made = bucket()
    assert made.wait(30_000, 0.0, held=25_000) == 0
    assert made.wait(30_000, 0.0, held=35_000) > 0


def test_debt_shows_in_reset_only() -> None:
    """`remaining: 0` and a reset 312 s away on 30k a minute: 126k of debt."""
    made = bucket(30_000)
    said = Triple(30_000, 0, 1000.0 + 312)
    made.follow(said, at(0.0), reckoned=made.level(0.0), uncounted=0.0)
    assert made.level(0.0) == pytest.approx(30_000 - 156_000, abs=501)


def test_somebody_else_lowers_the_level_and_is_left_room() -> None:
    made = bucket()
    for second in range(1, 30):
        level = made.level(float(second))
        said = Triple(60_000, max(0, round(level - 3_000)), None)
        made.follow(said, at(float(second)), reckoned=level, uncounted=0.0)
    assert made.foreign > 300
    assert made.reserve() > 3_000


def test_rounding_teaches_nothing() -> None:
    made = bucket()
    made.charge(20_300, 0.0)
    before = made.level(0.0)
    made.follow(Triple(60_000, 40_000, None), at(0.0), reckoned=before, uncounted=0.0)
    assert made.level(0.0) == before
    assert made.foreign == 0


def test_a_level_too_low_is_raised_but_not_over_what_is_on_its_way() -> None:
    made = bucket()
    made.charge(50_000, 0.0)
    said = Triple(60_000, 40_000, None)
    made.follow(said, at(0.0), reckoned=made.level(0.0), uncounted=12_000)
    assert made.level(0.0) == 40_000 - 500 - 12_000


def test_the_burst_is_learned_from_many_blurred_sights() -> None:
    """Ten seconds' worth of 400 a minute is 66, not 400."""
    made = bucket(400, Dimension.REQUESTS)
    for step in range(40):
        now = step * 0.73
        level = 66.67 - (step % 7) * 6
        reset = math.floor(1000 + now + (66.67 - level) / made.rate)
        made.learn_capacity(Triple(400, int(level), float(reset)), at(now))
    assert 62 <= made.capacity <= 66.67 <= made.capacity_most <= 69


def test_a_changed_limit_starts_anew() -> None:
    made = bucket()
    assert made.learn_limit(30_000, 1.0)
    assert not made.learn_limit(30_000, 2.0)
    assert made.rate == 500
    assert made.level(2.0) <= 30_000


def test_an_old_date_says_nothing_and_a_clock_that_jumped_is_believed() -> None:
    clock = ServerClock()
    assert clock.learn(1000.0, 0.0)
    assert clock.learn(1010.0, 9.9)
    assert not clock.learn(1002.0, 10.0)
    earliest, latest = clock.earliest(10.0), clock.latest(10.0)
    assert earliest is not None
    assert latest is not None
    assert 1009 < earliest <= latest < 1012
    assert clock.learn(5000.0, 11.0)
    assert clock.earliest(11.0) == 5000.0


class FakeLoop(asyncio.SelectorEventLoop):
    """A loop that tells the time it is told."""

    now = 0.0

    def time(self) -> float:
        return self.now


@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 600)), min_size=1, max_size=40)
)
def test_equal_to_aiolimiter_where_both_are_defined(
    calls: list[tuple[float, int]],
) -> None:
    """Same capacity, same refill: the same call fits at the same moment in both."""
    loop = FakeLoop()
    try:
        loop.run_until_complete(compare(loop, calls))
    finally:
        loop.close()


async def compare(loop: FakeLoop, calls: list[tuple[float, int]]) -> None:
    theirs = AsyncLimiter(600, 60)
    ours = bucket(600, Dimension.REQUESTS)
    reserve = ours.reserve()
    for gap, amount in calls:
        loop.now += gap
        level = ours.level(loop.now)
        fits = theirs.has_capacity(amount)
        assert level == pytest.approx(600 - theirs._level, abs=1e-6)
        if abs(level - amount) > 1e-6:
            assert fits == (level > amount)
        assert (ours.wait(amount, loop.now) == 0) <= (level + 1e-6 >= amount)
        assert ours.wait(amount, loop.now) > 0 or level + 1e-6 >= min(
            amount * 1.02 + reserve, 600
        )
        if fits:
            await theirs.acquire(amount)
            ours.charge(amount, loop.now)


def test_a_refusal_is_believed_to_its_last_second() -> None:
    """Else a belief that is half a request too high stays so, and every second
    request is refused."""
    bucket = Bucket(Dimension.REQUESTS)
    bucket.learn_limit(20, 0.0)
    bucket.charge(18.8, 0.0)
    bucket.refused(2.0, 0.0)
    assert bucket.level(0.0) == pytest.approx(1 - 2 / 3)
    assert bucket.level(2.0) == pytest.approx(1.0)
    bucket.charge(1.0, 2.0)
    bucket.refused(1.0, 2.0)
    assert bucket.level(2.0) == pytest.approx(0.0)  # lower already: left alone
