"""A few rows first: which ones, always the same, and what is no row at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.selection import EVERYTHING, Selection, fits
from fanout.words.model import RowId

ROWS = [
    RowId(phase, f"{name}-{n:02}")
    for phase in ("audit", "audit/review", "sum")
    for name in ("core", "tui")
    for n in range(4)
]


@pytest.mark.parametrize(
    ("pattern", "row", "does"),
    [
        ("audit/core-01", ("audit", "core-01"), True),
        ("audit/core-*", ("audit", "core-01"), True),
        ("audit/core-?1", ("audit", "core-01"), True),
        ("*/core-01", ("sum", "core-01"), True),
        ("audit", ("audit", "tui-00"), True),
        ("audit", ("audit/review", "tui-00"), False),
        ("audit/*", ("audit/review", "tui-00"), True),
        ("core-01", ("audit", "core-01"), False),
        ("Audit", ("audit", "core-01"), False),
        ("main/draft/1", ("main", "draft/1"), True),
    ],
)
def test_patterns(pattern: str, row: tuple[str, str], does: bool) -> None:
    assert fits(pattern, RowId(*row)) is does


def test_a_limit_is_of_each_phase() -> None:
    chosen = Selection(limit=2).chosen(ROWS)
    assert [str(row) for row in ROWS if row in chosen] == [
        "audit/core-00",
        "audit/core-01",
        "audit/review/core-00",
        "audit/review/core-01",
        "sum/core-00",
        "sum/core-01",
    ]


def test_both_are_the_first_of_those_that_fit() -> None:
    one = Selection(only=("audit/tui-*",), limit=1)
    assert one.chosen(ROWS) == {
        RowId("audit", "tui-00"),
        RowId("audit/review", "tui-00"),
    } & {row for row in ROWS if fits("audit/tui-*", row)}
    assert one.reason(RowId("sum", "x")) == "not selected (--only)"
    assert one.reason(RowId("audit", "tui-03")) == "not selected (--limit 1)"
    assert one.words == "--only audit/tui-* --limit 1"


def test_nothing_asked_for_is_everything() -> None:
    assert not EVERYTHING.narrows
    assert EVERYTHING.chosen(ROWS) == set(ROWS)


def test_patterns_that_stand_for_nothing_are_named() -> None:
    one = Selection(only=("audit/*", "adit/*", "sum/zzz"))
    assert one.idle(ROWS) == ("adit/*", "sum/zzz")


@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 30))
def test_what_comes_later_changes_no_choice(limit: int, first: int, more: int) -> None:
    rows = [RowId("p", f"k{n}") for n in range(first + more)]
    early = Selection(limit=limit).chosen(rows[:first])
    late = Selection(limit=limit).chosen(rows)
    assert early == late & set(rows[:first])
    assert len(late) == min(limit, len(rows))
