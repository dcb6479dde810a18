"""The command, the engine and the simulated account, steered by keys on a pty."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui.terminal import Terminal

SCRIPT = '''
"""Forty small agents."""
import os, subprocess
import fanout

import asyncio

async def main():
    await asyncio.sleep(1.5)
    print("printed by the script")
    subprocess.run(["echo", "printed by a child"], check=True)
    async with fanout.phase("count"):
        results = await fanout.parallel(
            fanout.agent(f"Say the number {n}.", key=f"part-{n:02d}") for n in range({count})
        )
    return f"{len(results)} came back"
'''
COMMAND = """
import sys
from fanout_tui.__main__ import main
sys.argv = ["fanout-tui", "--simulate", *{options!r}, {script!r}]
main()
"""

Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command on a script of its own."""
    terminals: list[Terminal] = []
    script = tmp_path / "forty.py"

    def begin(*options: str, count: int = 40) -> Terminal:
        script.write_text(SCRIPT.replace("{count}", str(count)))
        options = ("--run-dir", str(tmp_path / "runs"), *options)
        code = COMMAND.format(options=list(options), script=str(script))
        terminals.append(Terminal(code, (120, 40)))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()


def press(terminal: Terminal, keys: bytes, wanted: bytes) -> None:
    """Type, and wait for what it leads to."""
    terminal.output = b""
    terminal.type(keys)
    terminal.read_until(wanted)
    terminal.settle(0.05)


@pytest.mark.long
def test_a_run_is_steered_by_keys(start: Start, tmp_path: Path) -> None:
    """Pause, resume, ceiling, report, log, agent; then stopped at once."""
    terminal = start("--profile", "evaluation", count=300)
    terminal.read_until(b"limits of")
    press(terminal, b"p", b"PAUSED")
    press(terminal, b"p", b"RUNNING")
    press(terminal, b"-", b"manual (A: auto)")
    press(terminal, b"]", b"manual")
    press(terminal, b"A", b"auto")
    press(terminal, b"e", b"Completeness")
    press(terminal, b"w", b"writing 4 reports")
    press(terminal, b"l", b"newest line")
    press(terminal, b"g", b"printed by the script")
    assert b"printed by a child" in terminal.output
    press(terminal, b"\x1b", b"PARTITION")
    press(terminal, b"\r", b"EXPECTS")
    press(terminal, b"\x1b", b"PARTITION")
    press(terminal, b"q", b"leave the run?")
    terminal.output = b""
    terminal.type(b"a")
    code = terminal.wait()
    _, after = terminal.output.split(b"\x1b[?1049l", 1)
    assert code == 130
    assert b"printed by" not in after
    assert re.search(rb"\d+ of 300 done, \d+ missing", after)
    assert b"fanout-tui resume" in after
    report = next((tmp_path / "runs").rglob("report.json"))
    data = json.loads(report.read_text())
    assert data["expected"] == 300
    assert data["done"] + data["missing"] == 300


@pytest.mark.long
def test_a_finished_run_stays_until_it_is_left(start: Start, tmp_path: Path) -> None:
    """Complete, on the screen; q leaves with 0 and what `main` returned."""
    terminal = start("--profile", "build", "--report", str(tmp_path / "asked.json"))
    terminal.read_until(b"COMPLETE", 60)
    terminal.settle(0.3)
    # Whoever reads them need not wait until somebody has left the screen.
    asked = json.loads((tmp_path / "asked.json").read_text())
    folder = Path(asked["folder"])
    for name in ("report.json", "report.md", "results.jsonl", "result.json"):
        assert (folder / name).exists(), name
    assert (asked["done"], asked["exit_code"]) == (40, 0)
    assert asked == json.loads((folder / "report.json").read_text())
    terminal.type(b"q")
    assert terminal.wait() == 0
    _, after = terminal.output.split(b"\x1b[?1049l", 1)
    assert b"40 of 40 done, 0 missing" in after
    assert b"40 came back" in after


@pytest.mark.long
def test_it_leaves_by_itself_where_asked_to(start: Start) -> None:
    terminal = start("--profile", "build", "--exit-when-done")
    assert terminal.wait(60) == 0
    assert b"40 of 40 done" in terminal.output


@pytest.mark.long
def test_leaving_the_screen_goes_on_in_plain_lines(start: Start) -> None:
    terminal = start("--profile", "build", "--concurrency", "1", count=10)
    terminal.read_until(b"limits of")
    press(terminal, b"q", b"leave the run?")
    terminal.type(b"b")
    terminal.read_until(b"\x1b[?1049l")
    terminal.read_until(b"] run forty")
    # Under the screen it would have done nothing; whoever reads lines may ask.
    terminal.signal(signal.SIGUSR1)
    terminal.read_until(b"running count/part-")
    assert terminal.wait(60) == 0
    _, after = terminal.output.split(b"\x1b[?1049l", 1)
    assert b"10 of 10 done" in after
    assert b"\x1b[3" not in after
