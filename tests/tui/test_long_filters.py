"""Filters of any length: the start is taken, and each row is asked once what it waits for."""

import signal
from collections import Counter

import pytest
from textual import events

from fanout.words.model import Row
from fanout_tui.scenes.states import SCENES
from fanout_tui.view.order import matcher, reason_words
from fanout_tui.widgets.filter import FILTER_MAX
from tui.screening import SCREEN, Start
from tui.stage import staged


def test_a_flood_of_keys_into_the_filter_holds_nothing_up(start: Start) -> None:
    """As a paste is where the terminal does not say that it is one."""
    terminal = start(SCREEN)
    terminal.read_until(b"bottleneck")
    terminal.settle()
    terminal.type(b"/")
    for _ in range(20):
        terminal.type(b"abcdefgh " * 100)
        terminal.settle(0.01)
    # It works wherever the keys go.
    terminal.type(b"\x03")
    terminal.read_until(b"draining")
    terminal.signal(signal.SIGTERM)
    output = terminal.read_until(b"END\r\n")
    assert output.count(b"Stop(mode=") == 1
    assert terminal.wait() == 0


@pytest.mark.anyio
@pytest.mark.parametrize("opener", ["", "l", "enter"])
async def test_of_what_is_longer_the_start_is_taken(opener: str) -> None:
    async with staged("running") as stage:
        await stage.press(*filter(None, (opener, "slash")), *("a" * (FILTER_MAX + 5)))
        field = stage.app.screen.query_one("#filter")
        assert field.value == "a" * FILTER_MAX
        field.value = "c"
        field.post_message(events.Paste("b" * 4_000 + "\nmore"))
        await stage.settle()
        assert field.value == "c" + "b" * (FILTER_MAX - 1)


def test_a_row_is_asked_once_why_it_waits() -> None:
    asked: Counter[str] = Counter()

    def why(row: Row) -> str:
        asked[row.id.key] += 1
        return reason_words(row)

    rows = SCENES["running"]().rows.values()
    fits = matcher("zz !zz !why:zz zz " * 20 + "!zy", why)
    assert [row for row in rows if fits(row)] == []
    plain = matcher("!zz !why:zz !zy", why)
    assert [row for row in rows if plain(row)] == list(rows)
    assert set(asked.values()) == {2}
