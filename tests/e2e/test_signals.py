"""Signals and closed terminals, whatever the run is doing: five seconds, no more.

Each cell runs the real program and asks the same of it: the right exit code, a
sealed journal, a report that accounts for every row, the terminal as it was.
"""

import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.program import HUP, INT, PARALLEL, TERM, Program, account
from fanout.disk.reading import fold
from fanout.simulator.process import SimulatedAccount
from figures import record_figure
from tui.terminal import Terminal

CODES = {INT: 130, TERM: 143, HUP: 129}
SECONDS_MAX = 5.0
LOADED = float(os.environ.get("SLOW_MACHINE", "2.0"))
"""How much longer than promised a machine that runs many tests may take."""

SLOW = "async def main():\n    await work(12, '[[sim: output=900 tps=8]]')\n"
SHORT = "async def main():\n    await work(12, '[[sim: output=60 tps=30]]')\n"
THROTTLED = "async def main():\n    await work(12, '[[sim: error=429]]')\n"
BLOCKS = """
async def main():
    rows = asyncio.create_task(work(12, '[[sim: output=60 tps=30]]'))
    await asyncio.sleep(1.0)
    while True:
        time.sleep(1)
"""
DONE = "async def main():\n    await work(3)\n"
BUSY = """
import threading, time
from fanout.world.engine import Engine
turn, begun = Engine._turn, time.monotonic()
def stands_still(self):
    if time.monotonic() - begun > 3 and self.core.state.rows:
        time.sleep(60)
    turn(self)
Engine._turn = stands_still
"""
WRITING = """
import time
import fanout_tui.command.running as running
write_all = running._write_all
def slow(*given):
    running.warn("WRITING")
    time.sleep(2)
    return write_all(*given)
running._write_all = slow
"""
RUN = """
import sys
{patch}
from fanout_tui.__main__ import main
sys.argv = ["fanout-tui", *{words!r}]
main()
"""


@pytest.fixture(scope="module")
def service() -> Iterator[SimulatedAccount]:
    with account() as one:
        yield one


@dataclass(frozen=True, slots=True)
class State:
    """A script, and how to see that the run is where it is to be."""

    script: str
    at: Callable[[Program], bool]
    patch: str = ""
    seals: bool = True


def admitted(program: Program) -> bool:
    return program.journaled("CallAdmitted") >= 12


STATES = {
    "running": State(SLOW, admitted),
    "throttled": State(THROTTLED, lambda p: p.journaled("CallRefused") >= 1),
    "blocked script": State(BLOCKS, lambda p: p.journaled("RowDone") >= 12),
    "busy engine": State(SLOW, lambda p: _older(p, 5.0), BUSY, seals=False),
    "opening": State(DONE, lambda _: True, seals=False),
    "writing": State(DONE, lambda p: b"WRITING" in _err(p), WRITING),
    "writing for long": State(
        DONE, lambda p: b"WRITING" in _err(p), WRITING.replace("(2)", "(60)")
    ),
}


def _older(program: Program, seconds: float) -> bool:
    """The run's journal has been standing there for so long."""
    found = list(program.folder.glob(".fanout/*/manifest.json"))
    return bool(found) and time.time() - found[0].stat().st_mtime > seconds


def _err(program: Program) -> bytes:
    return (program.folder / "err").read_bytes()


def start(program: Program, state: State) -> "subprocess.Popen[bytes]":
    code = RUN.format(patch=state.patch, words=["job.py"])
    with (
        (program.folder / "out").open("wb") as out,
        (program.folder / "err").open("wb") as err,
    ):
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=program.folder,
            env=program.environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )


def opening(child: "subprocess.Popen[bytes]") -> None:
    """Wait until the handlers are there, which is before anything is opened."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        status = Path(f"/proc/{child.pid}/status").read_text()
        caught = int(status.split("SigCgt:\t")[1].split()[0], 16)
        if caught >> (TERM - 1) & 1:
            return
        time.sleep(0.002)
    raise AssertionError("the program never began to listen")


def run(
    service: SimulatedAccount, folder: Path, name: str, numbers: tuple[int, ...]
) -> tuple[int, float, Program]:
    state = STATES[name]
    program = Program(folder, service)
    program.script(state.script)
    child = start(program, state)
    if name == "opening":
        opening(child)
    else:
        program.until(child, lambda: state.at(program))
    begun = time.monotonic()
    for number in numbers:
        child.send_signal(number)
        time.sleep(0.3 if len(numbers) > 1 else 0.0)
    ended = program.wait(child, begun)
    return ended.code, ended.seconds, program


def sealed(program: Program) -> bool:
    (folder,) = program.folder.glob(".fanout/*/journal")
    return fold(folder.parent).tail.sealed


def expected_code(name: str, numbers: tuple[int, ...]) -> int:
    if name == "writing":
        return 0  # the run had ended, with everything done
    return CODES[numbers[0]]


def slowest(seconds: float) -> None:
    record_figure(
        "slowest exit after a signal", "≤ 5 s", seconds, unit="s", highest=True
    )


def check(service: SimulatedAccount, folder: Path, name: str, *numbers: int) -> None:
    code, seconds, program = run(service, folder, name, numbers)
    said = _err(program).decode()
    assert code == expected_code(name, numbers), said
    assert seconds < SECONDS_MAX * LOADED, said
    slowest(seconds)
    assert "Traceback" not in said
    if name == "opening":
        return
    if not STATES[name].seals:
        assert "the engine does not end" in said
        assert "fanout-tui resume" in said
        return
    assert sealed(program)
    (report,) = program.folder.glob(".fanout/*/report.json")
    told: dict[str, Any] = json.loads(report.read_text())
    assert told["done"] + told["missing"] == told["expected"] == len(told["partitions"])


def test_a_script_that_blocks_does_not_hold_a_signal_up(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    check(service, tmp_path, "blocked script", TERM)


def test_a_signal_while_it_opens_leaves_at_once(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    check(service, tmp_path, "opening", TERM)
    assert (
        b"stopped by SIGTERM before anything was sent"
        in (tmp_path / "err").read_bytes()
    )


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("number", [INT, TERM, HUP], ids=["INT", "TERM", "HUP"])
@pytest.mark.parametrize("name", [n for n in STATES if n != "writing for long"])
def test_a_signal_ends_the_run_whatever_it_does(
    service: SimulatedAccount, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    slow_drain = number == INT and name in {"running", "busy engine"}
    check(service, tmp_path, name, *((INT, INT) if slow_drain else (number,)))
    record_figure(
        "signals of plain runs, by state and signal", "exit ≤ 5 s", 1, unit="cells"
    )


@pytest.mark.long
@pytest.mark.soak
def test_a_term_hurries_a_drain(service: SimulatedAccount, tmp_path: Path) -> None:
    """The first signal stays the cause."""
    code, seconds, program = run(service, tmp_path, "running", (INT, TERM))
    assert code == 130
    assert seconds < SECONDS_MAX * LOADED
    assert sealed(program)


@pytest.mark.long
@pytest.mark.soak
def test_a_second_signal_leaves_reports_unwritten(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    code, seconds, program = run(service, tmp_path, "writing for long", (TERM, TERM))
    assert code == 143
    assert seconds < SECONDS_MAX * LOADED
    assert sealed(program)
    assert b"before all reports were written" in _err(program)


@pytest.mark.long
@pytest.mark.soak
def test_a_stopped_process_goes_on(service: SimulatedAccount, tmp_path: Path) -> None:
    """`SIGSTOP` for longer than any silence that is allowed, then `SIGCONT`."""
    program = Program(tmp_path, service)
    program.script(
        "async def main():\n    await work(12, '[[sim: output=200 tps=30]]')\n"
    )
    child = program.start("--timeout", "first-byte=2,idle=2,call=12", "job.py")
    program.until(child, lambda: admitted(program))
    child.send_signal(signal.SIGSTOP)
    time.sleep(4)
    child.send_signal(signal.SIGCONT)
    end = program.wait(child)
    assert end.code == 0, end.said
    assert end.report["done"] == 12
    assert not end.report["usage"]["wasted"]["output_tokens"]


@pytest.mark.long
@pytest.mark.soak
def test_asking_ends_nothing(service: SimulatedAccount, tmp_path: Path) -> None:
    """SIGUSR1 says what rows wait for, SIGQUIT what threads do."""
    program = Program(tmp_path, service)
    program.script(
        "async def main():\n    await work(12, '[[sim: output=60 tps=20]]')\n"
    )
    child = program.start("job.py")
    program.until(child, lambda: admitted(program))
    child.send_signal(signal.SIGUSR1)
    child.send_signal(signal.SIGQUIT)
    end = program.wait(child)
    assert end.code == 0
    assert "running work/k" in end.out
    assert "_run_once" in (end.run / "stacks.txt").read_text()
    assert "what every thread does is in" in end.out


# -- on a terminal -------------------------------------------------------------------


SCREEN = {
    "running": (SLOW, b"no answer yet", b""),
    "paused": (SLOW, b"RUNNING", b"p"),
    "asked": (SLOW, b"RUNNING", b"q"),
    "finished": (DONE, b"COMPLETE", b""),
    "throttled": (THROTTLED, b"throttled", b""),
    "blocked": (BLOCKS, b"100% done", b""),
}
AFTER = {"paused": b"PAUSED", "asked": b"leave the run?"}
ALT_OFF, ALT_ON = b"\x1b[?1049l", b"\x1b[?1049h"


def on_screen(service: SimulatedAccount, folder: Path, name: str) -> Terminal:
    script, wanted, keys = SCREEN[name]
    if name == "blocked":
        script = script.replace(
            "    while True", "    print('printed')\n    while True"
        )
    (folder / "job.py").write_text(PARALLEL + script)
    words = ["--run-dir", str(folder / ".fanout"), str(folder / "job.py")]
    terminal = Terminal(
        RUN.format(patch="", words=words),
        (120, 30),
        ANTHROPIC_BASE_URL=service.url,
        ANTHROPIC_API_KEY="a key",
    )
    terminal.attributes = termios.tcgetattr(terminal.fd)  # type: ignore[attr-defined]
    terminal.read_until(wanted, 60)
    if keys:
        terminal.type(keys)
        terminal.read_until(AFTER[name], 20)
    return terminal


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("way", ["INT INT", "TERM", "HUP", "closed"])
@pytest.mark.parametrize("name", SCREEN)
def test_a_screen_gives_the_terminal_back(
    service: SimulatedAccount, tmp_path: Path, name: str, way: str
) -> None:
    terminal = on_screen(service, tmp_path, name)
    begun = time.monotonic()
    if way == "closed":
        terminal.hang_up()
        code = terminal.exit_code(30)
    else:
        for word in way.split():
            terminal.signal(signal.Signals[f"SIG{word}"])
            time.sleep(0.3)
            if name == "finished":
                break
        code = terminal.wait(30)
    seconds = time.monotonic() - begun
    wanted = {"closed": 129, "INT INT": 130, "TERM": 143, "HUP": 129}[way]
    assert code == (0 if name == "finished" else wanted)
    assert seconds < SECONDS_MAX * LOADED
    slowest(seconds)
    if way != "closed":
        assert terminal.output.count(ALT_ON) == terminal.output.count(ALT_OFF) == 1
        assert termios.tcgetattr(terminal.fd) == terminal.attributes  # type: ignore[attr-defined]
    terminal.close()
    (journal,) = (tmp_path / ".fanout").glob("*/journal")
    assert fold(journal.parent).tail.sealed
    record_figure(
        "signals and closed terminals, by what the screen shows",
        "exit ≤ 5 s, terminal as it was",
        1,
        unit="cells",
    )
