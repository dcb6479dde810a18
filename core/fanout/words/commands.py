"""What may be asked of the engine, in the imperative.

Keys, signals and scripts send these; only the engine acts on them.
"""

from dataclasses import dataclass

from fanout.words.model import RowId


@dataclass(frozen=True, slots=True)
class Pause:
    """Send no new call; what flies goes on."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Send calls again."""


@dataclass(frozen=True, slots=True)
class SetCeiling:
    """Hold calls in flight to `ceiling`; None gives it back to `auto`."""

    ceiling: int | None


@dataclass(frozen=True, slots=True)
class ChangeCeiling:
    """Raise or lower the ceiling by `by`, from the figure that holds now."""

    by: int


@dataclass(frozen=True, slots=True)
class Requeue:
    """Reopen missing rows; None means all of them."""

    rows: tuple[RowId, ...] | None = None


@dataclass(frozen=True, slots=True)
class CancelRow:
    """End one row as `missing: cancelled`."""

    row: RowId


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the run: `drain` lets what flies finish, `now` does not."""

    mode: str
    cause: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Put a line into the log."""

    source: str
    text: str
    row: RowId | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a question about what is to be spent (`Asking`)."""

    number: int
    """Of the question; one that was replaced meanwhile stays open."""
    yes: bool
    """False stops the run."""


@dataclass(frozen=True, slots=True)
class RaiseBudget:
    """Set a budget anew; None leaves a figure as it is."""

    tokens: int | None = None
    dollars: float | None = None
    phase: str = ""
    """Whose; empty: the run's."""


@dataclass(frozen=True, slots=True)
class KeepBudget:
    """Leave a phase's budget as it is: what waits for it ends missing."""

    phase: str


@dataclass(frozen=True, slots=True)
class Export:
    """Write the completeness report now, in the format each suffix names."""

    paths: tuple[str, ...]
    """Empty: one of each format in the run directory."""


Command = (
    Pause
    | Resume
    | SetCeiling
    | ChangeCeiling
    | Requeue
    | CancelRow
    | Stop
    | Note
    | Answer
    | RaiseBudget
    | KeepBudget
    | Export
)
