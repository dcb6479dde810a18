"""Where no row is listed, no key acts on one."""

import pytest

from fanout_tui.screens.main import MainScreen
from fanout_tui.view.picking import NO_ROW
from tui.stage import staged

NOTHING = ("slash", *"zz(", "enter")
"""A filter that nothing fits."""


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["x", "r", "enter", "y", "Y", "space"])
async def test_keys_for_a_row_say_that_none_is_listed(key: str) -> None:
    async with staged("running", (140, 45), keys=("j", *NOTHING)) as stage:
        await stage.press(key)
        assert NO_ROW in stage.grid()[-1]
        assert isinstance(stage.app.screen, MainScreen)
        assert stage.handle.sent == []
        assert stage.app.picking.marks == set()
        assert stage.app.clipboard == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keys", "hint", "undo"),
    [
        (NOTHING, "no row fits; esc shows all", "escape"),
        (("j", "5", *NOTHING), "no row fits; esc shows all", "escape"),
    ],
)
async def test_the_hint_names_the_keys_that_list_all_rows_again(
    keys: tuple[str, ...], hint: str, undo: str
) -> None:
    """And the row that was picked before is picked again."""
    async with staged("running", keys=("j", "j")) as stage:
        picked = stage.app.picking.cursor
        await stage.press(*keys)
        assert stage.app.picking.cursor is None
        assert hint in stage.text()
        await stage.press(undo)
        assert "no row fits" not in stage.text()
        assert len(stage.app.picking.order) == 100
        if keys is NOTHING:
            assert stage.app.picking.cursor == picked


@pytest.mark.anyio
async def test_without_a_filter_0_lists_all_rows_again_too() -> None:
    async with staged("complete", keys=("1",)) as stage:
        assert "no row fits; esc or 0 shows all" in stage.text()
        await stage.press("0")
        assert "no row fits" not in stage.text()


@pytest.mark.anyio
async def test_an_open_agent_stays_though_no_row_is_listed_any_more() -> None:
    async with staged("running", (100, 30), keys=("j", "enter")) as stage:
        shown = stage.app.screen._of
        listing = stage.app.picking.listing
        stage.app.picking.narrow(type(listing)(filter="zz("))
        stage.app.reorder()
        stage.app.draw()
        await stage.settle()
        assert NO_ROW in stage.text()
        assert str(shown.key)[-8:] in stage.text()
