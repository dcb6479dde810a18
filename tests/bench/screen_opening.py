"""What opening the screen takes: `python tests/bench/screen_opening.py [ROWS]`.

The real program on a pty of 120 by 40, against the simulated account; this process
is the terminal. Times run from the start of the process to the last byte of the
frame that is meant, in brackets the CPU's seconds; memory is what was needed at most.
Of a few only the best is told: what else the machine does makes it slower. So that
figures of different machines can be compared, the first row says how fast Python
counts here.
"""

import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.opening import make_run
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout_tui.keys import AGENT, LIVE, LOG, MAIN, REPORT
from fanout_tui.keytable import keys_on
from fanout_tui.viewing import SEEK_PARTS
from tui.terminal import ROOT, Terminal

SIZE = (120, 40)
TIMES = 3
SECONDS_MAX = 120.0
IDLE_SECONDS = 10.0
BEGUN_SECONDS = 15.0
"""By then all rows are asked for, forecast, and wait in line."""
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
LATELY = 100_000
"""Bytes: several frames."""
LOOKED = b"? help"
"""Stands last on the last line of a frame."""

SCRIPT = """
import fanout

async def main(n="8"):
    await fanout.parallel(
        fanout.agent("Say a word.", key=f"part-{i:05}") for i in range(int(n))
    )
"""

# Says on descriptor 9 when the SDK's import begins, and on a signal how the engine's
# loop has lagged since it was asked last.
CHILD = """
import asyncio, json, os, resource, signal, sys, time

class Looks:
    def find_spec(self, name, path=None, target=None):
        if name == "anthropic":
            os.write(9, json.dumps({"sdk": time.monotonic()}).encode() + b"\\n")

sys.meta_path.insert(0, Looks())
lags, engines = [], []

async def watch():
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - before - 0.01)

def on_usr2(number, frame):
    if not engines:
        import threading
        (thread,) = [one for one in threading.enumerate() if one.name == "engine"]
        core = thread._target.__self__.engine.core
        engines.append(core)
        asyncio.run_coroutine_threadsafe(watch(), core._loop)
    seen = sorted(lags) or [0.0]
    lags.clear()
    os.write(9, json.dumps({
        "p99": seen[int(len(seen) * 0.99)], "max": seen[-1], "count": len(seen),
    }).encode() + b"\\n")

signal.signal(signal.SIGUSR2, on_usr2)
from fanout_tui.command.entry import entry
sys.exit(entry(json.loads(os.environ["WORDS"])))
"""


@dataclass
class Opened:
    """The program on a terminal, and how long it took to what was wanted."""

    terminal: Terminal
    source: int
    seconds: float = 0.0
    told: dict[str, float] | None = None

    @property
    def peak(self) -> float:
        """MiB it has needed at most."""
        return memory(self.terminal.pid, "VmHWM")

    @property
    def cpu(self) -> float:
        """Seconds it has computed for."""
        text = Path(f"/proc/{self.terminal.pid}/stat").read_text()
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def until(self, *wanted: bytes) -> float:
        """Read until all of it has been shown; return the second at which it was."""
        end = time.monotonic() + SECONDS_MAX
        while not all(one in self.shown() for one in wanted):
            assert time.monotonic() < end, self.shown()[-2000:]
            self.terminal._read(1.0)
        return time.monotonic()

    def shown(self) -> bytes:
        """What was written of late, without colours and the cursor's ways."""
        return ESCAPES.sub(b"", self.terminal.output[-LATELY:])

    def drain(self, seconds: float) -> None:
        """Read as a terminal does."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.terminal._read(left)

    def hear(self, seconds: float = 10.0) -> dict[str, float]:
        """The next thing the child says of itself; nothing when it does not."""
        end = time.monotonic() + seconds
        while not select.select([self.source], [], [], 0)[0]:
            if time.monotonic() > end:
                return {}
            self.terminal._read(0.05)
        told: dict[str, float] = json.loads(os.read(self.source, 4096).splitlines()[-1])
        return told

    def ask(self) -> dict[str, float]:
        """How the engine's loop has lagged since."""
        import signal

        self.terminal.signal(signal.SIGUSR2)
        return self.hear()

    def close(self) -> None:
        """End it."""
        self.terminal.close()
        os.close(self.source)


def opened(folder: Path, *words: str) -> Opened:
    """Start the program with these words in a folder of its own."""
    source, sink = os.pipe()
    os.dup2(sink, 9, inheritable=True)
    os.close(sink)
    before = Path.cwd()
    os.chdir(folder)
    try:
        terminal = Terminal(CHILD, SIZE, WORDS=json.dumps(words))
    finally:
        os.chdir(before)
        os.close(9)
    return Opened(terminal, source)


def memory(pid: int, name: str) -> float:
    """MiB of a process, by its status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(one for one in lines if one.startswith(name)).split()[1]) / 1024


def imported() -> float:
    """MiB of a process that has imported the SDK and done nothing else."""
    code = (
        "import anthropic, pathlib; anthropic.AsyncAnthropic(api_key='k');"
        "print(pathlib.Path('/proc/self/status').read_text())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    line = next(x for x in done.stdout.splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def counted() -> float:
    """Milliseconds for a million additions."""
    found = []
    for _ in range(5):
        began, total = time.perf_counter(), 0
        for number in range(1_000_000):
            total += number
        found.append(time.perf_counter() - began)
    return min(found) * 1000


def first_paint(folder: Path) -> tuple[float, float, bool]:
    """Wall and CPU seconds to the first whole frame; whether the SDK's import came after."""
    found = []
    for _ in range(TIMES):
        began = time.monotonic()
        run = opened(folder, "--simulate", "--fresh", "script.py", "8")
        painted = run.until(LOOKED)
        cpu = run.cpu
        told = run.hear()
        found.append((painted - began, cpu, told.get("sdk", 0.0) > painted))
        run.close()
    seconds, cpu, _ = min(found)
    return seconds, cpu, all(late for *_, late in found)


def live(folder: Path, rows: int) -> tuple[float, float, float]:
    """Wall and CPU seconds to the frame with all counts, and MiB, of a run that begins."""
    found = []
    for _ in range(TIMES):
        began = time.monotonic()
        run = opened(folder, "--simulate", "--fresh", "script.py", str(rows))
        shown = run.until(f"of {rows}".encode()) - began
        cpu = run.cpu
        run.drain(BEGUN_SECONDS)
        found.append((shown, cpu, run.peak))
        run.close()
        # What an earlier run holds is read by the next one, also by a fresh one.
        shutil.rmtree(folder / ".fanout")
    return min(found)


def looked_at(folder: Path, rows: int, *words: str) -> tuple[float, float, float]:
    """Wall and CPU seconds to the frame with all counts, and MiB, of a run that is read.

    A replay begins with none, and plays; of that it is the first frame.
    """
    found = []
    whole = b"REPLAY" if words[0] == "replay" else f"of {rows}".encode()
    for _ in range(TIMES):
        began = time.monotonic()
        run = opened(folder, *words)
        shown = run.until(whole, LOOKED) - began
        found.append((shown, run.cpu, run.peak))
        run.close()
    return min(found)


def leapt(folder: Path, rows: int) -> float:
    """Seconds from a key to the end of a replay, over all of the run."""
    run = opened(folder, "replay", "last")
    run.until(b"REPLAY", LOOKED)
    run.drain(1.0)
    began = time.monotonic()
    run.terminal.type(b"]" * (SEEK_PARTS + 1))
    seconds = run.until(f"of {rows}".encode()) - began
    run.close()
    return seconds


def printed(folder: Path) -> float:
    """Seconds of `report last` from its start to its end."""
    found = []
    for _ in range(TIMES):
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "fanout_tui", "report", "last"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT}/core{os.pathsep}{ROOT}/tui"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        found.append(time.monotonic() - began)
    return min(found)


def finished(folder: Path) -> float:
    """The share of a core that a screen takes whose run has ended."""
    run = opened(folder, "--simulate", "--profile", "scale", "script.py", "200")
    run.until(b"\xe2\x9c\x93200")
    run.drain(3.0)
    before, began = run.cpu, time.monotonic()
    run.drain(IDLE_SECONDS)
    share = (run.cpu - before) / (time.monotonic() - began)
    run.close()
    return share


OPENERS = {MAIN: b"", AGENT: b"\r", LOG: b"l", REPORT: b"e"}
"""What leads from the rows to each screen."""
SENT = {
    "enter": b"\r",
    "escape": b"\x1b",
    "space": b" ",
    "slash": b"/",
    "plus": b"+",
    "minus": b"-",
    "right_square_bracket": b"]",
    "left_square_bracket": b"[",
    "colon": b":",
    "question_mark": b"?",
    "pagedown": b"\x1b[6~",
    "pageup": b"\x1b[5~",
}
"""What a terminal sends for keys that have a name."""
LEAVES = frozenset({"interrupt", "back", "back_q", "pager"})
"""Keys that end the run or the screen, or hand it to another program."""


def presses() -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Every key of the table on each of its screens, and then back to the rows."""
    for screen, opener in OPENERS.items():
        for key in keys_on(screen, LIVE):
            if key.name not in LEAVES:
                pressed = SENT.get(key.keys[0], key.keys[0].encode())
                typed = (pressed, b"part") if key.name == "filter" else (pressed,)
                # What opened, what was typed into it, the screen: each is left by one.
                back = (b"\x1b",) * 3
                yield (
                    f"{key.shown} on {screen}",
                    (*((opener,) if opener else ()), *typed, *back),
                )


def lag(folder: Path, rows: int) -> tuple[float, float, str]:
    """The engine's lag, p99 and most, in ms, while every key is pressed; the worst."""
    run = opened(folder, "--simulate", "--fresh", "script.py", str(rows))
    run.until(f"of {rows}".encode(), LOOKED)
    run.drain(8.0)
    run.ask()
    run.drain(0.5)
    run.ask()
    found: list[tuple[float, float, str]] = []
    for name, keys in presses():
        for key in keys:
            run.terminal.type(key)
            run.drain(0.3)
        told = run.ask()
        found.append((told["max"], told["p99"], name))
    run.close()
    worst = max(found)
    return statistics.median(one[1] for one in found), worst[0], worst[2]


def times(seconds: float, cpu: float) -> str:
    """Both, since others may keep the machine busy."""
    return f"{seconds:.2f} s (CPU {cpu:.2f})"


def row(name: str, figure: str, goal: str = "") -> None:
    """Print a row of the table."""
    print(f"| {name} | {figure} | {goal} |", flush=True)


def read_runs(folder: Path, rows: int) -> None:
    """Rows of the table for a finished run that is opened again."""
    runs = folder / ".fanout"
    runs.mkdir()
    run = make_run(runs, rows * 4, rows)
    for how in ("without a checkpoint", "with a checkpoint"):
        for verb in ("watch", "replay"):
            seconds, cpu, peak = looked_at(folder, rows, verb, "last")
            row(f"`{verb}`, {how}", f"{times(seconds, cpu)}, {peak:.0f} MiB", "≤ 2 s")
        row(f"a replay's leap to the end, {how}", f"{leapt(folder, rows):.2f} s")
        row(f"`report`, {how}", f"{printed(folder):.2f} s")
        write_checkpoint(run)


def main(rows: int = 50_000) -> None:
    """Print the table."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    folder = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    (folder / "script.py").write_text(SCRIPT)
    try:
        first_paint(folder)  # so that all is compiled
        print("| what | figure | goal |\n|---|---:|---:|")
        row("a million additions", f"{counted():.0f} ms")
        seconds, cpu, late = first_paint(folder)
        row("first paint", times(seconds, cpu), "≤ 1.0 s")
        row("SDK imported by then", "no" if late else "yes", "no")
        sdk = imported()
        seconds, cpu, peak = live(folder, rows)
        row(f"{rows:,} rows, all counted", times(seconds, cpu), "≤ 2 s")
        row("memory above the SDK's", f"{peak - sdk:.0f} MiB", "≤ 120 MB")
        read_runs(folder, rows)
        shutil.rmtree(folder / ".fanout")
        row("CPU after the end", f"{finished(folder):.1%}", "≤ 1.5%")
        p99, most, keys = lag(folder, min(rows, 10_000))
        row("engine lag while keys are pressed, p99", f"{p99 * 1000:.1f} ms", "≤ 10")
        row(f"the most, at {keys}", f"{most * 1000:.0f} ms", "≤ 60")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
