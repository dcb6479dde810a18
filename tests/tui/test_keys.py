"""What keys do: looking changes nothing, acting sends exactly one command."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanout.words.commands import (
    Answer,
    CancelRow,
    ChangeCeiling,
    Command,
    Export,
    KeepBudget,
    Pause,
    RaiseBudget,
    Requeue,
    Resume,
    SetCeiling,
    Stop,
)
from fanout_tui.keytable import KEYS, keys_on
from fanout_tui.screens.agent import AgentScreen
from fanout_tui.screens.log import LogScreen
from fanout_tui.screens.main import MainScreen
from fanout_tui.screens.report import ReportScreen
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.help import help_lines
from fanout_tui.view.spans import text_of
from tui.stage import staged

SCREENS = {
    "main": MainScreen,
    "agent": AgentScreen,
    "log": LogScreen,
    "report": ReportScreen,
}
LOOKING = sorted(
    {
        name
        for key in KEYS
        if key.looks and key.name != "palette"
        for name in key.keys
        if not any(name in other.keys for other in KEYS if not other.looks)
    }
)

SHORT = (
    "budget of $10.00 reached: $9.87 spent, $0.00 in flight, "
    "the next call may take $0.31"
)


@pytest.mark.parametrize("screen", SCREENS)
def test_every_key_has_an_action(screen: str) -> None:
    """A key of the table does something on each screen it is said to work on."""
    for key in keys_on(screen):
        assert callable(getattr(SCREENS[screen], f"action_{key.name}")), key.name


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_has_two_meanings_on_a_screen(screen: str) -> None:
    names = [name for key in keys_on(screen) for name in key.keys]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("cells", [35, 75, 100])
def test_every_key_is_in_help(screen: str, cells: int) -> None:
    text = "\n".join(map(text_of, help_lines(screen, cells, UNICODE)))
    for key in keys_on(screen):
        assert all(part in text for part in key.shown.split()), key.name


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("scene", "keys", "command"),
    [
        ("running", ("p",), Pause()),
        ("paused", ("p",), Resume()),
        ("running", ("plus",), ChangeCeiling(1)),
        ("running", ("equals_sign",), ChangeCeiling(1)),
        ("running", ("minus",), ChangeCeiling(-1)),
        ("running", ("right_square_bracket",), ChangeCeiling(5)),
        ("running", ("left_square_bracket",), ChangeCeiling(-5)),
        ("running", ("A",), SetCeiling(None)),
        ("running", ("R", "y"), Requeue(None)),
        ("running", ("e", "R", "y"), Requeue(None)),
        ("running", ("e", "w"), Export(())),
        ("running", ("q", "d"), Stop("drain", "quit")),
        ("running", ("q", "a"), Stop("now", "quit")),
        ("running", ("ctrl+c",), Stop("drain", "SIGINT")),
        ("running", ("enter", "ctrl+c"), Stop("drain", "SIGINT")),
        ("running", ("q", "ctrl+c"), Stop("drain", "SIGINT")),
        ("running", ("enter", "p"), Pause()),
    ],
    ids=str,
)
async def test_acting(scene: str, keys: tuple[str, ...], command: object) -> None:
    """A key that acts sends its command, once."""
    async with staged(scene, keys=keys) as stage:
        assert stage.handle.sent == [command]


@pytest.mark.anyio
async def test_requeue_this_row() -> None:
    """`r` asks, and names the row; only then it is sent."""
    async with staged("running", keys=("4", "r")) as stage:
        assert stage.handle.sent == []
        assert "requeue 1 missing row?" in stage.text()
        row = stage.app.picking.cursor
        await stage.press("y")
        assert stage.handle.sent == [Requeue((row,))]


@pytest.mark.anyio
async def test_requeue_marked_rows() -> None:
    """Marked rows go together; those that are not missing are left out."""
    async with staged("running", keys=("4", "space", "space", "r", "y")) as stage:
        (command,) = stage.handle.sent
        assert isinstance(command, Requeue)
        assert command.rows is not None
        assert len(command.rows) == 2
        assert stage.app.picking.marks == set()


@pytest.mark.anyio
async def test_cancel_asks() -> None:
    """`x` names the row; anything but `y` cancels nothing."""
    async with staged("running", keys=("x", "n", "x", "escape")) as stage:
        assert stage.handle.sent == []
        row = stage.app.picking.cursor
        await stage.press("x", "y")
        assert stage.handle.sent == [CancelRow(row)]


@pytest.mark.anyio
async def test_second_interrupt_stops_at_once() -> None:
    async with staged("running", keys=("ctrl+c", "ctrl+c")) as stage:
        modes = [command.mode for command in stage.handle.sent]
        assert modes == ["drain", "now"]


@pytest.mark.anyio
async def test_the_ceiling_answers_with_its_forecast() -> None:
    """Before the effect: what the change does to the fullest limit."""
    async with staged("ceiling", keys=("plus",)) as stage:
        last = stage.grid()[-1]
        assert "ceiling 14 → 15, manual (A: auto)" in last
        assert "input tokens 40% → 43%, fits" in last


@pytest.mark.anyio
async def test_quit_leaves_a_finished_run_without_asking() -> None:
    async with staged("finished", keys=("q",)) as stage:
        assert stage.app.left == "quit"


@pytest.mark.anyio
async def test_plain_leaves_the_run_alone() -> None:
    async with staged("running", keys=("q", "b")) as stage:
        assert stage.app.left == "plain"
        assert stage.handle.sent == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("scene", "code", "options", "left"),
    [
        ("finished", 143, {}, "signal"),
        ("complete", 0, {"exit_when_done": True}, "done"),
        ("finished", 3, {}, ""),
        ("finished", 3, {"engine": "gone"}, "done"),
    ],
)
async def test_the_end(scene: str, code: int, options: dict, left: str) -> None:
    """A finished screen stays, unless nobody is there or wants it."""
    gone = options.pop("engine", "") == "gone"
    async with staged(scene, **options) as stage:
        snapshot = stage.handle.snapshot
        end = replace(snapshot.end, exit_code=code)
        stage.handle.snapshot = replace(snapshot, end=end)
        stage.handle.over = gone
        stage.app.tick()
        await stage.settle()
        assert stage.app.left == left


@pytest.mark.anyio
async def test_the_screen_closes_once_a_drain_is_done() -> None:
    async with staged("running", keys=("q", "d")) as stage:
        assert stage.app.left == ""
        stage.handle.snapshot = replace(stage.handle.snapshot, state="finished")
        stage.handle.over = True
        stage.app.tick()
        assert stage.app.left == "drain"


@pytest.mark.anyio
@pytest.mark.parametrize("screen", SCREENS)
async def test_looking_never_sends_anything(screen: str) -> None:
    """Not one looking key changes the run, on any screen."""
    opener = {"agent": ["enter"], "log": ["l"], "report": ["e"]}.get(screen, [])
    here = {name for key in keys_on(screen) for name in key.keys}
    async with staged("running", (100, 30)) as stage:
        for key in sorted(here & set(LOOKING)):
            await stage.press(*opener, key)
            assert stage.handle.sent == []
            while stage.app.screen is not stage.app.screen_stack[1]:
                await stage.press("escape")
            await stage.press("escape")


@pytest.mark.anyio
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(keys=st.lists(st.sampled_from(LOOKING), min_size=5, max_size=15))
async def test_any_sequence_of_looking_sends_nothing(
    anyio_backend: str, keys: list[str]
) -> None:
    async with staged("running", (140, 45), keys=keys) as stage:
        assert stage.handle.sent == []


@pytest.mark.anyio
async def test_the_palette_acts_as_the_keys_do() -> None:
    """Every key of the screen is there by what it does."""
    async with staged("running") as stage:
        offered = {c.title: c for c in stage.app.get_system_commands(stage.app.screen)}
        for key in keys_on("main"):
            assert f"{key.does} ({key.shown})" in offered
        offered["pause / resume (p)"].callback()
        assert stage.handle.sent == [Pause()]
        offered["theme light"].callback()
        await stage.settle()
        assert stage.app.theme == "fanout-light"


@pytest.mark.anyio
async def test_the_palette_opens() -> None:
    async with staged("running", keys=("colon",)) as stage:
        assert type(stage.app.screen).__name__ == "Palette"
        assert "Search for commands" in stage.text()
        # An emoji is as wide as a terminal likes, and no ASCII.
        assert "🔎" not in stage.text()
        await stage.press("escape")
        assert stage.handle.sent == []


@pytest.mark.anyio
async def test_the_filter_is_kept_on_drill_in() -> None:
    """Next and previous walk the filtered list; back finds it as it was."""
    keys = ("slash", "a", "u", "t", "h", "enter", "enter", "n")
    async with staged("running", (100, 30), keys=keys) as stage:
        assert "row 2 of 17" in stage.text()
        await stage.press("escape")
        assert "17 of 100: auth" in stage.text()
        await stage.press("escape")
        assert "17 of 100" not in stage.text()


@pytest.mark.anyio
async def test_scrolling_holds_still_while_rows_change() -> None:
    """A hundred updates move neither the view nor the cursor."""
    async with staged("running", keys=("G", "k", "k")) as stage:
        table = stage.app.screen.query_one("#rows")
        offset, cursor = table.scroll_offset.y, stage.app.picking.cursor
        assert offset > 0
        for _ in range(100):
            stage.handle.snapshot = replace(stage.handle.snapshot)
            stage.app._next_slow = 0.0
            stage.app.tick()
        await stage.settle()
        assert table.scroll_offset.y == offset
        assert stage.app.picking.cursor == cursor


@pytest.mark.anyio
async def test_copying_says_where_else_it_is() -> None:
    """No terminal says whether it took the text."""
    async with staged("running", keys=("y",)) as stage:
        assert "sent to the clipboard" in stage.grid()[-1]
        assert stage.app.clipboard.startswith("audit/src/auth/cart_048  throttled")
        await stage.press("Y")
        assert '"key": "src/auth/cart_048"' in stage.app.clipboard


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("key", "sent"), [("y", [Answer(1, yes=True)]), ("n", [Answer(1, yes=False)])]
)
async def test_a_question_before_spending_is_asked_by_itself(
    key: str, sent: list[Answer]
) -> None:
    async with staged("asking") as stage:
        assert "spend this?" in stage.text()
        assert "about $6.20" in stage.text()
        await stage.press(key)
        assert stage.handle.sent == sent
        assert "spend this?" not in stage.text()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("1", RaiseBudget(dollars=17.78)),
        ("2", RaiseBudget(dollars=20.0)),
        ("d", Stop("drain", "budget", SHORT)),
        ("a", Stop("now", "budget", SHORT)),
    ],
)
async def test_a_budget_that_is_reached_asks_by_itself(key: str, sent: Command) -> None:
    async with staged("short") as stage:
        assert "the budget is reached" in stage.text()
        assert "raise it to $17.78: enough by forecast" in stage.text()
        assert "$9.87/10" in stage.grid()[0]
        await stage.press(key)
        assert stage.handle.sent == [sent]
        assert "the budget is reached" not in stage.text()


@pytest.mark.anyio
async def test_a_budgets_question_may_wait_and_is_asked_again() -> None:
    async with staged("short", keys=("escape",)) as stage:
        stage.app.tick()
        await stage.settle()
        assert "raise it to" not in stage.text()
        assert "c asks: raise it, or stop" in stage.text()
        await stage.press("c")
        assert "the budget is reached" in stage.text()
        await stage.press("escape", "j")
        assert stage.handle.sent == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("1", RaiseBudget(dollars=9.66, phase="verify")),
        ("2", RaiseBudget(dollars=4.0, phase="verify")),
        ("w", KeepBudget("verify")),
    ],
)
async def test_a_phases_budget_asks_for_its_phase(key: str, sent: Command) -> None:
    async with staged("phase_short") as stage:
        assert "the budget of verify is reached" in stage.text()
        assert (
            "By forecast they take about 3.8M tokens (3.0M-4.6M), $6.20 ($5.10-$7.60)"
            in stage.text()
        )
        await stage.press(key)
        assert stage.handle.sent == [sent]


@pytest.mark.anyio
async def test_budgets_that_are_reached_together_ask_one_after_the_other() -> None:
    async with staged("both_short", keys=("1",)) as stage:
        stage.app.tick()
        await stage.settle()
        assert "the budget is reached" in stage.text()
        assert "2,481,000 spent" in stage.text()
        await stage.press("2", "j")
        assert stage.handle.sent == [
            RaiseBudget(dollars=9.66, phase="verify"),
            RaiseBudget(tokens=5_000_000),
        ]
        await stage.press("c")
        assert "the budget of verify is reached" in stage.text()


@pytest.mark.anyio
async def test_a_question_may_be_decided_later_and_is_not_forced_again() -> None:
    async with staged("asking", keys=("escape",)) as stage:
        stage.app.tick()
        await stage.settle()
        assert "spend this?" not in stage.text()
        assert "40 rows wait to spend about 3.8M tokens" in stage.text()
        await stage.press("c")
        assert "spend this?" in stage.text()
        await stage.press("escape", "j")
        assert stage.handle.sent == []
    async with staged("running", keys=("c",)) as stage:
        assert "nothing is asked" in stage.grid()[-1]
