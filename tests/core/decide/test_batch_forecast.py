"""How long batches take, by those that ended; and what broken calls teach."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.decide.test_forecast import LIMITS, ONE, Told
from fanout.decide.batching import POOL as BATCH
from fanout.decide.batching import read_batch
from fanout.decide.forecast.batches import BATCHES, DAY, Batches
from fanout.decide.forecast.forecast import forecast
from fanout.decide.forecast.outlook import Experience
from fanout.decide.forecast.say import how_long
from fanout.words.batched import BatchEnded, BatchGone, BatchOpened, BatchPlanned
from fanout.words.events import CallAbandoned, CallRefused, LifeStarted, Record
from fanout.words.forecast import Forecast, Range
from fanout.words.model import NO_USAGE, RowId, Usage

HOUR = 3_600.0


def batches(*facts: tuple[float, Any]) -> Batches:
    made = Batches()
    for number, (at, event) in enumerate(facts, 1):
        made.take_in(Record(number, 1, at, event))
    return made


def ended(number: int, took: float | None) -> BatchEnded:
    return BatchEnded(batch=number, counts={"succeeded": 3}, took=took)


def run(*took: float) -> Told:
    """A run whose batches took so long, one after the other."""
    told = Told()
    for number, seconds in enumerate(took, 1):
        told.tell(BatchPlanned(batch=number, count=0), ended(number, seconds))
    return told


def see(told: Told, now: float) -> Range:
    seen = forecast(told.outlook, LIMITS, now)
    assert seen.binds == BATCHES
    assert seen.seconds is not None
    return seen.seconds


def test_with_nothing_known_it_is_an_hour_and_a_day_at_most() -> None:
    assert Batches().whole(()) == Range(60, HOUR, DAY)


def test_what_batches_took_is_what_they_take() -> None:
    told = run(600, 900, 1_200)
    told.ask("a", pool=BATCH)
    assert see(told, 0) == Range(600, 900, DAY)
    assert run(600, 900, 1_200, 900, 600).outlook.batches.whole(()).high == 2_400


def test_batches_of_earlier_runs_are_learned_from() -> None:
    told = Told()
    told.ask("a", pool=BATCH)
    told.outlook.earlier = Experience([run(300).outlook, run(60, 60).outlook])
    assert see(told, 0) == Range(60, 60, DAY)
    newest = Experience([run(*[300] * 15).outlook, run(*[60] * 15).outlook])
    assert newest.batches == [60] * 5 + [300] * 15


def test_the_service_s_own_clock_says_how_long_it_took() -> None:
    """A run that was away looks long after the end."""
    told = batches((0, BatchPlanned(batch=1, count=3)), (90_000, ended(1, 700)))
    assert told.took == [700]
    told = batches((0, BatchPlanned(batch=1, count=3)), (800, ended(1, None)))
    assert told.took == [800]
    assert batches((800, ended(1, None))).took == []


@pytest.mark.parametrize(
    ("end", "took"),
    [("2026-01-01T00:10:00Z", 600), (None, None), ("2025-01-01T00:00:00Z", None)],
)
def test_a_batch_says_when_it_ended(end: str | None, took: float | None) -> None:
    told = {"id": "b", "created_at": "2026-01-01T00:00:00Z", "ended_at": end}
    seen = read_batch(told)
    assert seen is not None
    assert seen.took == took


def test_what_is_left_gets_less_while_a_batch_is_under_way() -> None:
    told = run(600, 900, 1_200)
    told.ask("a", pool=BATCH)
    told.tell(BatchPlanned(batch=9, count=1))
    assert see(told, 0) == Range(600, 900, DAY)
    assert see(told, 300) == Range(300, 600, DAY - 300)
    late = see(told, 4 * HOUR)
    assert late == Range(0, 2 * HOUR, 20 * HOUR)
    assert see(told, 2 * DAY) == Range()
    told.ask("b", pool=BATCH)
    assert see(told, 300) == Range(600, 900, DAY), "another one is still to go"


def test_results_that_are_being_read_are_not_waited_for_again() -> None:
    told = run(600)
    rows = [told.ask(f"k{n}", pool=BATCH) for n in range(3)]
    told.tell(BatchPlanned(batch=9, count=3), ended(9, 600))
    assert see(told, 0) == Range()
    told.answer(rows[0], ONE).end(rows[0])
    assert see(told, 0) == Range()
    assert told.outlook.batches.under_way == 2
    told.tell(_life())
    assert told.outlook.batches.under_way == 0


def _life() -> LifeStarted:
    return LifeStarted(
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


def test_a_batch_that_is_gone_is_not_waited_for() -> None:
    told = batches(
        (0, BatchPlanned(batch=1, count=3)), (1, BatchGone(batch=1, reason="gone"))
    )
    assert told.under_way == 0


def test_answers_that_go_back_take_a_batch_more() -> None:
    told = run(600, 600)
    for number in range(20):
        row = told.ask(f"old{number}", pool=BATCH)
        told.answer(row, ONE)
        told.answer(row, ONE) if number % 2 else None
        told.end(row)
    for number in range(20):
        told.ask(f"new{number}", pool=BATCH)
    assert see(told, 0).expected == 2 * 600


@given(st.lists(st.floats(1, DAY), max_size=30), st.floats(0, 3 * DAY))
def test_ranges_are_in_order_and_end_within_a_day(
    took: list[float], now: float
) -> None:
    told = Batches(took=took)
    told.take_in(Record(1, 1, 0.0, BatchPlanned(batch=1, count=1)))
    for seen in (told.whole(()), told.rest((), now)):
        assert 0 <= seen.low <= seen.expected <= seen.high <= DAY


def test_an_account_that_lets_go_sooner_is_waited_for_less() -> None:
    told = batches(
        (0, BatchPlanned(batch=1, count=1)),
        (1, BatchOpened(batch=1, id="b", seconds=240.0)),
    )
    assert told.rest((), 0).high == 240


def test_minutes_of_batches_are_said_as_a_range() -> None:
    seen = Forecast(seconds=Range(600, 1_500, DAY), binds=BATCHES)
    assert how_long(seen) == "about 25 min (10 min-24 h, batches take what they take)"


# -- waste -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["refused", "abandoned"])
def test_what_broken_calls_have_cost_is_learned(kind: str) -> None:
    plain, broken = Told(), Told()
    for told in (plain, broken):
        for number in range(30):
            row = told.ask(f"old{number}")
            if told is broken and number % 3 == 0:
                told.tell(_broke(kind, row, Usage(300)))
            told.answer(row, ONE).end(row)
        told.ask("new")
    before, after = plain.see().tokens.input, broken.see().tokens.input
    assert after.expected == pytest.approx(before.expected + 100)
    assert after.high - after.expected > before.high - before.expected


def test_a_refusal_that_costs_nothing_teaches_nothing() -> None:
    told = Told()
    row = told.ask("a")
    before = told.see()
    told.tell(_broke("refused", row, NO_USAGE))
    assert told.see() == before


def _broke(kind: str, row: RowId, wasted: Usage) -> CallRefused | CallAbandoned:
    if kind == "abandoned":
        return CallAbandoned(row=row, call=1, reason="cut", wasted=wasted)
    return CallRefused(
        row=row, call=1, cause="service", status=None, message="cut", until=None,
        request_id=None, wasted=wasted,
    )  # fmt: skip
