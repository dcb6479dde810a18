"""A run that is looked at and not worked on: watched from outside, or replayed.

Both stand behind the same seam as a live one (`bridge.RunHandle`). They read the
journal on a thread of their own and take no command: whoever looks changes nothing.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fanout.decide.transcript import transcript
from fanout.disk.lock import holder
from fanout.disk.playback import Playback
from fanout.disk.reading import Mark, follow, records_of
from fanout.disk.spans import spans
from fanout.disk.tape import Tape
from fanout.words.commands import Command
from fanout.words.model import RowId
from fanout.words.snapshot import KILLED, Snapshot
from fanout_tui.bridge import TranscriptLine
from fanout_tui.playing import Play, stretches
from fanout_tui.text import clock_time

FOLLOW_SECONDS = 0.2
STEP_SECONDS = 0.05
SEEK_SECONDS = 10.0
SEEK_PARTS = 40


class _Thread:
    """A handle whose snapshots are made by a thread; subclasses say how."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._newest: Snapshot | None = None
        self.signal = ""
        """The signal that has asked this process to end."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self) -> None:
        """Read no more."""
        self._stop.set()
        self._thread.join(timeout=5)

    def called_off(self) -> bool:
        """Whether a signal has asked this process to end."""
        return bool(self.signal)

    def latest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._newest

    def ask(self) -> None:
        """They come by themselves."""

    def send(self, command: Command) -> None:
        """Nobody is there to take it."""
        del command

    def transcript(self, row: RowId) -> Sequence[TranscriptLine]:
        """A row's conversation up to the moment that is shown."""
        snapshot = self._newest
        until = snapshot.at if snapshot is not None else 0.0
        records = (r for r in records_of(self.folder, row) if r.at <= until)
        return [TranscriptLine(s.at, s.kind, s.text) for s in transcript(records, row)]

    def _work(self) -> None:
        raise NotImplementedError


class Watched(_Thread):
    """Follows a run that another process works on, or shows how it ended."""

    word = "watch"

    def __init__(self, folder: Path, wall: Callable[[], float]) -> None:
        super().__init__(folder)
        self._wall = wall
        self._playback, self._mark = Playback(folder), Mark()
        self._opened = False
        self._dead = False
        self._over = False

    def note(self) -> str:
        """It is only watched."""
        return "WATCHING"

    def now(self) -> float:
        """The present; of a killed run the moment its last record was written."""
        snapshot = self._newest
        if snapshot is not None and snapshot.state == KILLED:
            return snapshot.at
        return self._wall()

    def finished(self) -> bool:
        """It has ended, or nobody works on it any more."""
        return self._over

    def _work(self) -> None:
        while not self._stop.is_set():
            if not self.step():
                self._stop.wait(FOLLOW_SECONDS)

    def step(self) -> bool:
        """Read what is new and show it; says whether there was anything."""
        alive = holder(self.folder) is not None
        if not self._opened:
            # All that is there at once: record by record it might be a million.
            self._playback, self._mark = Playback.opened(self.folder)
            self._opened = True
        news = follow(self.folder, self._mark)
        if news.records and self._dead:
            # Somebody has gone on with it: what was taken for its end was none.
            self._opened = self._dead = self._over = False
            return True
        self._mark = news.mark
        for record in news.records:
            self._playback.take(record)
        if self._over and not news.records:
            return False  # nothing about it has changed
        state = self._playback.state
        # Whoever let go of it just now may have written before: read once more.
        if not alive and not news.records and state.end is None and not self._dead:
            self._dead = True
            self._playback.die()
        at = state.at if self._dead else self._wall()
        self._newest = self._playback.snapshot(at, killed=self._dead)
        self._over = self._dead or state.end is not None
        return bool(news.records)


class Replayed(_Thread):
    """Plays a recorded run: pause, speed, seek."""

    word = "replay"

    def __init__(self, folder: Path, ticks: Callable[[], float]) -> None:
        """`ticks` is a clock of seconds that only goes forward."""
        super().__init__(folder)
        self._ticks = ticks
        lives = [(span.start, span.end) for span in spans(folder)]
        self._play = Play(stretches(lives or [(0.0, 0.0)]))
        self._lock = threading.Lock()
        self._behind = False

    def note(self) -> str:
        """Where it stands, and how fast it goes."""
        play = self._play
        moment = f"{clock_time(play.at)}/{clock_time(play.length)}"
        speed = f"{play.speed:g}x"
        if self._behind:
            return f"REPLAY {speed} {moment} reading"
        if play.over:
            return f"REPLAY {moment} end"
        return f"REPLAY {speed if play.going else 'stands'} {moment}"

    def now(self) -> float:
        """The moment that is shown."""
        return self._play.wall

    def finished(self) -> bool:
        """A replay can always go back."""
        return False

    # What keys do.

    def toggle(self) -> str:
        """Stand still or go on; says which."""
        self._change(Play.toggled)
        return "goes on" if self._play.going else "stands still"

    def faster(self, steps: int) -> str:
        """Change the speed; says which it is."""
        self._change(lambda play: play.faster(steps))
        return f"{self._play.speed:g} times as fast as it was"

    def real_time(self) -> str:
        """Go as fast as the run went."""
        self._change(lambda play: replace(play, speed=1.0))
        return "as fast as it was"

    def seek(self, steps: int) -> str:
        """Go back or on; says where to."""
        step = max(SEEK_SECONDS, self._play.length / SEEK_PARTS)
        self._change(lambda play: play.to(play.at + steps * step))
        return f"at {clock_time(self._play.at)} of {clock_time(self._play.length)}"

    def _change(self, how: Callable[[Play], Play]) -> None:
        with self._lock:
            self._play = how(self._play)

    # The thread.

    def _work(self) -> None:
        tape = Tape(self.folder)
        last = self._ticks()
        drawn: float | None = None
        while not self._stop.is_set():
            now = self._ticks()
            with self._lock:
                # What has still to be read first is not passed over meanwhile.
                play = self._play.on(0.0 if self._behind else now - last)
                self._play = play
            last = now
            self._behind = not tape.reach(play.wall)
            if drawn != play.at or self._behind:
                drawn = None if self._behind else play.at
                self._newest = tape.playback.snapshot(play.wall, killed=tape.killed)
            if not self._behind:
                self._stop.wait(STEP_SECONDS)
