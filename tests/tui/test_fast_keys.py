"""Keys that come faster than frames: nothing goes blank, nothing is done twice."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from textual import events

from fanout.words.commands import (
    Answer,
    CancelRow,
    ChangeCeiling,
    Pause,
    RaiseBudget,
    Requeue,
    Resume,
    SetCeiling,
)
from fanout_tui.keytable import KEYS
from fanout_tui.scenes.states import SCENES
from fanout_tui.screens import dialog
from fanout_tui.screens.dialog import AskScreen
from fanout_tui.screens.finding import Finds
from fanout_tui.screens.main import MainScreen
from fanout_tui.widgets.filter import FILTER_MAX
from tui.stage import Stage, staged

LEAVES = {"d", "ctrl+c", "ctrl+q"}
"""Keys of which a few in a row end the screen, as they should."""
FRAME = "frame"
"""Stands for ten frames a second: one of them."""
TYPED = sorted(
    {name for key in KEYS for name in key.keys if name not in LEAVES}
    | {"y", "n", "1", "2", "enter", "escape", "q", "question_mark", "z", FRAME}
)
SHOWN = ("running", "paused", "asking", "short", "both_short", "finished", "crashed")
ASKED_BY = {
    CancelRow: {"x"},
    Requeue: {"r", "R"},
    ChangeCeiling: {"plus", "equals_sign", "minus"}
    | {"left_square_bracket", "right_square_bracket"},
    SetCeiling: {"A"},
}


async def together(stage: Stage, keys: Sequence[str]) -> None:
    """All at once, as a terminal hands over what was typed meanwhile."""
    for key in keys:
        if key == FRAME:
            stage.app.tick()
        else:
            stage.app.simulate_key(key)
    await stage.settle()
    if not stage.app.left:
        stage.app.tick()
        await stage.settle()


def paints(stage: Stage) -> bool:
    """The screen in front shows something."""
    return sum(bool(line.strip()) for line in stage.grid()) > 2


def alive(stage: Stage) -> None:
    """It was left on purpose, or paints above the rows."""
    assert stage.app._exception is None
    if stage.app.left == "quit":
        return
    assert stage.app.left in {"", "plain"}
    assert isinstance(stage.app.screen_stack[1], MainScreen)
    assert paints(stage)


@pytest.mark.anyio
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    scene=st.sampled_from(SHOWN),
    keys=st.lists(
        st.sampled_from(TYPED).flatmap(
            lambda key: st.sampled_from([[key], [key], [key, key], [key, FRAME, key]])
        ),
        min_size=2,
        max_size=12,
    ).map(lambda parts: [key for part in parts for key in part]),
)
@example(scene="running", keys=["x", FRAME, "y", "y"])
@example(scene="asking", keys=["y", "y"])
@example(scene="running", keys=["l", "slash", "e", "colon", "enter", "enter"])
async def test_any_keys_at_once_leave_a_screen_that_paints(
    anyio_backend: str, scene: str, keys: list[str]
) -> None:
    async with staged(scene, (100, 30)) as stage:
        await together(stage, keys)
        alive(stage)
        sent = Counter(type(command) for command in stage.handle.sent)
        for command, asking in ASKED_BY.items():
            assert sent[command] <= sum(key in asking for key in keys)
        assert sent[Pause] + sent[Resume] <= keys.count("p")
        assert sent[Answer] <= 1 + keys.count("c")


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
@pytest.mark.parametrize("opener", ["x", "R", "q", "question_mark", "colon"])
async def test_a_key_struck_twice_in_a_dialog_closes_the_dialog_only(
    size: tuple[int, int], opener: str
) -> None:
    async with staged("running", size) as stage:
        for key in ("y", "n", "escape", "z", "q"):
            stage.handle.sent.clear()
            await stage.press(opener)
            assert not isinstance(stage.app.screen, MainScreen)
            await together(stage, (key, key))
            alive(stage)
            assert len(stage.handle.sent) <= 1
            await stage.press("escape", "left")
            assert isinstance(stage.app.screen, MainScreen)
            assert "NOW / WAITS ON" in stage.text()


@pytest.mark.anyio
@pytest.mark.parametrize("opener", ["enter", "l", "e"])
@pytest.mark.parametrize("key", ["escape", "q"])
async def test_a_key_struck_twice_on_a_screen_goes_back_once_or_asks(
    opener: str, key: str
) -> None:
    async with staged("running", keys=(opener,)) as stage:
        await together(stage, (key, key))
        alive(stage)
        front = AskScreen if key == "q" else MainScreen
        assert isinstance(stage.app.screen, front)


@pytest.mark.anyio
async def test_the_second_stroke_does_nothing_to_the_rows() -> None:
    """It was meant for the dialog: no row is copied by it."""
    async with staged("running", keys=("x", "y")) as stage:
        await stage.press("y")
        assert stage.app.clipboard == ""
        assert "cancelled" in stage.grid()[-1]


@pytest.mark.anyio
async def test_a_question_is_not_answered_before_it_is_seen() -> None:
    async with staged("running") as stage:
        await together(stage, ("x", "y"))
        assert stage.handle.sent == []
        assert "cancel this row?" in stage.text()
        await stage.press("y")
        assert len(stage.handle.sent) == 1


@pytest.mark.anyio
async def test_whoever_types_while_a_question_comes_up_has_not_answered_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialog, "CALM_S", 3_600.0)
    async with staged("short", keys=("1", "a", "y")) as stage:
        assert "the budget is reached" in stage.text()
        assert stage.handle.sent == []


@pytest.mark.anyio
async def test_who_goes_on_typing_has_not_answered_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each key that comes too early puts the moment off from which keys count."""
    monkeypatch.setattr(dialog, "CALM_S", 1.0)
    async with staged("short") as stage:
        (screen,) = [s for s in stage.app.screen_stack if isinstance(s, AskScreen)]
        began = screen._open_from - 1.0
        for tenth in range(1, 40):
            screen.take_key(key_at("1", began + tenth / 10))
        assert stage.handle.sent == []
        screen.take_key(key_at("1", began + 3.9 + 1.1))
        await stage.settle()
        assert [type(one) for one in stage.handle.sent] == [RaiseBudget]


def key_at(key: str, at: float) -> events.Key:
    """A key that was struck at a second of the event's own clock."""
    event = events.Key(key, key)
    event.time = at
    return event


@pytest.mark.anyio
async def test_a_question_waits_for_whoever_types_a_filter() -> None:
    async with staged("running", keys=("slash", "a")) as stage:
        stage.handle.snapshot = SCENES["short"]()
        await together(stage, ("d", "2"))
        assert stage.handle.sent == []
        assert stage.app.picking.listing.filter == "ad2"
        await stage.press("enter")
        stage.app.tick()
        await stage.settle()
        assert "the budget is reached" in stage.text()
        await stage.press("2")
        assert [type(one) for one in stage.handle.sent] == [RaiseBudget]


@pytest.mark.anyio
async def test_what_is_typed_after_the_slash_is_the_filter() -> None:
    async with staged("running") as stage:
        await together(stage, ("slash", "l", "o", "g"))
        assert stage.app.picking.listing.filter == "log"
        assert isinstance(stage.app.screen, MainScreen)


@pytest.mark.anyio
@pytest.mark.parametrize("opened", [(), ("l",), ("enter",)])
async def test_what_comes_right_behind_the_filters_end_is_not_in_it(
    opened: tuple[str, ...],
) -> None:
    """All of it in one read, as over a slow line: words, enter, and a key."""
    async with staged("running", keys=opened) as stage:
        typed = ("slash", "a", "z", "backspace", "u", "enter", "question_mark")
        await together(stage, typed)
        alive(stage)
        assert type(stage.app.screen).__name__ == "HelpScreen"
        await stage.press("escape")
        screen = stage.app.screen
        assert isinstance(screen, Finds)
        assert screen.words() == "au"
        assert not screen.typing


@pytest.mark.anyio
async def test_a_filter_takes_no_more_than_it_holds() -> None:
    async with staged("running", keys=("slash",)) as stage:
        await together(stage, ["x"] * (FILTER_MAX + 50))
        assert stage.app.picking.listing.filter == "x" * FILTER_MAX
        await stage.press("escape")
        assert stage.app.picking.listing.filter == ""


@pytest.mark.anyio
async def test_a_command_of_the_palette_runs_once() -> None:
    async with staged("running", keys=("colon",)) as stage:
        await stage.press(*"pause", "down")
        await together(stage, ("enter", "enter", "enter"))
        alive(stage)
        assert stage.handle.sent == [Pause()]
