"""How a run's end is told: one wording, whoever tells it."""

import pytest

from fanout.decide.ending import BY_A_PERSON, SIGNALS, script_said, stop_said
from fanout.decide.logline import describe
from fanout.words.events import Record, ScriptEnded, StopAsked


@pytest.mark.parametrize("cause", SIGNALS)
def test_a_stop_by_a_person_is_told_in_its_own_words(cause: str) -> None:
    said = stop_said(cause, "")
    assert said == BY_A_PERSON[cause]
    assert not said.startswith("stopped")
    line = describe(Record(1, 1, 0.0, StopAsked(mode="drain", cause=cause)))
    assert line is not None
    assert line.text == f"stop (drain): {said}"


def test_a_reason_goes_before_the_cause() -> None:
    assert stop_said("budget", "$5 are spent") == "$5 are spent"
    assert stop_said("tolerance", "") == "stopped (tolerance)"


def test_a_script_that_read_a_hole_could_not_go_on() -> None:
    text = "two/sum is missing: upstream"
    said = script_said("incomplete", text)
    assert said == f"the script could not go on: {text}"
    assert script_said("raised", "KeyError: 1") == "the script raised: KeyError: 1"
    assert script_said("cancelled", "") == "the script cancelled"
    line = describe(Record(1, 1, 0.0, ScriptEnded(outcome="incomplete", text=text)))
    assert line is not None
    assert line.text == said
