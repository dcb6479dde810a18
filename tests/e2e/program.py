"""The real program against a simulated account, as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canary import CANARY
from e2e.forkserver import Forked, shared
from fanout.simulator.process import SimulatedAccount

SECONDS_MAX = 90.0

FAST: dict[str, Any] = {
    "limits": {
        "requests": 60_000,
        "input_tokens": 60_000_000,
        "output_tokens": 12_000_000,
    },
    "generation": {
        "ttft_seconds": 0.05,
        "ttft_per_1k_input": 0.0,
        "tokens_per_second": 600,
    },
}

Child = Forked | subprocess.Popen[bytes]

PARALLEL = """
import asyncio, os, subprocess, sys, threading, time
import fanout

async def work(n, extra="", **more):
    async with fanout.phase("work"):
        return await fanout.parallel(
            fanout.agent(f"Say {i}. {extra}", key=f"k{i:02}", **more) for i in range(n)
        )
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run of the program ended."""

    code: int
    out: str
    err: str
    seconds: float
    folder: Path

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def run(self) -> Path:
        """The newest run's folder."""
        runs = (p for p in (self.folder / ".fanout").iterdir() if p.is_dir())
        # Runs of one minute differ by chance only.
        return max(runs, key=lambda path: (path / "manifest.json").stat().st_mtime_ns)

    @property
    def report(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.run / "report.json").read_text())
        return told

    def kinds(self) -> dict[str, int]:
        """Partitions by `done`, or by the kind of what is missing."""
        found: dict[str, int] = {}
        for one in self.report["partitions"]:
            name = one["kind"] or one["status"]
            found[name] = found.get(name, 0) + 1
        return found


class Program:
    """The command in a folder of its own.

    It is forked from a process that has imported everything, or else `anew`: in an
    interpreter of its own, where what it imports and from where is the question.
    """

    def __init__(
        self, folder: Path, account: SimulatedAccount | None, *, anew: bool = False
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._anew = anew
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC", "FANOUT", "COLUMNS"))
        }
        if account is not None:
            self.environ |= {
                "ANTHROPIC_BASE_URL": account.url,
                "ANTHROPIC_API_KEY": CANARY,
            }

    def script(self, text: str, name: str = "job.py") -> None:
        (self.folder / name).write_text(PARALLEL + text)

    def start(self, *words: str) -> Child:
        with (
            (self.folder / "out").open("wb") as out,
            (self.folder / "err").open("wb") as err,
        ):
            if not self._anew:
                server = shared()
                return Forked(server, server.start(self.folder, words, self.environ))
            return subprocess.Popen(
                [sys.executable, "-m", "fanout_tui", *words],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def wait(self, child: Child, begun: float = 0.0) -> Ended:
        try:
            code = child.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise AssertionError(f"it does not end: {self._said()}") from None
        out, err = self._said()
        return Ended(code, out, err, time.monotonic() - begun, self.folder)

    def _said(self) -> tuple[str, str]:
        out, err = ((self.folder / name).read_text() for name in ("out", "err"))
        return out, err

    def run(self, *words: str) -> Ended:
        return self.wait(self.start(*(words or ("job.py",))), time.monotonic())

    def until(self, child: Child, holds: Callable[[], bool]) -> None:
        """Wait until something holds while the program runs."""
        end = time.monotonic() + SECONDS_MAX
        while not holds():
            assert child.poll() is None, f"it ended early: {self._said()}"
            assert time.monotonic() < end, f"it never came: {self._said()}"
            time.sleep(0.03)

    def journaled(self, kind: str) -> int:
        """How many facts of a kind are in the journal."""
        found = (self.folder / ".fanout").glob("*/journal/*")
        return sum(p.read_bytes().count(f'"e":"{kind}"'.encode()) for p in found)

    def signalled(
        self, *numbers: int, after: Callable[[], bool], gap: float = 0.3
    ) -> Ended:
        """Run, and send signals once something holds."""
        child = self.start("job.py")
        self.until(child, after)
        begun = time.monotonic()
        for number in numbers:
            child.send_signal(number)
            time.sleep(gap if len(numbers) > 1 else 0)
        return self.wait(child, begun)


def account(extra: Mapping[str, Any] | None = None) -> SimulatedAccount:
    return SimulatedAccount.start("scale", extra={**FAST, **(extra or {})})


def known(report: Mapping[str, Any], *names: str) -> dict[str, int]:
    total: dict[str, int] = {}
    for name in names:
        for kind, count in report["usage"][name].items():
            total[kind] = total.get(kind, 0) + count
    return total


TERM, INT, HUP = signal.SIGTERM, signal.SIGINT, signal.SIGHUP
