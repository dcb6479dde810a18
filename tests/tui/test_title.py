"""The window's title and bell: when they are written, and that they are harmless."""

from dataclasses import replace

import pytest

from fanout_tui.scenes.states import SCENES
from fanout_tui.theme import theme_of
from fanout_tui.title import BELL, PUSH, Title, title_of
from tui.stage import staged


def test_the_title_says_how_far_it_is_and_what_is_missing() -> None:
    assert title_of(SCENES["running"]()) == "audit_modules 34% · 2 missing"
    assert title_of(SCENES["paused"]()).endswith("· paused")
    made = SCENES["running"]()
    hostile = replace(
        made, run=replace(made.run, name="a\x1b]0;x\x07\u202eb" + "c" * 99)
    )
    text = title_of(hostile)
    assert not any(ord(c) < 32 or c in "\x7f\u202e" for c in text)
    assert len(text) < 80


def test_it_is_written_when_it_changes_and_the_bell_rings_once_unseen() -> None:
    out: list[str] = []
    title = Title(out.append)
    title.begin()
    assert out == [PUSH]
    running, finished = SCENES["running"](), SCENES["finished"]()
    title.show(running)
    title.show(running)
    assert len(out) == 2
    title.show(running, asks=True)
    assert out.count(BELL) == 0
    title.show(running)
    title.focused = False
    title.show(running, asks=True)
    title.show(running, asks=True)
    assert out.count(BELL) == 1
    title.show(running)
    title.show(finished)
    title.show(finished)
    assert out.count(BELL) == 2


@pytest.mark.parametrize(
    ("name", "ground", "made"),
    [
        ("auto", "", "fanout-dark"), ("auto", "15;0", "fanout-dark"),
        ("auto", "0;15", "fanout-light"), ("auto", "0;default;7", "fanout-light"),
        ("auto", "x", "fanout-dark"), ("light", "15;0", "fanout-light"),
        ("ansi", "0;15", "fanout-ansi"),
    ],
)  # fmt: skip
def test_the_theme_goes_by_the_option_and_the_terminal(name, ground, made) -> None:
    assert theme_of(name, {"COLORFGBG": ground}) == made


@pytest.mark.anyio
async def test_an_open_question_keeps_its_figures_and_says_when_it_is_settled() -> None:
    async with staged("running", keys=("q",)) as stage:
        assert "14 calls in flight" in stage.text()
        made = stage.handle.snapshot
        ceiling = replace(made.ceiling, in_flight=3)
        stage.handle.snapshot = replace(made, ceiling=ceiling)
        stage.app.tick()
        await stage.settle()
        assert "3 calls in flight" in stage.text()
        stage.handle.snapshot = SCENES["finished"]()
        stage.app.tick()
        await stage.settle()
        assert "It is settled meanwhile" in stage.text()
        # Whoever is about to answer must not have the key do something else.
        await stage.press("d")
        assert "leave the run?" not in stage.text()
        assert stage.handle.sent == []
        assert stage.app.left == ""


@pytest.mark.anyio
async def test_the_calls_of_an_agent_are_listed_with_their_ids() -> None:
    async with staged("running", (110, 30), keys=("enter", "4")) as stage:
        text = stage.text()
        assert "req_011CV" in text
        assert "answered" in text
