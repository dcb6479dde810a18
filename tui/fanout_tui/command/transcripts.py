"""The run as the screen holds it: the engine's thread, and transcripts from disk."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fanout.decide.transcript import transcript
from fanout.disk.reading import read
from fanout.words.commands import Command
from fanout.words.model import RowId
from fanout.words.snapshot import Snapshot
from fanout.world.threads import RunThread
from fanout_tui.bridge import TranscriptLine


class Handle:
    """A live run, as screens, plain output and signal handlers hold it."""

    def __init__(
        self, thread: RunThread, folder: Path, painted: Callable[[], None]
    ) -> None:
        """`painted` is called whenever a screen asks, which it does once drawn."""
        self._thread = thread
        self._folder = folder
        self._painted = painted
        self._dump = False

    def latest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._thread.latest()

    def ask(self) -> None:
        """Have a fresh snapshot built."""
        self._painted()
        self._thread.ask()

    def send(self, command: Command) -> None:
        """Hand a command over."""
        self._thread.send(command)

    def finished(self) -> bool:
        """The engine has ended."""
        return self._thread.finished()

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
        records = read(self._folder)
        return [TranscriptLine(s.at, s.kind, s.text) for s in transcript(records, row)]
