import sys
import traceback
from typing import Any

import pytest

import fanout
from fanout.errors import Incomplete, UsageError
from fanout.script.awaiting import OUTCOME
from fanout.script.results import Done, Missing, Results
from fanout.script.session import current, make_current
from fanout.words.model import MissingKind, RowId


def hole(n: int) -> Missing:
    return Missing(key=f"{n}", phase="audit", kind=MissingKind.BUDGET, reason="spent")


def made(count: int, *holes: int) -> Results[int]:
    return Results(
        hole(n) if n in holes else Done(key=f"{n}", phase="audit", value=n)
        for n in range(count)
    )


def test_they_are_a_sequence_in_call_order() -> None:
    results = made(4, 2)
    assert len(results) == 4
    assert [one.key for one in results] == ["0", "1", "2", "3"]
    assert results[0].value == 0
    assert results[-1] in results
    assert not made(0)


def test_values_of_incomplete_ones_raise_and_name_the_holes() -> None:
    with pytest.raises(Incomplete, match="2 of 4 are missing: audit/1, audit/2") as e:
        made(4, 1, 2).values()
    assert e.value.missing == ("audit/1", "audit/2")
    assert made(3).values() == [0, 1, 2]


def test_many_holes_are_shortened_for_people_and_whole_for_programs() -> None:
    results = made(40, *range(30))
    with pytest.raises(Incomplete, match=r"audit/2 and 27 more") as caught:
        results.values()
    assert len(caught.value.missing) == 30
    assert "audit/29" in results.statement()
    assert repr(results).endswith("audit/2 and 27 more>")


def test_done_and_missing_are_the_explicit_ways_to_go_on() -> None:
    results = made(4, 1)
    assert results.done.values() == [0, 2, 3]
    assert [one.kind for one in results.missing] == [MissingKind.BUDGET]
    assert not results.done.complete
    assert results.done.statement() == "3 of 4 done; missing: audit/1"


def test_slices_keep_the_whole_they_are_of() -> None:
    part = made(6, 4)[:2]
    assert part.values() == [0, 1]
    assert not part.complete
    assert part.statement() == (
        "5 of 6 done; missing: audit/4; 2 of the done ones are here"
    )
    assert part[0].scope == made(6, 4).scope


def test_a_hole_has_no_value() -> None:
    with pytest.raises(Incomplete, match="audit/3 is missing: budget: spent") as caught:
        _ = hole(3).value
    assert caught.value.missing == ("audit/3",)
    assert hole(3).row == RowId("audit", "3")


def test_equal_results_are_equal() -> None:
    assert made(3, 1) == made(3, 1)
    assert made(3, 1) != made(3, 2)
    assert hash(made(3)) == hash(made(3))
    assert made(3) != [1, 2, 3]


@pytest.mark.parametrize(
    "made_of",
    [fanout.agent("x", key="a"), fanout.parallel([]), fanout.pipeline([], print)],
)
def test_what_was_not_awaited_says_so(made_of: Any) -> None:
    with pytest.raises(UsageError, match="before it is awaited") as caught:
        made_of.values()
    assert "(await …).values" in caught.value.hint
    assert not hasattr(made_of, "value")
    with pytest.raises(AttributeError, match="no attribute 'valuse'") as other:
        made_of.valuse()
    assert not isinstance(other.value, UsageError)


def test_names_of_an_outcome_are_those_it_has() -> None:
    whole = made(2, 1)
    there = {*dir(whole), *dir(whole[0]), *dir(whole[1])}
    assert there >= OUTCOME


def test_outside_of_a_run_python_itself_shows_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["jobs/audit.py"])
    make_current(None)
    with pytest.raises(UsageError) as caught:
        current()
    shown = "".join(traceback.format_exception_only(caught.value))
    assert "there is no run here\nhint: " in shown
    assert "`fanout-tui jobs/audit.py`" in shown
