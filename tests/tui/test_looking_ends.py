"""How `watch` and `replay` are left: by keys and signals, not by how the run ended."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.disk.journals import story_of, write_segments
from core.disk.test_run_folders import make
from fanout_tui.viewing import Watched
from tui.screening import ALT_OFF, ALT_ON
from tui.stage import staged
from tui.terminal import Terminal

CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A killed run with a few rows."""
    made = make(tmp_path, "aaaa")
    write_segments(made, story_of(3, 150))
    return made


def looking(folder: Path, verb: str) -> Terminal:
    words = [verb, "--run-dir", str(folder.parent), folder.name]
    code = (
        "import sys\nfrom fanout_tui.__main__ import main\n"
        f"sys.argv = ['fanout-tui', *{words!r}]\nmain()\n"
    )
    return Terminal(code, (100, 30), PAGER="sh -c 'echo PAGES; exec sleep 60'")


@pytest.fixture
def look(folder: Path) -> Iterator[Callable[[str], Terminal]]:
    """Opens the run with `watch` or `replay` on a terminal."""
    terminals: list[Terminal] = []

    def begin(verb: str) -> Terminal:
        terminals.append(looking(folder, verb))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("verb", "keys", "shown"),
    [
        ("watch", b"", b"WATCHING"),
        ("replay", b"", b"REPLAY"),
        ("watch", b":", b"Search for"),
        ("watch", b"/", b"filter: text"),
        ("watch", b"\ro", b"PAGES"),
    ],
)
def test_a_signal_gives_the_terminal_back(
    look: Callable[[str], Terminal], verb: str, keys: bytes, shown: bytes, number
) -> None:
    terminal = look(verb)
    terminal.read_until(verb.upper().encode())
    terminal.settle()
    for key in keys:
        terminal.type(bytes([key]))
        terminal.settle()
    terminal.read_until(shown)
    terminal.signal(number)
    assert terminal.wait() == CODES[number]
    assert terminal.output.count(ALT_ON) == terminal.output.count(ALT_OFF)


@pytest.mark.anyio
@pytest.mark.parametrize("code", CODES.values())
async def test_a_run_that_a_signal_has_ended_is_there_to_be_looked_at(
    folder: Path, code: int
) -> None:
    async with staged("finished", viewing=Watched(folder, lambda: 0.0)) as stage:
        made = stage.handle.snapshot
        assert made.end is not None
        stage.handle.snapshot = replace(made, end=replace(made.end, exit_code=code))
        stage.app.tick()
        await stage.settle()
        assert stage.app.left == ""


@pytest.mark.anyio
async def test_a_live_one_that_a_signal_has_ended_is_left() -> None:
    async with staged("finished") as stage:
        made = stage.handle.snapshot
        assert made.end is not None
        stage.handle.snapshot = replace(made, end=replace(made.end, exit_code=143))
        stage.app.tick()
        assert stage.app.left == "signal"
