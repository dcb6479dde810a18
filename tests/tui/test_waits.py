"""What a row or the whole run waits for, in as many words as there is room for."""

from dataclasses import replace

import pytest

from fanout.words.model import Cause, Dimension, Wait
from fanout.words.snapshot import Gate
from fanout_tui.cells import width
from fanout_tui.scenes.rows import NOW, POOL
from fanout_tui.scenes.states import running
from fanout_tui.view.gauges import gauge_lines
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.history import History
from fanout_tui.view.look import Look
from fanout_tui.view.reason import fitting, limit_met, wait_forms
from fanout_tui.view.sentence import sentence_line
from fanout_tui.view.spans import text_of

SAID = (
    "429 rate_limit_error: This request would exceed your organization's rate limit "
    "of 30,000 input tokens per minute (org: x)"
)


def held_by(cause: Cause, cells: int, detail: str = "", *, until: float = 5.0) -> Look:
    """The running scene, its pool held by this."""
    made = running()
    gate = Gate(
        pool=POOL,
        waiting=made.gates[POOL].waiting,
        cause=cause,
        until=NOW + until,
        detail=detail,
    )
    return Look(replace(made, gates={POOL: gate}), NOW, cells, 40, UNICODE)


@pytest.mark.parametrize(
    ("wait", "cells", "shown"),
    [
        (Wait(Cause.LIMIT, NOW + 7, SAID), 40, "429 limit, retry 7s · input tokens"),
        (Wait(Cause.LIMIT, NOW + 7, SAID), 19, "429 limit, retry 7s"),
        (Wait(Cause.LIMIT, NOW + 7, SAID), 14, "429, retry 7s"),
        (Wait(Cause.LIMIT, NOW + 77, SAID), 14, "429, retry 77s"),
        (Wait(Cause.LIMIT, None, "ceiling"), 18, "429 limit"),
        (Wait(Cause.LIMIT, None, "behind 12 for input tokens"), 18, "429, behind 12"),
        (Wait(Cause.SERVICE, None, "no slot for you"), 16, "service error"),
        (Wait(Cause.BEHIND, None, "113 for output tokens"), 18, "behind 113: output"),
        (Wait(Cause.CUT, NOW + 3, "the answer broke off"), 15, "cut, retry 3s"),
        (Wait(Cause.OVERLOADED, NOW + 3, "Overloaded"), 15, "529, retry 3s"),
        (Wait(Cause.INPUT, NOW + 4, "needs 42k, 12k free"), 10, "input 4s"),
    ],
)
def test_a_narrow_column_says_until_when(wait: Wait, cells: int, shown: str) -> None:
    assert fitting(wait_forms(wait, NOW), cells) == shown


@pytest.mark.parametrize("cause", list(Cause))
def test_a_shorter_form_is_shorter(cause: Cause) -> None:
    """Whatever a row waits for: the first form that fits is the longest that does."""
    for until in (None, NOW - 1, NOW + 7, NOW + 4_000):
        for detail in ("", "a detail", "3 for input tokens", SAID):
            forms = wait_forms(Wait(cause, until, detail), NOW)
            cells = [width(form) for form in forms]
            assert cells == sorted(cells, reverse=True), forms


def test_the_limit_that_was_met_is_named() -> None:
    assert limit_met(SAID) is Dimension.INPUT
    assert limit_met("429 rate_limit_error: slow down") is None
    said = text_of(sentence_line(held_by(Cause.LIMIT, 120, SAID)))
    assert "429 input tokens/min: 3 throttled, 47 queued wait; next start in 5s" in said
    said = text_of(sentence_line(held_by(Cause.LIMIT, 80, "slow down")))
    assert "429 limit: 3 throttled, 47 queued wait; next start in 5s" in said


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (Cause.INPUT, "input/min: 50 wait; next start in 5s"),
        (Cause.REQUESTS, "requests/min: 50 wait"),
        (Cause.BREAKER, "529 overloaded: 50 wait"),
        (Cause.LEARNING, "limits unknown yet: 50 wait"),
        (Cause.CEILING, "ceiling 14/24: 50 wait"),
        (Cause.WARMING, "cache warming: 50 wait"),
    ],
)
def test_forty_columns_hold_cause_and_who_waits(cause: Cause, said: str) -> None:
    line = text_of(sentence_line(held_by(cause, 40)))
    assert said in line
    assert "…" not in line


@pytest.mark.parametrize(
    ("cause", "marked"),
    [
        (Cause.INPUT, True),
        (Cause.LIMIT, True),
        (Cause.BREAKER, False),
        (Cause.CEILING, False),
        (Cause.BUDGET, False),
    ],
)
def test_no_limit_gets_the_blame_of_something_else(cause: Cause, marked: bool) -> None:
    """The fullest bucket is the bottleneck only where a bucket holds the line."""
    lines = gauge_lines(held_by(cause, 120), History())
    assert any(UNICODE.tight in text_of(line) for line in lines) == marked
    short = gauge_lines(held_by(cause, 40), History())
    assert ("!" in text_of(short[0])) == marked
