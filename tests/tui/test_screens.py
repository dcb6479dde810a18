"""Every state and screen at three sizes, as a grid of text."""

import re

import pytest
from rich.cells import cell_len

from fanout_tui.scenes.states import SCENES
from tui.stage import SIZES, assert_golden, staged

OPENED = {
    "agent": ("enter",),
    "agent-result": ("enter", "3"),
    "agent-found": ("enter", "slash", "g", "r", "e", "p", "enter"),
    "log": ("l",),
    "log-picked": ("l", "k", "k"),
    "report": ("e",),
    "help": ("question_mark",),
    "quit": ("q",),
    "cancel": ("x",),
    "filter": ("slash", "a", "u", "t", "h"),
    "filter-nothing": ("slash", "z", "z"),
}


def check(lines: list[str], size: tuple[int, int]) -> None:
    """Nothing is wider than the screen, nor is anything off it."""
    assert len(lines) == size[1]
    assert all(cell_len(line) == size[0] for line in lines)


@pytest.mark.anyio
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_states(scene: str, size: tuple[int, int]) -> None:
    """The main screen fits, its counts sum up, its footer is the last line."""
    keys = ("escape",) if scene in ("asking", "short", "phase_short") else ()
    keys = ("escape", "escape") if scene == "both_short" else keys
    async with staged(scene, size, keys=keys) as stage:
        lines = stage.grid()
    check(lines, size)
    assert lines[-1].rstrip().endswith("q quit")
    shown = lines[1].rsplit("of", 1)
    counts = [int(n) for n in re.findall(r"[✓●◐○✗](\d+)", shown[0])]
    assert len(counts) == 5
    assert sum(counts) == int(shown[1])
    assert_golden(f"{scene}-{size[0]}x{size[1]}", lines)


@pytest.mark.anyio
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", OPENED)
async def test_opened(name: str, size: tuple[int, int]) -> None:
    """Whatever a key opens fits as well."""
    async with staged("running", size, keys=OPENED[name]) as stage:
        lines = stage.grid()
    check(lines, size)
    assert_golden(f"{name}-{size[0]}x{size[1]}", lines)


@pytest.mark.anyio
async def test_ascii() -> None:
    """With `--ascii` nothing else is drawn."""
    async with staged("running", (140, 45), ascii=True) as stage:
        lines = stage.grid()
        check(lines, (140, 45))
        assert_golden("ascii-140x45", lines)
        side = "".join(line for line in lines).replace("│", "").replace("─", "")
        assert side.isascii()


@pytest.mark.anyio
async def test_resizing_loses_nothing() -> None:
    """Small and back again shows the same."""
    async with staged("running", (140, 45), keys=("j", "j", "j")) as stage:
        before, cursor = stage.grid(), stage.app.picking.cursor
        await stage.pilot.resize_terminal(40, 12)
        await stage.settle()
        check(stage.grid(), (40, 12))
        await stage.pilot.resize_terminal(140, 45)
        await stage.settle()
        assert stage.grid() == before
        assert stage.app.picking.cursor == cursor


@pytest.mark.anyio
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
async def test_a_question_comes_by_itself_with_all_its_answers(
    size: tuple[int, int],
) -> None:
    async with staged("asking", size) as stage:
        lines = stage.grid()
    check(lines, size)
    text = "\n".join(lines)
    assert "spend this?" in text
    assert all(f" {key} " in text for key in ("y", "n", "esc"))
    assert_golden(f"asked-{size[0]}x{size[1]}", lines)


@pytest.mark.anyio
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", ["short", "phase_short"])
async def test_a_budgets_question_fits(scene: str, size: tuple[int, int]) -> None:
    async with staged(scene, size) as stage:
        lines = stage.grid()
    check(lines, size)
    text = "\n".join(lines)
    instead = ("w",) if scene == "phase_short" else ()
    assert all(f" {key} " in text for key in ("1", "2", *instead, "d", "a", "esc"))
    assert_golden(f"{scene}-asked-{size[0]}x{size[1]}", lines)
