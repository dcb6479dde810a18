"""Holds, the breaker and the ceiling: who learns what from which refusal."""

from fanout.decide.admission.breaker import IN_A_ROW, Breaker
from fanout.decide.admission.ceiling import INFORMED, START, Ceiling
from fanout.decide.admission.holds import Hold
from fanout.words.model import Cause


def half() -> float:
    return 0.5


def refuse(
    hold: Hold, now: float, *, generation: int, retry_after: float | None
) -> bool:
    return hold.refused(
        Cause.LIMIT, now, generation=generation, retry_after=retry_after, chance=half
    )


def test_a_late_429_of_the_same_burst_joins_the_hold() -> None:
    hold = Hold()
    assert refuse(hold, 0.0, generation=0, retry_after=10)
    assert not refuse(hold, 1.0, generation=0, retry_after=12)
    assert hold.strikes == 1
    assert 13 <= hold.until <= 13.2


def test_a_shorter_one_never_shortens_it() -> None:
    hold = Hold()
    refuse(hold, 0.0, generation=0, retry_after=505)
    refuse(hold, 1.0, generation=0, retry_after=1)
    refuse(hold, 2.0, generation=1, retry_after=1)
    assert hold.until >= 505


def test_an_early_success_ends_a_hold_and_a_late_one_does_not() -> None:
    hold = Hold()
    refuse(hold, 0.0, generation=0, retry_after=600)
    hold.got_through(0)
    assert hold.active(1.0)
    hold.got_through(1)
    assert not hold.active(1.0)
    assert hold.strikes == 0


def test_a_call_that_was_sent_before_a_wait_was_told_does_not_end_it() -> None:
    """The call of the present hold comes through after an older one was told more."""
    hold = Hold()
    refuse(hold, 0.0, generation=0, retry_after=2)
    # At 3 a call is sent under the hold's generation; an older one comes back at 4.
    refuse(hold, 4.0, generation=0, retry_after=20)
    hold.got_through(1)
    assert hold.active(23.0)
    assert hold.strikes == 1


def test_without_retry_after_the_wait_doubles() -> None:
    hold, waits, now = Hold(), [], 0.0
    for generation in range(5):
        refuse(hold, now, generation=generation, retry_after=None)
        waits.append(hold.until - now)
        now = hold.until
    assert waits == [0.75, 1.5, 3.0, 6.0, 12.0]
    assert hold.careful


def test_a_retry_after_of_nothing_is_not_a_hot_loop() -> None:
    hold = Hold()
    refuse(hold, 0.0, generation=0, retry_after=0.0)
    assert hold.until >= 0.5


def test_one_529_stops_nobody_and_several_open_the_breaker() -> None:
    breaker = Breaker(half)
    opened = [breaker.failed(n, 0.0, generation=0) for n in range(IN_A_ROW)]
    assert opened == [False] * (IN_A_ROW - 1) + [True]
    assert not breaker.may_knock(0.0)
    assert breaker.may_knock(1.0)


def test_one_call_knocks_and_its_failures_lengthen_the_interval() -> None:
    breaker = Breaker(half)
    for n in range(IN_A_ROW):
        breaker.failed(n, 0.0, generation=0)
    gaps = []
    for call in range(100, 112):
        now = breaker.knock_at
        breaker.sent(call)
        assert not breaker.may_knock(now)
        breaker.failed(call, now, generation=1)
        gaps.append(breaker.knock_at - now)
    assert gaps == sorted(gaps)
    assert gaps[-1] <= 30
    breaker.failed(1, 5.0, generation=0)
    breaker.worked(2)
    assert breaker.open
    breaker.sent(200)
    breaker.worked(200)
    assert not breaker.open
    assert breaker.since is None


def test_a_service_that_fails_half_its_calls_opens_the_breaker() -> None:
    breaker = Breaker(half)
    opened = False
    for n in range(20):
        opened |= breaker.failed(2 * n, 0.0, generation=0)
        breaker.worked(2 * n + 1)
    assert opened


def test_a_knock_that_is_cancelled_lets_another_one_go() -> None:
    breaker = Breaker(half)
    for n in range(IN_A_ROW):
        breaker.failed(n, 0.0, generation=0)
    breaker.sent(50)
    breaker.ended(50)
    assert breaker.may_knock(60.0)


def test_the_ceiling_multiplies_while_it_is_used_and_was_never_refused() -> None:
    ceiling = Ceiling()
    for _ in range(START):
        ceiling.got_through(ceiling.limit)
    assert ceiling.limit == 4 * START
    for _ in range(100):
        ceiling.got_through(1)
    assert ceiling.limit == 4 * START


def test_after_a_moment_of_trouble_the_ceiling_doubles_until_where_it_was() -> None:
    ceiling = Ceiling(start=40)
    ceiling.refused(40, generation=0, lasting=False)
    for _ in range(20):
        ceiling.got_through(ceiling.limit)
    assert ceiling.limit == 40
    for _ in range(20):
        ceiling.got_through(ceiling.limit)
    assert ceiling.limit == 40


def test_a_burst_of_refusals_is_one_cut() -> None:
    ceiling = Ceiling(start=40)
    cuts = [ceiling.refused(40, generation=0, lasting=True) for _ in range(20)]
    assert cuts.count(True) == 1
    assert ceiling.limit == 20


def test_the_ceiling_ends_near_what_the_account_takes() -> None:
    """An account that takes 24 connections, met again and again."""
    ceiling, sizes = Ceiling(start=64), []
    for _ in range(4_000):
        if ceiling.limit > 24:
            ceiling.refused(ceiling.limit, generation=ceiling.generation, lasting=True)
        else:
            ceiling.got_through(ceiling.limit)
        sizes.append(ceiling.limit)
    late = sizes[1_000:]
    assert sum(late) / len(late) > 0.85 * 24


def test_after_a_bad_moment_it_grows_back_quickly() -> None:
    """Few calls were out when the service went away; that says nothing of the account."""
    ceiling = Ceiling()
    ceiling.informed()
    assert ceiling.refused(4, generation=0, lasting=False)
    assert ceiling.limit == 2
    grown = 0
    while ceiling.limit < INFORMED:
        ceiling.got_through(ceiling.limit)
        grown += 1
    assert grown <= INFORMED


def test_the_users_number_is_a_ceiling_over_it() -> None:
    ceiling = Ceiling()
    ceiling.user = 3
    assert ceiling.limit == 3
    ceiling.user = 300
    assert ceiling.limit == START


def test_known_limits_open_it_unless_it_was_cut() -> None:
    ceiling = Ceiling()
    ceiling.informed()
    assert ceiling.limit == INFORMED
    ceiling.refused(INFORMED, generation=0, lasting=True)
    ceiling.informed()
    assert ceiling.limit == INFORMED // 2
