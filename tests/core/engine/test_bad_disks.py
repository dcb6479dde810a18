"""Whole runs on disks that fail: at every single call, once and for a while."""

import asyncio
import errno
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.engine.bench import INFO, Bench, order
from fanout.disk.harvest import Harvest
from fanout.disk.payloads import Payloads
from fanout.disk.reading import fold, read
from fanout.disk.reserve import BYTES, Reserve, no_room
from fanout.disk.reuse import Reuse
from fanout.errors import FanoutError
from fanout.testing.bad_disks import FailingFiles
from fanout.testing.inline_journal import InlineJournal
from fanout.testing.scripted_api import ScriptedApi, answered, tool_use
from fanout.words.commands import Stop
from fanout.words.events import RowDone
from fanout.words.model import Cause, MissingKind, Status
from fanout.words.orders import RowOutcome
from fanout.words.tools import ToolResult
from fanout.world import messages as said
from figures import record_figure

ROWS = 4
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
RESERVE = 4_096
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a call fails is the question; nobody cuts the power of these disks."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)


class Looks:
    """A tool that costs nothing."""

    name = "look"
    description = "looks"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=json.dumps(arguments))


def reply(body: Mapping[str, Any], _: int) -> Any:
    return tool_use("look", {}) if len(body["messages"]) == 1 else answered()


class Run(Bench):
    """One life on the real journal, with a disk that fails as told."""

    def __init__(
        self, folder: Path, files: FailingFiles, *, life: int = 1, **more: Any
    ) -> None:
        self.folder = folder
        self.files = files
        self.acked: list[str] = []
        self.lost: list[str] = []
        state = fold(folder).state if life > 1 else None
        journal = InlineJournal(
            folder,
            life=life,
            last_seq=state.seq if state is not None else 0,
            files=files,
            on_commit=lambda _: self.core.put(said.Committed()),
            on_error=lambda e: self.core.put(said.DiskFailed(str(e))),
            reserve=Reserve(folder, files, RESERVE),
        )
        super().__init__(
            ScriptedApi(reply), folder / "out", journal=journal, state=state, **more
        )
        self.life = life
        self.closed: OSError | None = None

    def begin(self) -> None:
        journal: Any = self.journal
        try:
            journal.start()
        except OSError:
            journal.start()

    def go(self, *prepare: Callable[[], None], script: bool = True) -> int:
        self.begin()
        self.schedule(*(order(f"k{n}", tools=(Looks(),)) for n in range(ROWS)))
        if script:
            self.returns()
        code = self.run(*prepare)
        for _ in range(3):
            try:
                self.journal.close()
            except OSError as error:
                self.closed = error
            else:
                self.closed = None
                break
        return code

    def _on_end(self, outcome: RowOutcome) -> None:
        """What the script is told must be on the disk by then."""
        super()._on_end(outcome)
        kept = {r.event.row for r in read(self.folder) if isinstance(r.event, RowDone)}
        if outcome.done:
            self.acked.append(outcome.row.key)
            if outcome.row not in kept:
                self.lost.append(outcome.row.key)

    def check(self) -> None:
        assert not self.lost

    def same_on_disk(self) -> bool:
        state = fold(self.folder).state
        return (state.rows, state.counts) == (self.state.rows, self.state.counts)


def harvested(folder: Path) -> Reuse:
    harvest, reading = Harvest(INFO.id, Payloads(folder)), read(folder)
    for record in reading:
        harvest.take_in(record, reading.where)
    reuse = Reuse()
    reuse.add([harvest])
    return reuse


def failing(k: int, code: int, mended: Callable[[int], bool]) -> FailingFiles:
    """The k-th call fails, and so do those after it until it is `mended`."""
    error = OSError(code, os.strerror(code))
    return FailingFiles(lambda n: error if n >= k and not mended(n) else None)


def now() -> float:
    """Virtual seconds; the end of time once the run is over."""
    if asyncio._get_running_loop() is None:
        return math.inf
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("code", CODES, ids=[errno.errorcode[c] for c in CODES])
def test_one_fault_at_any_call_of_a_run_loses_nothing(
    tmp_path: Path, code: int
) -> None:
    k, failed = 1, True
    while failed:
        files = failing(k, code, lambda n, k=k: n > k)  # type: ignore[misc]
        run = Run(tmp_path / str(k), files)
        assert run.go() == 0, k
        assert len(run.api.bodies) == 2 * ROWS, k
        assert run.same_on_disk(), k
        failed = files.failed > 0
        k += 1
    assert k > 60
    record_figure(
        "a disk that fails at one call of a run, for every call",
        "0 acknowledged lost, nothing sent twice",
        k - 2,
        unit="calls x errors, 0 lost",
    )


@pytest.mark.parametrize("code", CODES, ids=[errno.errorcode[c] for c in CODES])
def test_a_disk_that_is_bad_for_a_minute_stops_admission_and_loses_nothing(
    tmp_path: Path, code: int
) -> None:
    k, failed = 3, True
    while failed:
        began: list[float] = []

        def mended(_: int, began: list[float] = began) -> bool:
            began.append(now())
            return now() > began[0] + 60.0 or began[0] == math.inf

        files = failing(k, code, mended)
        run = Run(tmp_path / str(k), files)
        causes: set[Cause | None] = set()

        def look(run: Run = run, causes: set[Cause | None] = causes) -> None:
            shown = run.engine.publisher.build()
            if shown.disk:
                causes.update(gate.cause for gate in shown.gates.values())

        def prepare(run: Run = run, look: Callable[[], None] = look) -> None:
            for second in range(1, 50, 3):
                run.at(second, look)

        assert run.go(prepare) == 0, k
        assert len(run.api.bodies) == 2 * ROWS, k
        assert run.same_on_disk(), k
        failed = files.failed > 0
        if failed:
            quiet = [t for t in run.api.times if began[0] < t < began[0] + 59]
            assert not quiet, (k, quiet)
            assert causes <= {Cause.DISK}
        k += 7
    record_figure(
        "a disk that is bad for a minute, from many calls on",
        "nothing sent meanwhile, 0 lost, goes on by itself",
        k // 7,
        unit="runs, 0 lost",
    )


def test_a_run_that_was_stopped_on_a_full_disk_is_resumed_after_repair(
    tmp_path: Path,
) -> None:
    k, failed = 8, True
    while failed:
        folder = tmp_path / str(k)
        first = Run(folder, failing(k, errno.ENOSPC, lambda _: False))

        def stop(first: Run = first) -> None:
            first.at(30.0, lambda: first.core.post(Stop("drain", "SIGINT")))

        code = first.go(stop, script=False)
        assert code == 130
        failed = first.files.failed > 0
        assert (first.closed is not None) == failed
        kept = fold(folder).state
        good = FailingFiles(lambda _: None)
        again = Run(folder, good, life=2, earlier=harvested(folder))
        assert again.go() == 0
        assert again.state.counts.done == ROWS
        assert {r.status for r in fold(folder).state.rows.values()} == {Status.DONE}
        turns = sum(row.tally.turns for row in kept.rows.values())
        # Of a conversation that was kept, only what was missing is sent.
        assert len(again.api.bodies) == 2 * ROWS - turns, k
        k += 11


def test_nobody_watches_a_run_on_a_disk_that_stays_bad(tmp_path: Path) -> None:
    """It waits for five minutes, and stops with the disk's words."""
    run = Run(tmp_path, failing(20, errno.EROFS, lambda _: False), patience=300.0)
    assert run.go(script=False) == 3
    assert 300.0 < run.clock_at_end() < 340.0
    assert run.state.stop is not None
    assert "Read-only file system" in run.state.stop.reason
    assert run.closed is not None
    (told,) = run.cancelled
    assert "the journal cannot be written" in told


def test_the_room_that_was_kept_takes_what_flies_and_no_more(tmp_path: Path) -> None:
    """With room for the last facts but for no new ones, what flies is still kept."""
    full = [False]
    freed: list[float] = []

    class Small(FailingFiles):
        def close(self, fd: int) -> None:
            size = os.fstat(fd).st_size
            super().close(fd)
            if full[0] and size >= RESERVE:
                freed.append(now())

    def fails(_: int) -> OSError | None:
        room = bool(freed) and not holding()
        return NO_SPACE if full[0] and not room else None

    def holding() -> bool:
        journal: Any = run.journal
        return bool(journal._reserve._path.exists())

    files = Small(fails)
    run = Run(tmp_path, files)
    shown: list[tuple[float, str, int]] = []

    def look() -> None:
        built = run.engine.publisher.build()
        shown.append((now(), built.disk, built.ceiling.in_flight))

    def prepare() -> None:
        run.at(1.2, lambda: full.__setitem__(0, True))
        for second in range(2, 40):
            run.at(second + 0.1, look)
        run.at(40.0, lambda: full.__setitem__(0, False))

    assert run.go(prepare) == 0
    assert freed
    held = [s for s in shown if 4 < s[0] < 39]
    assert all(disk and not flying for _, disk, flying in held)
    assert run.same_on_disk()
    assert len(run.api.bodies) == 2 * ROWS
    assert not [t for t in run.api.times if freed[0] + 1 < t < 40]


def test_a_reserve_is_there_and_has_no_name(tmp_path: Path) -> None:
    before = os.statvfs(tmp_path).f_bfree
    one = Reserve(tmp_path)
    assert one.hold()
    assert one.held
    assert list(tmp_path.iterdir()) == []
    assert os.fstat(one._fd).st_size == BYTES
    assert os.fstat(one._fd).st_blocks * 512 >= BYTES
    one.free()
    one.free()
    assert not one.held
    assert before > 0


@pytest.mark.parametrize("k", range(1, 6))
def test_a_reserve_that_cannot_be_had_leaves_nothing(tmp_path: Path, k: int) -> None:
    files = failing(k, errno.EDQUOT, lambda n: n > k)
    one = Reserve(tmp_path, files, RESERVE)
    held = one.hold()
    assert one.held == held
    one.free()
    assert list(tmp_path.iterdir()) == [] or held


def test_want_of_room_is_seen_behind_other_errors() -> None:
    outer = FanoutError("the output cannot be written")
    outer.__cause__ = ValueError("refused")
    outer.__cause__.__context__ = NO_SPACE
    assert no_room(outer)
    assert not no_room(FanoutError("x"))
    assert not no_room(OSError(errno.EIO, "x"))


def test_an_output_without_room_waits_and_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ScriptedApi(lambda *_: answered("the report"))
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}", output=f"k{n}.md") for n in range(80)))
    bench.returns()
    folder = bench.engine.desks.agents._performers._folder
    write = folder.write
    full = [True]

    def refuses(relative: str, data: bytes) -> Any:
        if full[0]:
            raise FanoutError("no room for the output") from NO_SPACE
        return write(relative, data)

    monkeypatch.setattr(folder, "write", refuses)
    told: list[str] = []

    def prepare() -> None:
        bench.at(20.0, lambda: told.append(bench.engine.publisher.build().disk))
        bench.at(20.1, lambda: told.append(str(len(api.bodies))))
        bench.at(60.0, lambda: full.__setitem__(0, False))

    assert bench.run(prepare) == 0
    assert told[0] == "no room for the output"
    assert int(told[1]) < 40
    assert len(api.bodies) == 80
    assert len(list(tmp_path.glob("*.md"))) == 80


def test_an_output_without_room_does_not_hold_a_stop_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered("x")), tmp_path)
    bench.schedule(order("a", output="a.md"))
    folder = bench.engine.desks.agents._performers._folder

    def refuses(*_: Any) -> Any:
        raise FanoutError("no room for the output") from NO_SPACE

    monkeypatch.setattr(folder, "write", refuses)
    stop = lambda: bench.core.post(Stop("drain", "SIGINT"))  # noqa: E731
    assert bench.run(lambda: bench.at(10.0, stop)) == 130
    assert bench.clock_at_end() < 14.0
    (row,) = bench.state.rows.values()
    assert row.end is not None
    assert (row.end.kind, row.end.reason) == (
        MissingKind.NO_OUTPUT,
        "no room for the output",
    )
