"""Forecasts: they add up, they grow with the work, and they learn."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.batching import POOL as BATCH
from fanout.decide.forecast.compare import compared, outcome
from fanout.decide.forecast.duration import (
    IN_FLIGHT,
    LONGEST,
    Limit,
    Limits,
    Load,
    duration,
)
from fanout.decide.forecast.forecast import forecast
from fanout.decide.forecast.outlook import Experience, Outlook
from fanout.decide.forecast.prior import Kind, guess, supposed
from fanout.decide.forecast.sample import Sample, Use, used
from fanout.decide.forecast.say import (
    Tally,
    figures,
    first_wave,
    in_vain,
    minutes,
    tokens,
)
from fanout.words.ahead import Forecasted, Foreseen
from fanout.words.events import (
    CallAnswered,
    Event,
    LifeStarted,
    Record,
    RowDone,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    TurnsKept,
)
from fanout.words.forecast import Forecast, Range
from fanout.words.model import Dimension, MissingKind, RowId, RowSpec, Usage

POOL = "sonnet"
LIMITS = Limits(
    pools={
        POOL: {
            Dimension.REQUESTS: Limit(per_minute=1_000),
            Dimension.INPUT: Limit(per_minute=60_000),
            Dimension.OUTPUT: Limit(per_minute=20_000),
        }
    }
)


NO_LIMITS = Limits(pools={POOL: {Dimension.INPUT: Limit(per_minute=1e9)}})


def spec(size: int = 3_000, **changes: Any) -> RowSpec:
    return RowSpec(
        **{
            "kind": "agent",
            "model": "claude-sonnet-5",
            "pool": POOL,
            "fingerprint": "1:f",
            "max_tokens": 8_192,
            "max_turns": 50,
            "estimate": 1_000,
            "size": size,
            **changes,
        }
    )


class Told:
    """An outlook that is told facts."""

    def __init__(self, *events: Event) -> None:
        self.outlook = Outlook()
        self.numbers = itertools.count(1)
        self.tell(*events)

    def tell(self, *events: Event) -> "Told":
        for event in events:
            self.outlook.take_in(Record(next(self.numbers), 1, 0.0, event))
        return self

    def ask(self, key: str, phase: str = "main", **changes: Any) -> RowId:
        row = RowId(phase, key)
        self.tell(RowScheduled(row=row, spec=spec(**changes), opening={}))
        return row

    def answer(self, row: RowId, usage: Usage, seconds: float = 4.0) -> "Told":
        return self.tell(
            CallAnswered(
                row=row,
                call=1,
                usage=usage,
                stop_reason="end_turn",
                answer=[],
                seconds=seconds,
            )
        )

    def end(self, row: RowId) -> "Told":
        return self.tell(RowDone(row=row, value="x"))

    def see(self, limits: Limits = LIMITS) -> Forecast:
        return forecast(self.outlook, limits)


ONE = Usage(1_000, 200)


def learned(count: int = 12, usage: Usage = ONE, **changes: Any) -> Told:
    told = Told()
    for number in range(count):
        row = told.ask(f"old-{number}", **changes)
        told.answer(row, usage).end(row)
    return told


def test_nothing_to_do_takes_nothing() -> None:
    seen = Told().see()
    assert (seen.rows, seen.tokens.total, seen.calls) == (0, Range(), Range())
    assert seen.seconds == Range()
    assert seen.dollars == Range()


def test_what_was_learned_is_what_is_expected() -> None:
    told = learned()
    for number in range(10):
        told.ask(f"new-{number}")
    seen = told.see()
    assert seen.rows == 10
    assert seen.tokens.input.expected == pytest.approx(10_000)
    assert seen.tokens.output.expected == pytest.approx(2_000)
    assert seen.calls.expected == pytest.approx(10)
    assert seen.phases[0].learned == 12
    # 2 dollars a million in, 10 out.
    assert seen.dollars is not None
    assert seen.dollars.expected == pytest.approx(0.02 + 0.02)


def test_an_unknown_price_is_unknown() -> None:
    told = Told()
    told.ask("a", model="claude-nobody-9")
    told.ask("b")
    seen = told.see()
    assert seen.dollars is None
    assert seen.unpriced == ("claude-nobody-9",)
    assert "no price for claude-nobody-9" in figures(seen)


def test_a_prompt_s_length_is_a_call_s_not_the_run_s() -> None:
    told = learned(usage=Usage(50_000, 0), model="claude-haiku-5-5")
    for number in range(10):
        told.ask(f"n{number}", model="claude-haiku-5-5")
    seen = told.see()
    assert seen.dollars is not None
    assert seen.dollars.expected == pytest.approx(500_000 * 0.10 / 1e6, rel=0.01)


def test_a_batch_costs_half_and_takes_as_long_as_it_takes() -> None:
    live, batched = Told(), Told()
    for number in range(20):
        live.ask(f"k{number}")
        batched.ask(f"k{number}", pool="batches")
    whole, half = live.see(), batched.see()
    assert whole.dollars is not None
    assert half.dollars is not None
    assert half.dollars.expected == pytest.approx(whole.dollars.expected / 2)
    assert half.tokens == whole.tokens
    assert whole.seconds is not None
    assert half.seconds == Range(60, 3_600, 86_400)
    assert "about 60 min (60 s-24 h, batches take what they take)" in figures(half)


def test_what_an_agent_has_used_is_not_to_come() -> None:
    told = learned(usage=Usage(1_000, 200))
    row = told.ask("going")
    before = told.see().tokens.total.expected
    told.answer(row, Usage(900, 150))
    after = told.see().tokens.total.expected
    assert 0 < after < before / 2
    told.end(row)
    assert told.see().rows == 0


def test_the_longest_agent_has_less_left_the_more_it_has_done() -> None:
    told = learned()
    for number in range(6):
        row = told.ask(f"more-{number}")
        for _ in range(5):
            told.answer(row, ONE, seconds=20.0)
        told.end(row)
    row = told.ask("going")
    left = [told.see(NO_LIMITS)]
    for _ in range(3):
        told.answer(row, ONE, seconds=10.0)
        left.append(told.see(NO_LIMITS))
    seconds = [one.seconds.expected for one in left if one.seconds is not None]
    assert len(seconds) == 4
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] < seconds[0] / 2
    assert left[0].seconds is not None
    assert left[0].seconds.low < seconds[0] < left[0].seconds.high


def test_kept_turns_are_not_paid_again() -> None:
    told = learned(usage=Usage(8_000, 400))
    row = told.ask("kept")
    entry = {"kind": "answer", "content": [], "usage": Usage(6_000, 300).as_dict()}
    told.tell(TurnsKept(row=row, source="r", entries=(entry,)))
    assert told.see().tokens.total.expected < 3_000


def test_a_stopped_row_teaches_nothing_and_may_come_back() -> None:
    told = Told()
    row = told.ask("a")
    told.answer(row, ONE)
    told.tell(RowMissing(row=row, kind=MissingKind.STOPPED, reason=""))
    assert told.see().rows == 0
    assert not told.outlook.groups[("main", "claude-sonnet-5")].sample.count  # type: ignore[index]
    told.tell(RowRequeued(row=row))
    assert told.see().rows == 1


def test_declared_rows_count_where_their_phase_is_known() -> None:
    told = learned()
    told.tell(RowExpected(row=RowId("main", "x")), RowExpected(row=RowId("next", "y")))
    seen = told.see()
    assert seen.rows == 1
    assert seen.tokens.input.expected == pytest.approx(1_000)
    assert seen.unknown == 1


def test_a_new_life_has_everything_before_it() -> None:
    told = learned()
    told.ask("open")
    told.tell(
        LifeStarted(
            run="r",
            life=2,
            script="s",
            arguments=(),
            endpoint="e",
            simulated=True,
            model="m",
            version="0",
            pid=1,
        )
    )
    assert told.see().rows == 0
    assert told.outlook.groups[("main", "claude-sonnet-5")].sample.count == 12  # type: ignore[index]


def test_earlier_runs_teach_until_this_one_knows_better() -> None:
    told = Told()
    told.outlook.earlier = Experience([learned(usage=Usage(9_000, 0)).outlook])
    told.ask("new")
    assert told.see().tokens.input.expected == pytest.approx(9_000)
    for number in range(30):
        row = told.ask(f"n{number}")
        told.answer(row, Usage(1_000, 0)).end(row)
    assert told.see().tokens.input.expected == pytest.approx(1_000)


def test_the_newest_of_the_earlier_runs_counts_most() -> None:
    newest = learned(40, usage=Usage(1_000, 0)).outlook
    oldest = learned(500, usage=Usage(9_000, 0)).outlook
    told = Told()
    told.outlook.earlier = Experience([newest, oldest])
    told.ask("new")
    assert told.see().tokens.input.expected == pytest.approx(1_000)


def test_another_model_s_agents_of_the_phase_are_better_than_a_guess() -> None:
    told = Told()
    told.outlook.earlier = Experience([learned(model="claude-opus-5").outlook])
    told.ask("new")
    assert told.see().tokens.input.expected == pytest.approx(1_000)


# -- properties ------------------------------------------------------------

sizes = st.lists(st.integers(0, 400_000), min_size=1, max_size=40)
usages = st.builds(
    Usage,
    st.integers(0, 500_000),
    st.integers(0, 60_000),
    st.integers(0, 900_000),
    st.integers(0, 300_000),
)
seen_agents = st.lists(st.tuples(st.integers(0, 400_000), usages), max_size=25)


def sample_of(agents: Sequence[tuple[int, Usage]]) -> Sample:
    sample = Sample()
    for size, usage in agents:
        sample.learn(size, used(usage, 3, 9.0))
    return sample


@given(seen_agents, sizes, sizes)
def test_more_work_never_takes_less(
    agents: list[tuple[int, Usage]], some: list[int], more: list[int]
) -> None:
    sample = sample_of(agents)
    for use in Use:
        few = sample.of(use, len(some), sum(some))
        many = sample.of(use, len(some) + len(more), sum(some) + sum(more))
        assert few.expected <= many.expected * (1 + 1e-9) + 1e-6
        assert few.high <= many.high * (1 + 1e-9) + 1e-6
        assert 0 <= few.low <= few.expected <= few.high
        assert math.isfinite(many.high)


@given(sizes, st.booleans())
def test_a_guess_is_a_range_and_grows(some: list[int], tools: bool) -> None:
    kind = Kind(model="claude-sonnet-5", tools=tools, max_tokens=8_192, max_turns=50)
    for end, more in ((some, [*some, 1_000]),):
        before = guess(kind, len(end), supposed(sum(end)))
        after = guess(kind, len(more), supposed(sum(more)))
        assert all(0 <= one.low <= one.expected <= one.high for one in before)
        assert before[Use.CALLS].expected <= after[Use.CALLS].expected * (1 + 1e-9)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["draft", "review"]),
            st.sampled_from(["claude-sonnet-5", "claude-opus-5", "claude-unheard-of"]),
            st.integers(0, 90_000),
            st.sampled_from(["open", "going", "done"]),
            usages,
        ),
        max_size=30,
    )
)
def test_the_parts_are_the_whole(
    rows: list[tuple[str, str, int, str, Usage]],
) -> None:
    told = Told()
    for number, (phase, model, size, state, usage) in enumerate(rows):
        row = told.ask(f"k{number}", phase, size=size, model=model)
        if state != "open":
            told.answer(row, usage)
        if state == "done":
            told.end(row)
    seen = told.see()
    assert seen.rows == sum(state != "done" for _, _, _, state, _ in rows)
    for end in ("low", "expected", "high"):
        parts = sum(getattr(one.tokens.total, end) for one in seen.phases)
        classes = seen.tokens
        whole = sum(
            getattr(figure, end)
            for figure in (
                classes.input,
                classes.cache_write,
                classes.cache_read,
                classes.output,
            )
        )
        assert parts == pytest.approx(whole)
    kinds = {(p, m) for p, m, _, state, _ in rows if state != "done"}
    assert {(one.phase, one.model) for one in seen.phases} == kinds
    assert (seen.dollars is None) == any("unheard" in m for _, m in kinds)
    everything = told.outlook.only(list(told.outlook._rows))
    again = forecast(everything, LIMITS)
    assert again.tokens.total.expected == pytest.approx(seen.tokens.total.expected)
    assert again.rows == seen.rows


# -- minutes ---------------------------------------------------------------


def test_the_slowest_bucket_decides() -> None:
    load = Load(calls=100, input=600_000, output=100_000, seconds=400, longest=4)
    took = duration({POOL: load}, LIMITS)
    assert took is not None
    assert took.binds == Dimension.INPUT.value
    assert took.seconds == pytest.approx(600 * 1.03 + 4)


def test_what_the_bucket_holds_goes_at_once() -> None:
    held = Limits(pools={POOL: {Dimension.INPUT: Limit(per_minute=60_000, ready=1e6)}})
    took = duration({POOL: Load(calls=9, input=600_000, longest=7)}, held)
    assert took is not None
    assert (took.seconds, took.binds) == (7, LONGEST)


def test_few_places_decide_when_the_limits_do_not() -> None:
    few = Limits(pools=LIMITS.pools, slots=2)
    took = duration({POOL: Load(calls=100, input=1_000, seconds=800, longest=8)}, few)
    assert took is not None
    assert (took.seconds, took.binds) == (400, IN_FLIGHT)


def test_pools_do_not_wait_for_each_other_and_an_unknown_one_says_so() -> None:
    load = Load(calls=10, input=60_000, longest=1)
    both = Limits(pools={**LIMITS.pools, "opus": LIMITS.pools[POOL]})
    one = duration({POOL: load}, both)
    two = duration({POOL: load, "opus": load}, both)
    assert one is not None
    assert two is not None
    assert one.seconds == two.seconds
    assert duration({POOL: load, "opus": load}, LIMITS) is None
    assert duration({POOL: load, "opus": Load()}, LIMITS) is not None


loads = st.builds(
    Load,
    calls=st.floats(1, 1e4),
    input=st.floats(0, 1e8),
    output=st.floats(0, 1e8),
    seconds=st.floats(0, 1e5),
    longest=st.floats(0, 1e4),
)


@given(loads, loads)
def test_more_load_never_ends_sooner(one: Load, more: Load) -> None:
    both = Load(
        calls=one.calls + more.calls,
        input=one.input + more.input,
        output=one.output + more.output,
        seconds=one.seconds + more.seconds,
        longest=max(one.longest, more.longest),
    )
    before, after = duration({POOL: one}, LIMITS), duration({POOL: both}, LIMITS)
    assert before is not None
    assert after is not None
    tail = one.seconds / one.calls
    assert before.seconds <= after.seconds + tail + 1e-6


# -- words -----------------------------------------------------------------


def test_a_resume_says_what_it_reuses_and_why_the_rest_runs_again() -> None:
    told = learned(usage=Usage(30_000, 0))
    for number in range(6):
        told.ask(f"n{number}")
    tally = Tally(reused=96, kept=2, new=1, again={"its inputs changed": 3})
    said = first_wave(tally, told.see())
    assert said.startswith("reuses 96, will run 6, about 180k tokens")
    assert said.endswith(
        ": 3 because their inputs changed, 2 go on from their kept turns, 1 new"
    )


def test_nothing_reused_of_much_is_said_loudly() -> None:
    told = Told()
    told.ask("a")
    (phase,) = {one.phase for one in told.see().phases}
    tally = Tally(again={"its prompt changed": 1}, held={phase: 96, "later": 1})
    said = first_wave(tally, told.see())
    assert said.startswith("NOTHING IS REUSED of the 96 results")
    assert said.endswith(": 1 because its prompt changed")
    assert f"of the 96 results that earlier work left in {phase}:" in said
    assert not in_vain(Tally(new=1), told.see())
    assert not in_vain(Tally(new=1, held={"later": 1}), told.see())


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0"), (850, "850"), (180_000, "180k"), (3_140_000, "3.1M")]
)
def test_tokens_in_short(count: float, said: str) -> None:
    assert tokens(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "1 s"),
        (40, "40 s"),
        (150, "2 min"),
        (720, "12 min"),
        (12_000, "3 h 20 min"),
        (86_400, "24 h"),
    ],
)
def test_time_in_short(seconds: float, said: str) -> None:
    assert minutes(seconds) == said


def test_batches_cost_half_and_wait_for_no_bucket() -> None:
    told = learned()
    told.ask("now", "live")
    batched = learned(pool=BATCH)
    batched.ask("later", pool=BATCH)
    seen = batched.see()
    assert seen.seconds == Range(60, 3_600, 86_400)
    assert seen.dollars is not None
    assert seen.dollars.expected == pytest.approx(0.002)
    for number in range(4_000):
        told.ask(f"much-{number}", "live")
        batched.ask(f"much-{number}", "live")
    live, both = told.see(), batched.see()
    assert both.seconds is not None
    assert live.seconds is not None
    assert live.seconds.expected > 3_600
    assert both.seconds.expected == pytest.approx(live.seconds.expected, rel=0.01)
    assert both.seconds.high == 86_400
    assert both.binds == live.binds


# -- afterwards ------------------------------------------------------------


def foreseen(told: Told, **changes: Any) -> Foreseen:
    said = Forecasted(
        reused=96,
        kept=0,
        again={"its prompt changed": 2},
        figures=told.see().as_dict(),
        text="reuses 96, will run 6",
    )
    given: dict[str, Any] = {"first": said, "last": said, "at": 100.0, "before": ONE}
    return Foreseen(**{**given, **changes})


def test_the_end_compares_what_was_said_with_what_came() -> None:
    told = learned(usage=Usage(30_000, 0))
    for number in range(6):
        told.ask(f"n{number}")
    used = Usage(176_000 + ONE.input_tokens, ONE.output_tokens)
    found = compared(foreseen(told), used, 0.35, 370.0)
    assert found is not None
    assert found["actual"]["tokens"]["total"] == 176_000
    assert found["actual"] == {
        "tokens": {**Usage(176_000).as_dict(), "total": 176_000},
        "dollars": 0.35,
        "seconds": 270.0,
    }
    assert outcome(found) == (
        "180k tokens, $0.36, 3 min expected; 176k tokens, $0.35, 4 min used"
    )


def test_how_sure_openings_are_is_not_held_against_what_tools_read_later() -> None:
    """Also where the last wave had no tools."""
    told = learned(usage=Usage(30_000, 0))
    told.ask("n")
    plain = foreseen(told)
    sure = {"error": 0.05, "openings": False}
    last = replace(plain.last, figures={**plain.last.figures, "calibrated": sure})
    first = {**plain.first.figures, "calibrated": {**sure, "openings": True}}
    mixed = replace(plain, last=last, first=replace(plain.first, figures=first))
    used = Usage(5_000)
    said = outcome(compared(replace(plain, first=last, last=last), used, None, 9.0))
    assert "less than expected (±5 % said)" in said
    assert "than expected (" not in outcome(compared(mixed, used, None, 9.0))


def test_what_is_unknown_is_left_out_of_the_comparison() -> None:
    told = Told()
    told.ask("a", model="claude-nobody-9")
    found = compared(foreseen(told, before=Usage()), ONE, None, 101.0)
    assert found is not None
    assert found["actual"]["dollars"] is None
    assert "$" not in outcome(found)
    assert compared(None, ONE, 1.0, 5.0) is None
    assert outcome(None) == ""


@pytest.mark.parametrize(
    "figures",
    [
        None,
        [],
        {},
        {"agents": 6},
        {"agents": 6, "tokens": 7, "dollars": "x", "seconds": [1]},
        {"agents": 6, "tokens": {"total": {"expected": "much"}}},
    ],
)
def test_a_journal_may_say_anything(figures: Any) -> None:
    said = Forecasted(reused=0, kept=0, again={}, figures=figures, text="")
    given = Foreseen(first=said, last=said, at=1.0, before=Usage())
    assert outcome(compared(given, ONE, 1.0, 2.0)) == ""


def test_nothing_that_ran_is_no_comparison() -> None:
    assert outcome(compared(foreseen(Told()), ONE, 0.0, 101.0)) == ""
