"""The seam between the screen and the run.

The screen pulls: ten times a second it takes the newest snapshot and asks for a
fresh one. It changes nothing itself; whatever a key does goes over as a command.
No method here may wait for the run, with one exception that says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fanout.words.commands import Command
from fanout.words.model import RowId
from fanout.words.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One entry of an agent's conversation."""

    at: float
    """Wall-clock second."""
    kind: str
    """`prompt`, `text`, `tool`, `result`, `call` or `note`."""
    text: str
    """May have several lines; it is cleaned where it is drawn."""


class RunHandle(Protocol):
    """A run, live or recorded, as the screen and the plain output see it."""

    def latest(self) -> Snapshot | None:
        """The newest snapshot; thread-safe and cheap. None before the first."""

    def ask(self) -> None:
        """Have a fresh snapshot built; it arrives in `latest` within milliseconds."""

    def send(self, command: Command) -> None:
        """Hand a command over; thread-safe."""

    def transcript(self, row: RowId) -> Sequence[TranscriptLine]:
        """A row's conversation, oldest first. May read files: use a worker."""

    def finished(self) -> bool:
        """True once the run's last fact is written."""


class Viewing(Protocol):
    """How a run is looked at that does not live in this process."""

    word: str
    """`watch` or `replay`: which keys there are."""

    def note(self) -> str:
        """What the top line says of it."""

    def now(self) -> float:
        """The wall-clock second of the run that is shown."""

    def called_off(self) -> bool:
        """Whether a signal has asked this process to end."""


class Player(Protocol):
    """What steers a replay; each says what it did."""

    def toggle(self) -> str:
        """Stand still, or go on."""

    def faster(self, steps: int) -> str:
        """Faster by so many steps, or slower."""

    def real_time(self) -> str:
        """As fast as the run went."""

    def seek(self, steps: int) -> str:
        """On by so many steps, or back."""
