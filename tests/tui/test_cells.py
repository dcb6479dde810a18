"""Cells are counted as the frame counts them, and cuts keep to them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size

from fanout_tui.cells import char_width, sizes, width
from fanout_tui.text import cut_end, cut_start, left, one_line, wrap

LETTERS = "aé漢❤👍🏽👩क한1☰ﬀ🅰…· \ufe0f\u200d\u093f\u0301\u1112\u1161\u11ab\u0600"
PIECES = st.sampled_from(list(LETTERS))
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def test_every_character_is_as_wide_as_the_frame_takes_it_for() -> None:
    """But for what is no text: controls, halves of pairs, what has no meaning yet."""
    odd = [
        hex(code)
        for code in range(0x20, 0x110000)
        if unicodedata.category(char := chr(code)) not in {"Cc", "Cs", "Cn", "Co"}
        and char_width(char) != get_character_cell_size(char)
    ]
    assert odd == []


@given(TEXTS)
def test_so_is_every_sequence(text: str) -> None:
    assert width(text) == cell_len(text)
    assert len(sizes(text)) == len(text)
    assert sum(sizes(text)) == width(text)


@given(TEXTS, st.integers(1, 9))
def test_what_is_cut_fits_and_is_filled(text: str, cells: int) -> None:
    text = one_line(text)
    assert cell_len(left(text, cells)) == cells
    for cut in (cut_end(text, cells), cut_start(text, cells)):
        assert cell_len(cut) <= cells
        assert cut == text or "…" in cut


@given(TEXTS, st.integers(2, 9))
def test_what_is_wrapped_fits_and_loses_nothing_but_spaces(
    text: str, cells: int
) -> None:
    lines = wrap(text, cells)
    shown = "".join(lines).replace("<U+200D>", "\u200d").replace(" ", "")
    assert shown == text.replace(" ", "")
    assert all(cell_len(line) <= cells for line in lines)


@pytest.mark.parametrize(
    ("text", "cells"),
    [("❤\ufe0f", 2), ("👍🏽", 2), ("\u1112\u1161\u11ab", 2), ("का", 1), ("1\ufe0f", 2)],
)
def test_what_terminals_draw_as_one(text: str, cells: int) -> None:
    assert width(text) == cells
