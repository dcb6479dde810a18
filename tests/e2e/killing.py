"""Kills the real program at any moment, and holds it against the account's books.

    start ── recovery ── calls ── rotation ── the script's end ── reports ── exit
      x         x          x         x               x               x

After each kill the journal is read back. What was acknowledged, by the program on
stdout or by the script in a file of its own, must be in it; what the account has
seen must have an intent; what was in flight must be no more than may fly at once.
When the run has come to its end, nothing that was journaled may have been sent
again, and the report must agree with the books.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from e2e.forkserver import ForkServer
from e2e.program import known
from fanout.disk.blobs import Blobs
from fanout.disk.reading import fold, read
from fanout.simulator.process import SimulatedAccount
from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Record,
    RowDone,
    ScriptEnded,
)
from fanout.words.model import NO_USAGE

CONCURRENCY = 8
ROWS = 12
SECONDS = 1.5
"""About as long as a run takes when nobody kills it."""
SECONDS_MAX = 60.0
BOOK = {"server": {"request_book": 20_000}}

SCRIPT = f"""
import asyncio
import os
from hashlib import sha256

import fanout

ACKS = os.open("acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def look(path: str = "") -> str:
    "Look."
    return "nothing there"


def acknowledge(made):
    digest = sha256(made.value.encode()).hexdigest()
    os.write(ACKS, f"{{made.key}} {{digest}}\\n".encode())


async def one(n):
    made = await fanout.agent(
        f"Say {{n}}. [[sim: turns=2 output=40]]",
        key=f"k{{n:02}}",
        tools=[look],
        output=f"k{{n:02}}.md" if n % 3 == 0 else None,
    )
    acknowledge(made)
    return made


async def main():
    async with fanout.phase("work"):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(n)) for n in range({ROWS})]
    async with fanout.phase("sum"):
        made = await fanout.agent(
            "Sum up. [[sim: output=60]]",
            key="all",
            inputs=[task.result() for task in tasks],
            output="all.md",
        )
    acknowledge(made)
    return made.value
"""


@dataclass(slots=True)
class Toll:
    """What a campaign has come to."""

    kills: int = 0
    at_start: int = 0
    """Of them within 60 ms: while the journal was being read, or before."""
    at_end: int = 0
    """Of them after the script's end: while reports were written."""
    runs: int = 0
    acknowledged: int = 0
    answers: int = 0
    in_doubt: int = 0
    in_doubt_most: int = 0
    segments: int = 0


@dataclass(slots=True)
class Left:
    """What a kill has left of a run."""

    run: Path
    records: list[Record] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    """Digest of each done row's value, by key."""

    def of(self, kind: type) -> Iterator[Any]:
        return (r.event for r in self.records if isinstance(r.event, kind))

    def open_calls(self) -> set[int]:
        """Calls of the newest life that were begun and have not ended."""
        newest = self.records[-1] if self.records else None
        mine = [r.event for r in self.records if newest and r.life == newest.life]
        begun = {e.call for e in mine if isinstance(e, CallAdmitted)}
        kinds = CallAnswered | CallRefused | CallAbandoned
        return begun - {e.call for e in mine if isinstance(e, kinds)}


class Campaign:
    """Runs the program in folders of its own, and kills it."""

    def __init__(
        self, server: ForkServer, account: SimulatedAccount, base: Path, seed: int
    ) -> None:
        self.server = server
        self.account = account
        self.base = base
        self.random = Random(seed)
        self.toll = Toll()
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC", "FANOUT", "COLUMNS"))
        } | {"ANTHROPIC_BASE_URL": account.url, "ANTHROPIC_API_KEY": "a key"}

    def wage(self, kills: int) -> Toll:
        """Kill so often, and see each run through to its end."""
        while self.toll.kills < kills:
            self._run(self.base / f"run{self.toll.runs}", kills)
            self.toll.runs += 1
        return self.toll

    def _run(self, folder: Path, kills: int) -> None:
        folder.mkdir()
        (folder / "job.py").write_text(SCRIPT)
        self.account.reset()
        code = -9
        while code == -9:
            spare = self.toll.kills >= kills
            code = self._live(folder, spare=spare)
            self._check(folder, code)
        assert code == 0, f"exit {code}: {(folder / 'err').read_text()}"
        self._check_end(folder)

    def _live(self, folder: Path, *, spare: bool) -> int:
        """One process; returns -9 when it was killed before its end."""
        words = ["--json", "--concurrency", str(CONCURRENCY), "job.py"]
        pid = self.server.start(folder, words, self.environ)
        luck = self.random.random()
        at_start, at_end = luck < 0.25, luck > 0.8
        if spare:
            self._await(folder, pid, lambda _: False)
            return self.server.wait(pid)
        if at_end:
            self._await(folder, pid, _script_has_ended)
            time.sleep(self.random.random() * 0.06)
        else:
            time.sleep(self.random.random() * (0.06 if at_start else SECONDS))
        code = self.server.kill(pid)
        if code == -9:
            self.toll.kills += 1
            self.toll.at_start += at_start
            self.toll.at_end += at_end
        return code

    def _await(self, folder: Path, pid: int, holds: Any) -> None:
        """Wait until something holds of the journal, or the process has ended."""
        end = time.monotonic() + SECONDS_MAX
        seen = -1
        while _lives(pid):
            assert time.monotonic() < end, f"it does not end: {pid}"
            size = _bytes_of(folder)
            if size != seen and holds(_left(folder)):
                return
            seen = size
            time.sleep(0.005)

    # -- what must hold --------------------------------------------------------

    def _check(self, folder: Path, code: int) -> None:
        runs = _left(folder)
        done = {key: value for left in runs for key, value in left.values.items()}
        for key, digest in _acknowledged(folder):
            assert done.get(key) == digest, f"{key} was told, and is lost"
        for key in _shown(folder):
            assert key in done, f"{key} was shown as done, and is not"
        intents = sum(1 for left in runs for _ in left.of(CallAdmitted))
        asked = len(self._books())
        assert asked <= intents, f"{asked} sends, {intents} intents"
        flying = runs[-1].open_calls() if runs else set()
        assert len(flying) <= CONCURRENCY, f"{len(flying)} in doubt by one kill"
        if code == -9:
            self.toll.in_doubt += len(flying)
            self.toll.in_doubt_most = max(self.toll.in_doubt_most, len(flying))
        else:
            assert not flying

    def _check_end(self, folder: Path) -> None:
        runs, books = _left(folder), self._books()
        kept = {event.request_id for left in runs for event in left.of(CallAnswered)}
        seen: dict[str, str] = {}
        for entry in books:
            before = seen.get(entry["body_sha256"])
            assert before not in kept, f"{before} was journaled, and sent again"
            seen[entry["body_sha256"]] = entry["request_id"]
        assert kept <= {entry["request_id"] for entry in books}
        report = json.loads((runs[-1].run / "report.json").read_text())
        assert (report["done"], report["missing"]) == (ROWS + 1, 0)
        rows = [(one["phase"], one["key"]) for one in report["partitions"]]
        assert len(rows) == len(set(rows)) == ROWS + 1
        _check_money(runs, report, books)
        for event in {event.row: event for event in runs[-1].of(RowDone)}.values():
            if event.output is not None:
                data = (runs[-1].run / "out" / event.output).read_bytes()
                assert sha256(data).hexdigest() == event.sha256
        self.toll.acknowledged += len(set(_acknowledged(folder)))
        self.toll.answers += len(kept)
        self.toll.segments += len(list(folder.glob(".fanout/*/journal/*.jsonl")))

    def _books(self) -> list[dict[str, Any]]:
        books: list[dict[str, Any]] = self.account.state(20_000)["requests"]
        return [entry for entry in books if entry["endpoint"] == "messages"]


def _check_money(
    runs: list[Left], report: Mapping[str, Any], books: list[dict[str, Any]]
) -> None:
    """The books lie between what the journals know and what they doubt."""
    states = [fold(left.run).state.totals for left in runs]
    sure = sum((total.useful + total.wasted for total in states), NO_USAGE).as_dict()
    doubt = sum((total.in_doubt for total in states), NO_USAGE).as_dict()
    for name in ("input_tokens", "output_tokens"):
        charged = sum(entry[name] for entry in books)
        assert sure[name] <= charged, f"{name}: {sure[name]} known, {charged} charged"
    # What is in doubt is a bound of all tokens together: of a call in flight the
    # input is an estimate, and the room for its output is what makes it a bound.
    charged = sum(entry[name] for entry in books for name in sure)
    most = sum(sure.values()) + sum(doubt.values())
    assert charged <= most, f"{charged} charged, at most {most} known"
    newest = known(report, "useful", "wasted")
    assert newest == (states[-1].useful + states[-1].wasted).as_dict()


def _lives(pid: int) -> bool:
    """Whether a process has not ended yet; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _script_has_ended(runs: list[Left]) -> bool:
    return bool(runs) and any(runs[-1].of(ScriptEnded))


def _bytes_of(folder: Path) -> int:
    found = folder.glob(".fanout/*/journal/*.jsonl")
    return sum(path.stat().st_size for path in found)


def _left(folder: Path) -> list[Left]:
    """What is on disk, by run: a run that was complete is begun anew."""
    found = sorted(folder.glob(".fanout/*/manifest.json"), key=_began)
    return [_left_of(path.parent) for path in found]


def _began(manifest: Path) -> float:
    began: float = json.loads(manifest.read_text())["created"]
    return began


def _left_of(run: Path) -> Left:
    left = Left(run)
    reading, blobs = read(run), Blobs(run)
    for record in reading:
        left.records.append(record)
        if isinstance(record.event, RowDone):
            value = str(blobs.value(record.event.value)).encode()
            left.values[record.event.row.key] = sha256(value).hexdigest()
    assert reading.tail.damage == [], reading.tail.damage
    return left


def _acknowledged(folder: Path) -> Iterator[tuple[str, str]]:
    """What the script has written down as told to it: key and digest."""
    path = folder / "acks"
    for line in path.read_text().splitlines() if path.exists() else ():
        key, _, digest = line.partition(" ")
        yield key, digest


def _shown(folder: Path) -> Iterator[str]:
    """Keys of the rows that the program has said are done."""
    path = folder / "out"
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        # The newest line may have been cut by a kill; so may what follows on it.
        if line.endswith(b"}\n") and line.startswith(b"{") and line.count(b'"v"') == 1:
            told = json.loads(line)
            if told["event"] == "done":
                yield told["key"]
