"""Whole runs on virtual time: how near the bound, and how few 429s.

The full table is printed by `python tests/bench/admission_virtual.py`; here are
its promises, with few seeds.
"""

import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bench.admission_driver import (
    Agent,
    Result,
    Run,
    Terms,
    Turn,
    longest_known,
    ours,
    together,
)
from bench.admission_server import Service
from bench.admission_work import WORK, rig
from fanout.decide.admission.planner import Decision
from fanout.words.model import RowId

RIG = Terms()
MINUTE = replace(RIG, burst=1.0)
SEEDS = range(1, 6)


def clean(result: Result) -> None:
    """Nobody lost, nothing left on the books, no 429 once headers were seen."""
    assert result.lost == 0
    assert result.in_flight_end == 0
    assert result.refused_after_first == 0


def test_the_rig_with_chains_declared_ends_within_a_tenth_of_the_bound() -> None:
    runs = [Run(RIG, rig(seed), seed=seed, rule=longest_known).go() for seed in SEEDS]
    for run in runs:
        clean(run)
    assert statistics.median(run.ratio for run in runs) <= 1.10


@pytest.mark.parametrize(
    "terms",
    [
        RIG,
        replace(RIG, scale=lambda _: 0.5),
        MINUTE,
        replace(RIG, burst=1 / 60),
        replace(RIG, skew=-3_600.0),
    ],
    ids=["as it is", "halved", "a minute's burst", "a second's burst", "skewed"],
)
def test_the_rig_by_what_is_really_known(terms: Terms) -> None:
    runs = [Run(terms, rig(seed), seed=seed, rule=ours).go() for seed in SEEDS]
    for run in runs:
        clean(run)
    assert statistics.median(run.ratio for run in runs) <= 1.20


@pytest.mark.parametrize("name", ["heavy-tailed", "multi-turn"])
def test_a_long_schedule_ends_at_the_bound_without_a_429(name: str) -> None:
    at_the_bound(Run(RIG, WORK[name](1), seed=1).go())


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("name", list(WORK))
@pytest.mark.parametrize("terms", [RIG, MINUTE], ids=["ten seconds", "a minute"])
def test_all_long_schedules_do(name: str, terms: Terms) -> None:
    for seed in (2, 3):
        at_the_bound(Run(terms, WORK[name](seed), seed=seed).go())


def at_the_bound(run: Result) -> None:
    clean(run)
    assert run.seconds > 500
    assert run.ratio <= 1.03


def test_an_evaluation_account_with_calls_larger_than_its_bucket() -> None:
    run = Run(Terms(50, 30_000, 8_000, burst=1.0), rig(3, 12), seed=3).go()
    clean(run)
    assert run.ratio <= 1.03


def test_others_on_the_account_are_left_room() -> None:
    run = Run(RIG, WORK["multi-turn"](2), seed=2, foreign=0.3).go()
    assert run.lost == 0
    assert run.refused <= 0.1 * run.calls
    assert run.ratio <= 1.05


def test_two_runs_on_one_account_keep_the_limit_and_both_finish() -> None:
    service = Service(RIG, random.Random(5).random)
    pair = [
        Run(RIG, rig(seed), seed=seed, shared=service, cap=600) for seed in (11, 12)
    ]
    results = together(pair)
    assert [result.lost for result in results] == [0, 0]
    assert service.refused <= 0.1 * sum(result.calls for result in results)
    bound = sum(pair[n].charged["input-tokens"] for n in (0, 1)) - RIG.input / 6
    assert max(r.seconds for r in results) <= 1.25 * bound / (RIG.input / 60)


def test_limits_that_change_are_followed_at_once() -> None:
    halved = replace(RIG, scale=lambda at: 1.0 if at < 60 else 0.5)
    run = Run(halved, WORK["multi-turn"](1)[:110], seed=1).go()
    clean(run)
    assert run.ratio <= 1.05


def test_a_wall_of_15_minutes_ends_with_everything_done() -> None:
    run = Run(replace(RIG, away=(30, 930)), WORK["multi-turn"](1), seed=1).go()
    clean(run)
    assert run.ratio <= 1.05


def test_without_headers_and_retry_after_nobody_is_lost() -> None:
    terms = replace(
        RIG,
        headers=frozenset(),
        retry_after=False,
        overloaded=lambda _, chance: chance < 0.05,
        cut=0.06,
    )
    for seed in (1, 2, 3):
        run = Run(terms, rig(seed), seed=seed).go()
        assert run.lost == 0
        assert run.seconds < 90


def test_a_limit_on_connections_is_found() -> None:
    run = Run(replace(RIG, concurrency=20), WORK["multi-turn"](1), seed=1).go()
    assert run.lost == 0
    assert run.refused <= 0.02 * run.calls
    assert run.ratio <= 1.05


def test_the_ramp_is_followed() -> None:
    terms = replace(RIG, ramp=lambda at: 300_000 + 150_000 * (at // 60))
    run = Run(terms, WORK["multi-turn"](1)[:100], seed=1).go()
    assert run.lost == 0
    assert run.refused <= 0.05 * run.calls


def test_a_server_that_lies_never_stalls_us() -> None:
    """It says 1,000 remaining and answers 429: one call an interval asks on."""
    run = Run(replace(RIG, lies=True), rig(1), seed=1, cap=600).go()
    assert run.lost == 40
    assert 8 <= run.refused <= 200


TERMS = st.builds(
    Terms,
    requests=st.integers(60, 4_000),
    input=st.integers(60_000, 4_000_000),
    output=st.integers(60_000, 800_000),
    burst=st.sampled_from([1.0, 1 / 6]),
    skew=st.sampled_from([0.0, -3_600.0, 7_200.5]),
    speed=st.floats(30, 400),
    first_token=st.floats(0.2, 2),
    way=st.floats(0.005, 0.08),
)


# A failing example is as telling unshrunk, and shrinking whole runs takes minutes.
@settings(
    max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
@given(TERMS, st.integers(0, 10**6))
def test_an_honest_account_alone_is_never_over_admitted(
    terms: Terms, seed: int
) -> None:
    """Against a limiter written apart from ours, whatever its size and burst.

    Estimates are what they are in life: bytes are worth 7 % more or fewer tokens
    from text to text, and the service's own count is off by 2 %.
    """
    run = Run(terms, crowd(terms, seed), seed=seed, check=never_stuck).go()
    assert run.lost == 0
    assert run.in_flight_end == 0
    assert run.refused_after_first == 0


def test_answers_longer_than_any_before_may_cost_a_refusal_and_nothing_else() -> None:
    """The known exception, found by exploring: how long an answer gets, nobody knows.

    Streams that were admitted by what such calls had used ran into 370 tokens of
    debt on a small output bucket, just when the next call was sent. Whether it comes
    to a refusal depends on the pace of the streams; nothing keeps it from happening.
    """
    terms = Terms(
        requests=69,
        input=71_662,
        output=60_000,
        burst=1 / 6,
        skew=7_200.5,
        speed=142.21120360783448,
        first_token=0.2,
        way=0.040851516951842595,
    )
    run = Run(terms, crowd(terms, 235), seed=235, check=never_stuck).go()
    assert (run.lost, run.in_flight_end) == (0, 0)
    assert run.refused_after_first <= 1


def crowd(terms: Terms, seed: int) -> list[Agent]:
    chance = random.Random(seed)
    mean = min(30_000, terms.input * chance.uniform(0.005, 0.05))

    def turn() -> Turn:
        size = int(max(200, chance.lognormvariate(0, 0.8) * mean))
        return Turn(size, int(20 + chance.random() * min(4_000, terms.output / 10)))

    return [
        Agent(
            RowId("p", f"a{n}"),
            [turn() for _ in range(chance.randint(1, 4))],
            n,
            ratio=0.27 * (0.93 + 0.14 * chance.random()),
        )
        for n in range(chance.randint(5, 30))
    ]


def never_stuck(run: Run, decision: Decision) -> None:
    """Work left, nothing in flight: something starts, or there is a next look."""
    if run.account.waiting("m") and not run.flying and not decision.starts:
        assert decision.look_again is not None


def test_a_large_head_waits_for_one_full_refill_at_most() -> None:
    """Small calls beside it for as long as it takes: they never pass it."""
    small = [Agent(RowId("p", f"s{n}"), [Turn(500, 50)] * 8, n) for n in range(60)]
    big = Agent(RowId("p", "big"), [Turn(250_000, 100)], 0, at=2.0)
    headed: list[float] = []

    def watch(run: Run, _: Decision) -> None:
        if run.account.waiting("m")[:1] == (big.row,):
            headed.append(run.now)

    clean(Run(RIG, [big, *small], seed=1, check=watch).go())
    assert big.done_at is not None
    assert headed[-1] - headed[0] <= 10.5
