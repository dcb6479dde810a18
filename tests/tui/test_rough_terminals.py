"""Terminals that do not read, stop, go to a pager: the screen comes back, or goes."""

import select
import signal
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tui.screening import ALT_OFF, CURSOR_ON, SCREEN, TITLE_BACK, Start
from tui.terminal import Terminal

PAGERS = {
    "/nonexistent": b"the pager failed: ",
    "sh -c 'exit 3'": b"the pager failed: it ended with 3",
    "sh -c 'stty raw -echo; kill -9 $$'": b"back from the pager",
    "sh -c 'exec <&-; echo READS; read x </dev/tty'": b"back from the pager",
}


def paging(start: Start, pager: str) -> Terminal:
    """The program, with the pager just opened."""
    terminal = start(SCREEN, PAGER=pager)
    terminal.read_until(b"bottleneck")
    terminal.type(b"\r")
    terminal.read_until(b"rate them lower")
    terminal.settle()
    terminal.output = b""
    terminal.type(b"o")
    return terminal


def leave(terminal: Terminal) -> bytes:
    """Leave the agent, and the screen."""
    terminal.type(b"\x1b")
    terminal.settle()
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    return terminal.read_until(b"END\r\n")


@pytest.mark.parametrize("pager", PAGERS)
def test_whatever_the_pager_does_the_screen_comes_back(start: Start, pager) -> None:
    """It is not there, fails, is killed, or does not read what it is given."""
    terminal = paging(start, pager)
    if "READS" in pager:
        terminal.read_until(b"READS")
        terminal.type(b"q\n")
    terminal.read_until(PAGERS[pager])
    terminal.settle()
    terminal.type(b"p")
    terminal.read_until(b"paused: ")
    output = leave(terminal)
    assert b"SENT [Pause()]" in output
    assert terminal.attributes()[3] & termios.ECHO
    assert terminal.wait() == 0


def test_keys_of_the_pager_are_for_the_pager_alone(start: Start) -> None:
    """Neither Ctrl-C nor Ctrl-Z in it stops the run."""
    terminal = paging(start, "sh -c 'trap : INT; echo PAGES; cat /dev/tty; echo OVER'")
    terminal.read_until(b"PAGES")
    terminal.type(b"\x1aMORE\n")
    terminal.read_until(b"MORE\r\nMORE")
    terminal.type(b"\x03")
    terminal.read_until(b"back from the pager")
    output = leave(terminal)
    assert b"OVER" in output
    assert b"SENT []" in output


@pytest.mark.parametrize("trap", ["", 'trap "" TERM; '])
def test_a_signal_ends_the_pager_and_the_screen(start: Start, trap: str) -> None:
    """Also one that will not hear of it."""
    pager = f"sh -c '{trap}echo PAGES; while :; do sleep 0.1; done'"
    terminal = paging(start, pager)
    terminal.read_until(b"PAGES")
    terminal.signal(signal.SIGTERM)
    output = terminal.read_until(b"END\r\n")
    assert b"LEFT signal" in output
    assert terminal.wait() == 0


def test_every_continuation_is_drawn_and_the_title_comes_back(start: Start) -> None:
    """Also the second one, and the one behind a pager."""
    terminal = start(SCREEN, PAGER="cat")
    terminal.read_until(b"bottleneck")
    for _ in range(3):
        terminal.settle()
        terminal.output = b""
        terminal.signal(signal.SIGCONT)
        terminal.read_until(b"bottleneck")
    terminal.type(b"\r")
    terminal.read_until(b"rate them lower")
    terminal.type(b"o")
    terminal.read_until(b"back from the pager")
    terminal.settle()
    terminal.output = b""
    terminal.signal(signal.SIGCONT)
    terminal.read_until(b"rate them lower")
    terminal.type(b"\x1b")
    terminal.settle()
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert output.count(TITLE_BACK) == 1
    assert output.index(ALT_OFF) < output.index(TITLE_BACK) < output.index(b"LEFT")
    assert terminal.wait() == 0


def stall(terminal: Terminal, until: Callable[[], bool]) -> None:
    """Read nothing, and scroll, until nothing more goes in and something holds."""
    end = time.monotonic() + 20.0
    while not until():
        assert time.monotonic() < end, "it never came"
        select.select([], [], [], 0.02)
        if select.select([], [terminal.fd], [], 0)[1]:
            terminal.type(b"Gg")


TELLING = """
told = os.environ["TOLD"]

class Told(Printing):
    def on_mount(self):
        self.set_interval(0.05, self.look_at)

    def look_at(self):
        if self.holding.is_on():
            open(told + ".held", "w").close()
        if type(self.screen).__name__ == "AskScreen":
            open(told + ".asks", "w").close()

make = Told
"""
SAID = """
open(told, "w").write(left)
from fanout_tui.command.say import write
write("LEFT " + left)
write("SENT " + str(handle.sent))
write("END")
"""


def telling() -> str:
    """The screen, which tells in files how it stands; words go out as they should."""
    whole = SCREEN[: SCREEN.index('print("LEFT"')]
    return whole.replace("started =", TELLING + "started =") + SAID


def test_a_terminal_that_does_not_read_holds_no_end_up(
    start: Start, tmp_path: Path
) -> None:
    """The screen is left; when somebody reads again, the terminal is restored first."""
    told = tmp_path / "told"
    terminal = start(telling(), TOLD=str(told))
    terminal.read_until(b"bottleneck")
    terminal.settle()
    stall(terminal, Path(f"{told}.held").exists)
    terminal.signal(signal.SIGTERM)
    stall(terminal, told.exists)
    terminal.output = b""
    output = terminal.read_until(b"END\r\n")
    assert told.read_text() == "signal"
    assert output.index(ALT_OFF) < output.index(b"LEFT")
    assert CURSOR_ON in output
    assert terminal.wait() == 0


def test_a_terminal_that_reads_again_sees_the_newest_frame_and_was_not_answered(
    start: Start, tmp_path: Path
) -> None:
    """What was typed meanwhile met a question that could not be seen."""
    told = tmp_path / "told"
    terminal = start(telling(), TOLD=str(told))
    terminal.read_until(b"bottleneck")
    terminal.settle()
    stall(terminal, Path(f"{told}.held").exists)
    terminal.type(b"x")
    stall(terminal, Path(f"{told}.asks").exists)
    terminal.type(b"y")
    terminal.output = b""
    terminal.read_until(b"cancel this row?")
    terminal.settle()
    assert len(terminal.output) < 200_000
    terminal.type(b"n")
    terminal.settle()
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert b"CancelRow" not in output
    assert terminal.wait() == 0
