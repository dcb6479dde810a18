"""The run as the screen holds it: the engine's thread, and transcripts from disk."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fanout.decide.transcript import transcript
from fanout.disk.reading import records_of
from fanout.words.commands import Command, Export, Stop
from fanout.words.model import RowId
from fanout.words.snapshot import CRASHED, LogLine, Snapshot
from fanout.world.threads import RunThread
from fanout_tui.bridge import TranscriptLine
from fanout_tui.command.reports import export

STOP_SECONDS_MAX = 3.5
"""How long an engine may take to stop at once when it stands still meanwhile."""
STANDS_SECONDS = 1.5
BUSY_SECONDS_MAX = 15.0
"""How long when it does not."""


class Handle:
    """A live run, as screens, plain output and signal handlers hold it."""

    def __init__(
        self,
        thread: RunThread,
        folder: Path,
        awake: Callable[[], float],
    ) -> None:
        """`awake` gives seconds that only go forward."""
        self._thread = thread
        self._folder = folder
        self._awake = awake
        self._dump = False
        self._hurried_at: float | None = None
        self._seen = (-1, 0.0)
        self._after: Snapshot | None = None
        """The engine's last snapshot once it has crashed, and what was said since."""
        self.stop_cause = ""
        """Why the run was last asked to stop from here."""

    def latest(self) -> Snapshot | None:
        """The newest snapshot, with what was done from here since."""
        return self._after or self._thread.latest()

    def ask(self) -> None:
        """Have a fresh snapshot built."""
        self._thread.ask()

    def send(self, command: Command) -> None:
        """Hand a command over."""
        if isinstance(command, Stop):
            self.stop_cause = command.cause
            if command.mode == "now" and self._hurried_at is None:
                self._hurried_at = self._awake()
        latest = self.latest()
        if isinstance(command, Export) and latest and latest.state == CRASHED:
            # Nobody else is there to do it, or to say so.
            for text in export(latest, command.paths):
                latest = _with_line(latest, text)
            self._after = latest
            return
        self._thread.send(command)

    def finished(self) -> bool:
        """The engine has ended, or is not waited for any longer."""
        return self._thread.finished() or self.overdue()

    def overdue(self) -> bool:
        """It was to stop at once, and does not come to it.

        An engine that still gets somewhere (it writes the ends of many rows) has
        more time than one that stands still.
        """
        if self._hurried_at is None or self._thread.finished():
            return False
        now = self._awake()
        facts = self._thread.facts
        if facts != self._seen[0]:
            self._seen = (facts, now)
        waited = now - self._hurried_at
        stands = now - self._seen[1] > STANDS_SECONDS
        return waited > BUSY_SECONDS_MAX or (waited > STOP_SECONDS_MAX and stands)

    def wait(self, seconds: float) -> bool:
        """Wait for the engine's end, at most so long."""
        return self._thread.wait(seconds)

    def request_dump(self) -> None:
        """Somebody wants to know what every row waits for."""
        self._dump = True

    def take_dump_request(self) -> bool:
        """Say once that somebody wanted to know."""
        wanted, self._dump = self._dump, False
        return wanted

    def transcript(self, row: RowId) -> Sequence[TranscriptLine]:
        """A row's conversation, read from the journal."""
        records = records_of(self._folder, row)
        return [TranscriptLine(s.at, s.kind, s.text) for s in transcript(records, row)]


def _with_line(snapshot: Snapshot, text: str) -> Snapshot:
    """The snapshot with a line more in its log."""
    number = snapshot.log[-1].number + 1 if snapshot.log else 1
    line = LogLine(number=number, at=snapshot.at, level="info", text=text)
    return replace(snapshot, log=(*snapshot.log, line))
