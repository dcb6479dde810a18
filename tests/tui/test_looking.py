"""Watching and replaying: what is shown, and that nothing is changed by it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.disk.codec import encode
from fanout.disk.lock import RunLock
from fanout.testing.stories import Story
from fanout.words.commands import Pause
from fanout.words.events import Record, RunEnded
from fanout.words.snapshot import KILLED
from fanout_tui.keys import REPLAY, WATCH
from fanout_tui.keytable import KEYS, keys_on
from fanout_tui.playing import SPEEDS, Play, stretches
from fanout_tui.viewing import Replayed, Watched
from tui.stage import assert_golden, staged
from tui.terminal import ROOT, Terminal

LIVES = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)).map(lambda p: (p[0], p[0] + p[1])),
    min_size=1,
    max_size=4,
)


# The clock of a replay.


@given(LIVES, st.lists(st.floats(0, 1e5), max_size=20), st.sampled_from(SPEEDS))
def test_a_replay_only_goes_on_and_never_beyond_its_end(lives, steps, speed) -> None:
    play = Play(stretches(lives), speed=speed)
    before = play
    for step in steps:
        play = play.on(step)
        assert before.at <= play.at <= play.length
        assert any(start <= play.wall <= end for start, end in lives)
        before = play
    assert play.to(play.length + 1).over


def test_time_between_lives_is_left_out() -> None:
    play = Play(stretches([(100.0, 160.0), (90_000.0, 90_030.0)]))
    assert play.length == 90
    assert play.to(59).wall == 159
    assert play.to(61).wall == 90_001
    assert play.to(-5).wall == 100
    assert play.to(500).wall == 90_030


def test_speed_pause_and_beginning_again() -> None:
    play = Play(stretches([(0.0, 100.0)]))
    assert play.on(3).at == 3
    assert play.faster(2).on(3).at == 12
    assert play.faster(-1).on(3).at == 1.5
    assert play.faster(99).speed == SPEEDS[-1]
    assert play.faster(-99).speed == SPEEDS[0]
    assert play.toggled().on(50).at == 0
    again = play.to(100).toggled()
    assert (again.at, again.going) == (0, True)


# Handles.


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, list[Record]]:
    """A run's folder without a journal yet, and what happened in the run."""
    folder = tmp_path / "audit-1"
    (folder / "journal").mkdir(parents=True)
    manifest = {
        "v": 1, "run": "audit-1", "script": "/x/audit.py", "arguments": [],
        "endpoint": "simulated:demo", "simulated": True, "version": "0", "created": 1.0,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    told = [r for r in Story(5).tell(400) if r.life == 1]
    end = RunEnded(exit_code=3, complete=False, accepted=False)
    last = told[-1]
    return folder, [*told, Record(last.seq + 1, 1, last.at + 1, end)]


def write(folder: Path, records: list[Record]) -> None:
    with (folder / "journal" / "00001.jsonl").open("ab") as file:
        file.writelines(encode(record) for record in records)


def test_a_watched_run_is_followed_to_its_end(recorded) -> None:
    folder, records = recorded
    half = len(records) // 2
    run = Watched(folder, lambda: 7.0)
    lock = RunLock(folder, now=0.0)
    try:
        assert run.step() is False
        write(folder, records[:half])
        assert run.step() is True
        assert run.latest().counts.expected > 0
        assert run.step() is False
        assert not run.finished()
        write(folder, records[half:])
        assert run.step() is True
        assert run.finished()
        assert run.latest().end.exit_code == 3
    finally:
        lock.release()


def test_a_killed_run_is_shown_as_killed_until_somebody_goes_on(recorded) -> None:
    folder, records = recorded
    half = len(records) // 2
    write(folder, records[:half])
    run = Watched(folder, lambda: 7.0)
    run.step()
    run.step()
    snapshot = run.latest()
    assert snapshot.state == KILLED
    assert snapshot.counts.running == 0
    assert run.finished()
    assert run.now() == snapshot.at == records[half - 1].at
    lock = RunLock(folder, now=0.0)
    try:
        write(folder, records[half:])
        run.step()
        run.step()
        assert run.latest().state == "finished"
        assert run.latest().end.exit_code == 3
    finally:
        lock.release()


def test_watching_takes_no_command_and_writes_nothing(recorded) -> None:
    folder, records = recorded
    write(folder, records)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    run = Watched(folder, lambda: 7.0)
    run.step()
    run.send(Pause())
    run.ask()
    run.step()
    row = next(iter(run.latest().rows))
    run.transcript(row)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_replay_reaches_any_moment_and_goes_back(recorded) -> None:
    folder, records = recorded
    write(folder, records)
    ticks = iter(float(n) for n in range(10**6))
    run = Replayed(folder, lambda: next(ticks))
    run.seek(10**6)
    run.start()
    try:
        wait_for(lambda: run.latest() is not None and run.latest().end is not None)
        assert run.note().endswith("end")
        run.toggle()
        run.toggle()
        run.seek(-(10**6))
        wait_for(lambda: run.latest().end is None)
        assert run.latest().at == records[0].at
        assert "stands" in run.note()
        assert not run.finished()
    finally:
        run.close()


def wait_for(is_so) -> None:
    """Until it is so; the handle's own thread works meanwhile."""
    import threading

    pause = threading.Event()
    for _ in range(2_000):
        if is_so():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come to that")


# The screen.


class Looking:
    """A fixed way to look; as a player it keeps what it was told."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.told: list[str] = []

    def called_off(self) -> bool:
        return False

    def note(self) -> str:
        return "WATCHING" if self.word == WATCH else "REPLAY 2x 1:20/4:10"

    def now(self) -> float:
        from fanout_tui.scenes.rows import NOW

        return NOW

    def toggle(self) -> str:
        self.told.append("toggle")
        return "stands still"

    def faster(self, steps: int) -> str:
        self.told.append(f"faster {steps}")
        return "faster"

    def real_time(self) -> str:
        self.told.append("real time")
        return "as it was"

    def seek(self, steps: int) -> str:
        self.told.append(f"seek {steps}")
        return "there"


def looked_at(how: str) -> dict[str, object]:
    looking = Looking(how)
    return {"viewing": looking, "player": looking if how == REPLAY else None}


@pytest.mark.anyio
@pytest.mark.parametrize("how", [WATCH, REPLAY])
@pytest.mark.parametrize("opened", ["", "enter", "e", "l"])
async def test_no_key_reaches_the_run(how: str, opened: str) -> None:
    acting = (key for key in KEYS if not key.looks)
    names = [key.keys[0] for key in acting if key.name not in ("quit", "interrupt")]
    async with staged("running", **looked_at(how)) as stage:
        for name in names:
            if opened:
                await stage.press("escape", opened)
            await stage.press(name)
            await stage.press("y")
            if len(stage.app.screen_stack) > 3:
                await stage.press("escape")
        assert stage.handle.sent == []


@pytest.mark.anyio
async def test_the_keys_of_a_replay_steer_the_player() -> None:
    options = looked_at(REPLAY)
    player = options["player"]
    async with staged("running", **options) as stage:
        await stage.press(
            "p", "plus", "minus", "right_square_bracket", "left_square_bracket", "A"
        )
        assert player.told == [
            "toggle", "faster 1", "faster -1", "seek 1", "seek -1", "real time",
        ]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("how", [WATCH, REPLAY])
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (140, 45)])
async def test_how_it_looks(how: str, size: tuple[int, int]) -> None:
    async with staged("running", size, **looked_at(how)) as stage:
        grid = stage.grid()
        assert all(len(line) == size[0] for line in grid)
        footer = grid[-1]
        for key in keys_on("main"):
            if key.foot and not key.looks and key.name not in ("quit", "pause", "more"):
                assert f" {key.foot} " not in footer
        assert ("WATCHING" if how == WATCH else "REPLAY") in grid[0]
        assert_golden(f"{how}-{size[0]}x{size[1]}", grid)


@pytest.mark.anyio
@pytest.mark.parametrize("how", [WATCH, REPLAY])
async def test_leaving_asks_nothing(how: str) -> None:
    async with staged("running", keys=("q",), **looked_at(how)) as stage:
        assert stage.app.left == "quit"
        assert stage.handle.sent == []


@pytest.mark.anyio
async def test_a_watched_screen_stays_when_the_run_has_ended() -> None:
    async with staged("finished", **looked_at(WATCH)) as stage:
        stage.handle.over = True
        stage.app.tick()
        await stage.settle()
        assert stage.app.left == ""
        killed = replace(stage.handle.snapshot, state=KILLED)
        stage.handle.snapshot = killed
        stage.app.tick()
        await stage.settle()
        assert "KILLED" in stage.text()


# The command.


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs of a small run that has ended; nothing here changes it."""
    folder = tmp_path_factory.mktemp("ran")
    script = folder / "three.py"
    script.write_text(
        "import fanout\n"
        "async def main():\n"
        "    await fanout.parallel(fanout.agent(f'Say {n}.', key=f'part-{n}')"
        " for n in range(3))\n"
    )
    runs = folder / "runs"
    command(["--simulate", "--profile", "demo", "--no-tui", "--run-dir", str(runs), str(script)])  # fmt: skip
    return runs


def command(words: list[str], *, code: int = 0) -> str:
    paths = os.pathsep.join(map(str, (ROOT / "core", ROOT / "tui")))
    done = subprocess.run(
        [sys.executable, "-m", "fanout_tui", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_watching_a_run_that_has_ended_tells_it_in_lines(ran: Path) -> None:
    said = command(["watch", "last", "--no-tui", "--run-dir", str(ran)])
    assert "done 3" in said
    events = command(["watch", "--json", "--run-dir", str(ran)])
    names = [json.loads(line)["event"] for line in events.splitlines()]
    assert names[0] == "run"
    assert names[-1] == "end"


def test_a_replay_without_a_terminal_says_what_to_do(ran: Path) -> None:
    said = command(["replay", "--run-dir", str(ran)], code=2)
    assert "a replay needs a terminal" in said
    assert "fanout-tui watch" in said
    assert "no run" in command(["watch", "nothing", "--run-dir", str(ran)], code=2)


def test_a_replay_on_a_terminal(ran: Path) -> None:
    code = (
        "import sys\nfrom fanout_tui.__main__ import main\n"
        f"sys.argv = ['fanout-tui', 'replay', '--run-dir', {str(ran)!r}]\nmain()\n"
    )
    terminal = Terminal(code, (100, 30))
    try:
        terminal.read_until(b"REPLAY")
        terminal.read_until(b"part-2")
        for _ in range(8):
            terminal.type(b"]")
        terminal.read_until(b"FINISHED")
        terminal.type(b"q")
        assert terminal.wait() == 0
    finally:
        terminal.close()
