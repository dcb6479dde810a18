"""What the screen costs under load: `python tests/bench/screen_load.py [ROWS]`.

A run of 10,000 rows with 500 row updates a second, on a pty of 120 by 40. The
child has an engine thread with its own loop, whose lag is measured, and the
screen in the main thread; this process is the terminal. Measured are CPU, lag,
key to paint (a cursor move among rows that do not change, from the write of the
key to the cursor in the output) and bytes to the terminal. What opening takes is `screen_opening.py`'s to say.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tui.terminal import Terminal

SECONDS = 8.0
SIZE = (120, 40)
KEYS = 40
STUCK_S = 8.0

CHILD = """
import asyncio, json, os, resource, sys, threading, time
from dataclasses import replace
from fanout.words.model import Status
from fanout.words.snapshot import Counts
from fanout_tui.launch import run_screen
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes import rows as made
from fanout_tui.scenes.states import running

ROWS = int(os.environ["ROWS"])
RATE = int(os.environ["RATE"])

class Engine(SceneHandle):
    def __init__(self):
        super().__init__(running())
        statuses = [Status.DONE] * (ROWS // 2) + [Status.RUNNING] * 90
        statuses += [Status.THROTTLED] * 10
        statuses += [Status.QUEUED] * (ROWS - len(statuses))
        self.rows = {}
        self.ids = []
        for number, status in enumerate(statuses):
            row = made.row(number, status)
            row = replace(row, id=row.id._replace(key=f"{row.id.key}-{number}"))
            self.rows[row.id] = row
            if status in (Status.RUNNING, Status.THROTTLED):
                self.ids.append(row.id)
        self.counts = Counts(
            done=ROWS // 2, running=90, throttled=10, queued=ROWS - ROWS // 2 - 100
        )
        self.offset = time.time() - made.NOW
        self.wanted = True
        self.over = False
        self.lags = []
        self.build()

    def ask(self):
        self.wanted = True

    def build(self):
        now = time.time() - self.offset
        self.snapshot = replace(
            self.snapshot, at=now, rows=dict(self.rows), counts=self.counts
        )

    async def work(self):
        step = 0
        while not self.over:
            for _ in range(RATE // 50):
                id_ = self.ids[step % len(self.ids)]
                row = self.rows[id_]
                tally = replace(row.tally, attempts=row.tally.attempts + 1)
                self.rows[id_] = replace(row, tally=tally)
                step += 1
            if self.wanted:
                self.wanted = False
                self.build()
            await asyncio.sleep(0.02)

    async def watch(self):
        while not self.over:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            self.lags.append(time.perf_counter() - before - 0.01)

    async def main(self):
        async with asyncio.TaskGroup() as group:
            group.create_task(self.work())
            group.create_task(self.watch())

engine = Engine()
thread = threading.Thread(target=lambda: asyncio.run(engine.main()), daemon=True)
thread.start()

def on_usr1(number, frame):
    used = resource.getrusage(resource.RUSAGE_SELF)
    lags = sorted(engine.lags) or [0.0]
    engine.lags = []
    os.write(9, json.dumps({
        "cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss // 1024,
        "p50": lags[len(lags) // 2], "p99": lags[int(len(lags) * 0.99)],
        "max": lags[-1], "sdk": "anthropic" in sys.modules,
    }).encode() + b"\\n")

import signal
signal.signal(signal.SIGUSR1, on_usr1)
run_screen(engine, clock=lambda: time.time() - engine.offset)
engine.over = True
"""


class Child:
    """The screen under load, and the pipe on which it says what it has used."""

    def __init__(self, rows: int, rate: int) -> None:
        self._source, sink = os.pipe()
        os.dup2(sink, 9, inheritable=True)
        os.close(sink)
        self.terminal = Terminal(CHILD, SIZE, ROWS=str(rows), RATE=str(rate))
        os.close(9)
        self.terminal.read_until(b"bottleneck")

    def ask(self) -> dict[str, float]:
        import signal

        self.terminal.signal(signal.SIGUSR1)
        self.drain(0.3)
        return json.loads(os.read(self._source, 4096).splitlines()[-1])

    def drain(self, seconds: float) -> int:
        """Read as a terminal does; says how many bytes came."""
        end = time.perf_counter() + seconds
        self.terminal.output = b""
        while (left := end - time.perf_counter()) > 0:
            self.terminal._read(left)
        return len(self.terminal.output)

    def key_to_paint(self, key: bytes, mark: bytes) -> float:
        """Milliseconds from the key to its effect in the output."""
        self.drain(0.05)
        self.terminal.output = b""
        began = time.perf_counter()
        self.terminal.type(key)
        while mark not in self.terminal.output:
            self.terminal._read(0.5)
            assert time.perf_counter() - began < 5, "the key had no effect"
        return (time.perf_counter() - began) * 1000


def main(rows: int = 10_000, rate: int = 500) -> None:
    child = Child(rows, rate)
    child.drain(2.0)
    before = child.ask()
    began = time.perf_counter()
    sent = child.drain(SECONDS)
    clears = child.terminal.output.count(b"\x1b[2J")
    after = child.ask()
    wall = time.perf_counter() - began
    cpu = (after["cpu"] - before["cpu"]) / wall
    child.terminal.type(b"5")
    child.drain(1.5)
    cursor = "▌".encode()
    paints = sorted(child.key_to_paint(b"j", cursor) for _ in range(KEYS))
    child.ask()
    time.sleep(STUCK_S)
    stuck = child.ask()
    child.terminal.close()
    table = (
        ("rows, updates/s", f"{rows:,}, {rate}", ""),
        ("CPU of one core", f"{cpu:.1%}", "<= 15%"),
        ("engine lag p99 / max", _ms(after["p99"], after["max"]), "<= 10 / 60 ms"),
        ("lag, terminal stuck 8 s", _ms(stuck["p99"], stuck["max"]), "<= 60 ms"),
        (
            "key to paint p50 / p95",
            f"{statistics.median(paints):.0f} / {paints[int(KEYS * 0.95)]:.0f} ms",
            "<= 20 / 50 ms",
        ),
        ("to the terminal", f"{sent / SECONDS / 1000:.0f} kB/s", "<= 120 kB/s"),
        ("clear-screens after start", str(clears), "0"),
        ("memory", f"{after['rss']} MB", ""),
        ("SDK imported", str(after["sdk"]), "False"),
    )
    for name, measured, wanted in table:
        print(f"{name:28}{measured:>20}   {wanted}")


def _ms(p99: float, most: float) -> str:
    return f"{p99 * 1000:.1f} / {most * 1000:.0f} ms"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
