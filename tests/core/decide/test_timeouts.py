"""Timeouts: one value, read from options, an environment or a file alike."""

import math

import pytest

from fanout.errors import UsageError
from fanout.words.timeouts import Timeouts, duration, read_timeouts, with_timeouts


def test_each_name_is_a_field_of_its_own() -> None:
    assert read_timeouts([]) == Timeouts()
    found = read_timeouts(["connect=5, first-byte=90s", "idle=1.5m,call=20min"])
    assert found == Timeouts(
        connect=5.0, first_byte=90.0, between_bytes=90.0, call=1200.0
    )
    assert read_timeouts(["call=none"]).call == math.inf
    assert with_timeouts({"first-byte": 45}).first_byte == 45.0


def test_later_ones_go_over_earlier_and_leave_the_rest() -> None:
    base = read_timeouts(["idle=30,call=2h"])
    found = read_timeouts(["idle=40", "idle=50"], base)
    assert (found.between_bytes, found.call) == (50.0, 7200.0)


@pytest.mark.parametrize(
    "text",
    [
        "idle",
        "idle=",
        "idle=soon",
        "idle=-5",
        "idle=0",
        "idle=0.2",
        "idle=3d",
        "idle=none",
        "idle=nan",
        "idle=inf",
        "call=25h",
        "read=5",
        "=5",
        "idle=1e999",
    ],
)
def test_what_makes_no_sense_is_said_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_timeouts([text])
    assert "for instance first-byte=90" in caught.value.hint


def test_a_truth_is_no_time() -> None:
    with pytest.raises(UsageError):
        with_timeouts({"idle": True})


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(2, "2 s"), (90, "90 s"), (60, "1 min"), (300, "5 min"), (28_800, "8 h")],
)
def test_times_are_said_as_people_do(seconds: float, said: str) -> None:
    assert duration(seconds) == said
