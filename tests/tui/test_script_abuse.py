"""Scripts that misbehave under the screen: it stays whole, and the terminal is given back."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.test_script_mistakes import MISTAKES
from figures import record_figure
from tui.terminal import Terminal

Start = Callable[..., Terminal]

COMMAND = """
import sys
from fanout_tui.__main__ import main
sys.argv = ["fanout-tui", "--simulate", "--profile", "scale", "--exit-when-done",
            "--run-dir", {runs!r}, {script!r}]
main()
"""
HEAD = """
import asyncio, os, subprocess, sys, threading, time
import fanout

async def work(n, key="k"):
    async with fanout.phase("work"):
        return await fanout.parallel(
            fanout.agent("Say it. [[sim: output=40]]", key=f"{key}{i:02}") for i in range(n)
        )

async def main():
    await asyncio.sleep(1)
"""
STRAY = "STRAY-BYTES"


@dataclass(frozen=True, slots=True)
class Abuse:
    """What `main` does, and how the program ends."""

    text: str
    code: int
    says: str = "5 of 5 done"


ABUSES: dict[str, Abuse] = {
    "prints": Abuse(f"    print('{STRAY}' * 30)\n    await work(5)\n", 0),
    "writes to 1 and 2": Abuse(
        f"    os.write(1, b'\\x1b[2J{STRAY}\\n')\n    os.write(2, b'{STRAY}\\n')\n"
        "    await work(5)\n",
        0,
    ),
    "has a child that writes": Abuse(
        f"    subprocess.run(['echo', '{STRAY}'])\n"
        f"    os.system('echo {STRAY} >&2')\n    await work(5)\n",
        0,
    ),
    "opens the terminal": Abuse(
        "    await work(5)\n    print(os.isatty(0), os.isatty(1), os.isatty(2))\n", 0
    ),
    "sys.exit": Abuse("    await work(5)\n    sys.exit(3)\n", 1, "exited with code 3"),
    "os._exit": Abuse("    await work(5)\n    os._exit(7)\n", 1, "called os._exit(7)"),
    "input": Abuse("    await work(5)\n    input('name? ')\n", 1, "EOF"),
    "raises": Abuse("    await work(5)\n    raise ValueError('late')\n", 1, "late"),
    "KeyboardInterrupt": Abuse(
        "    await work(5)\n    raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"
    ),
    "blocks": Abuse(
        "    t = asyncio.create_task(work(5))\n    time.sleep(1.5)\n    await t\n", 0
    ),
    "recurses": Abuse(
        "    await work(5)\n    f = lambda n: f(n + 1)\n    f(0)\n", 1, "RecursionError"
    ),
    "leaves a thread": Abuse(
        "    threading.Thread(target=time.sleep, args=(900,)).start()\n    await work(5)\n",
        0,
    ),
    "leaves a child": Abuse(
        f"    subprocess.Popen('sleep 3; echo {STRAY}', shell=True)\n    await work(5)\n",
        0,
    ),
    "forks": Abuse(
        "    child = os.fork()\n    if child == 0: sys.exit(3)\n"
        "    os.waitpid(child, 0)\n    await work(5)\n",
        0,
    ),
    "closes its streams": Abuse("    os.close(1); os.close(2)\n    await work(5)\n", 0),
    "replaces what we need": Abuse(
        "    await work(5)\n    asyncio.timeout = asyncio.to_thread = None\n    await work(2, 'm')\n",
        1,
        "the script has replaced asyncio.timeout, asyncio.to_thread",
    ),
    "changes where it is": Abuse(
        "    os.chdir('/')\n    sys.stdout = None\n    os.umask(0o777)\n    await work(5)\n",
        0,
    ),
}


def ended(folder: Path, abuse: Abuse) -> tuple[int, bytes, bool]:
    """The exit code, what the terminal got, and whether it is as it was."""
    folder.mkdir()
    script = folder / "job.py"
    script.write_text(HEAD + abuse.text)
    code = COMMAND.format(runs=str(folder / "runs"), script=str(script))
    terminal = Terminal(code, (100, 30))
    try:
        before = terminal.attributes()
        terminal.read_all(90)
        same = terminal.attributes() == before
        return terminal.wait(), terminal.output, same
    finally:
        terminal.close()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple]]:
    base = tmp_path_factory.mktemp("abuse")
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(
            lambda name: ended(base / name.replace(" ", "-"), ABUSES[name]), ABUSES
        )
        yield dict(zip(ABUSES, found, strict=True))


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("name", ABUSES)
def test_the_screen_stays_whole_and_the_terminal_comes_back(ends, name: str) -> None:
    abuse = ABUSES[name]
    code, output, same = ends[name]
    assert code == abuse.code, output[-1500:]
    screen, back, after = output.rpartition(b"\x1b[?1049l")
    assert back
    assert same
    assert b"\x1b[?1049h" in screen
    assert abuse.says.encode() in after
    # A script's own words may stand in the log line, cut; never beside the frame.
    assert b"\x1b[2J" not in screen
    assert not re.search(rb"[\r\n]+STRAY", screen)
    assert STRAY.encode() not in after
    assert b"\x1b[?25h" in screen[-400:] + after


def test_how_many_ways_of_misbehaving_there_are() -> None:
    kinds = len(ABUSES) + len(MISTAKES)
    assert len(ABUSES) >= 12
    record_figure(
        "scripts that misbehave",
        "≥ 12 ways: cause named, others unaffected, 0 stray bytes on the screen",
        f"{kinds} ways, {len(ABUSES)} of them under the screen",
    )
