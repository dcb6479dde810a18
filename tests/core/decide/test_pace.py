"""What is left is no faster than what came lately."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.forecast.duration import Limit, Limits
from fanout.decide.forecast.forecast import forecast
from fanout.decide.forecast.outlook import Outlook
from fanout.decide.forecast.pace import PACE, Pace
from fanout.decide.forecast.say import how_long
from fanout.words.events import (
    CallAnswered,
    Event,
    Record,
    RowDone,
    RowScheduled,
    RunResumed,
)
from fanout.words.model import Dimension, RowId, RowSpec, Usage

WIDE = Limits(pools={"p": {Dimension.INPUT: Limit(per_minute=1e9)}})
SPEC = RowSpec(
    kind="agent",
    model="claude-sonnet-5",
    pool="p",
    fingerprint="1:f",
    max_tokens=8_192,
    max_turns=50,
    estimate=30,
    size=90,
)


def paced(*answers: tuple[float, int]) -> Pace:
    """So many answers at each second."""
    pace = Pace()
    for at, number in answers:
        for _ in range(number):
            pace.answered(at)
    return pace


def test_the_pace_is_the_best_of_lately() -> None:
    assert paced(*((1_000.5 + s, 44) for s in range(11))).rate() == 44
    grows = paced(*((1_000.0 + s, 10 * s) for s in range(17)))
    assert grows.rate() == pytest.approx(sum(range(60, 160, 10)) / 10)


def test_slow_work_is_seen_over_a_longer_time() -> None:
    assert paced(*((float(s), 1) for s in range(25))).rate() == 0
    assert paced(*((float(s), 1) for s in range(70))).rate() == pytest.approx(1)


def test_too_few_answers_say_nothing() -> None:
    assert Pace().rate() == 0
    assert paced((5.0, 400)).rate() == 0
    assert paced(*((float(4 * s), 1) for s in range(30))).rate() == 0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 50)), max_size=40))
def test_any_clock_gives_a_pace_that_was_seen(answers: list[tuple[float, int]]) -> None:
    """Also one that is set back, or jumps."""
    rate = paced(*answers).rate()
    assert 0 <= rate <= sum(number for _, number in answers) / 10


class Run:
    """Three thousand rows, told second by second."""

    def __init__(self) -> None:
        self.outlook = Outlook()
        self._numbers = count(1)
        self._rows = [RowId("many", f"row-{n}") for n in range(3_000)]
        self._next = 0
        for row in self._rows:
            self.tell(0.0, RowScheduled(row=row, spec=SPEC, opening={}))

    def tell(self, at: float, event: Event) -> None:
        self.outlook.take_in(Record(next(self._numbers), 1, at, event))

    def ends(self, at: float, number: int) -> None:
        """So many rows are answered and done at this second."""
        for row in self._rows[self._next : self._next + number]:
            answer = CallAnswered(
                row=row,
                call=self._next + 1,
                usage=Usage(30, 6),
                stop_reason="end_turn",
                answer=[],
                seconds=0.5,
            )
            self.tell(at, answer)
            self.tell(at, RowDone(row=row, value="x"))
            self._next += 1


def test_a_busy_machine_is_not_forecast_at_the_speed_of_its_limits() -> None:
    """3,000 tiny rows at 44 a second: neither limits nor ceiling say a minute."""
    run = Run()
    for second in range(12):
        run.ends(9.0 + second, 44)
        seen = forecast(run.outlook, WIDE)
    assert seen.seconds is not None
    assert seen.seconds.expected == pytest.approx((3_000 - 12 * 44) / 44, rel=0.02)
    assert how_long(seen).endswith(f"by {PACE})")
    without = forecast(run.outlook.only(run._rows), WIDE)
    assert without.seconds is not None
    assert without.seconds.expected < 10


def test_a_pause_is_no_part_of_the_pace() -> None:
    run = Run()
    for second in range(70):
        run.ends(float(second), 1)
    before = forecast(run.outlook, WIDE)
    run.tell(3_000.0, RunResumed())
    for second in range(12):
        run.ends(3_000.0 + second, 44)
    after = forecast(run.outlook, WIDE)
    assert before.seconds is not None
    assert after.seconds is not None
    assert after.seconds.expected < before.seconds.expected / 20
