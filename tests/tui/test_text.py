"""Text: cut by cells, cleaned, and numbers that always fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fanout_tui import text

SAMPLES = [
    "plain",
    "src/認証/検索_012.py",
    "ünïcödé — naïve",
    "한국어 파일",
    "файл_07",
    "a\u0301b\u0308",
    "★●◐○✗✓▒┃◀",
    "emoji 🚀 and 👍 end",
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_widths_are_those_of_the_terminal_library(sample: str) -> None:
    assert text.width(text.one_line(sample)) == cell_len(text.one_line(sample))


@given(st.text(), st.integers(1, 30))
def test_cuts_are_never_wider(sample: str, cells: int) -> None:
    sample = text.one_line(sample)
    assert text.width(text.cut_end(sample, cells)) <= cells
    assert text.width(text.cut_start(sample, cells)) <= cells
    assert text.width(text.left(sample, cells)) == cells
    assert text.width(text.right(sample, cells)) == cells
    assert text.width(text.left_keeping_end(sample, cells)) == cells


@given(st.text(), st.integers(2, 40))
def test_wrapping_keeps_every_letter(sample: str, cells: int) -> None:
    lines = text.wrap(sample, cells)
    assert all(text.width(line) <= cells for line in lines)
    letters = [c for c in sample if c.isalpha() and c.isascii()]
    wrapped = [c for line in lines for c in line if c.isalpha() and c.isascii()]
    if text.one_line(sample) == sample:
        assert wrapped == letters


@given(st.text())
def test_what_was_cleaned_steers_nothing(sample: str) -> None:
    shown = text.one_line(sample)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert not any(c in shown for c in "\u202e\u2066\u200f\ufeff")
    shown.encode("utf-8")


@given(st.floats(0, 9e11))
def test_tokens_take_five_cells(count: float) -> None:
    assert len(text.tokens(count)) <= 6 if count >= 1e11 else 5


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (417, "417"),
        (999, "999"),
        (1_000, "1.0k"),
        (79_100, "79.1k"),
        (99_960, "100k"),
        (155_000, "155k"),
        (1_940_000, "1.94M"),
        (12_340_000, "12.3M"),
        (100_000_000, "100M"),
    ],
)
def test_tokens(count: int, shown: str) -> None:
    assert text.tokens(count) == shown


def test_times() -> None:
    assert text.clock_time(259.9) == "4:19"
    assert text.clock_time(3_723) == "1:02:03"
    assert text.clock_time(-1) == "0:00"
    shown = [text.short_time(s) for s in (0, 99, 100, 5_999, 6_000, 9e5)]
    assert shown == ["0s", "99s", "1m", "99m", "1h", "10d"]
