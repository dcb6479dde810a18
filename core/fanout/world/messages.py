"""What performers and the script's side tell the engine.

Commands (`fanout.words.commands`) come from people and signals; these come from
our own parts. A call's progress is ephemeral and ends in `Came`, whatever
happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide.forecast.outlook import Experience
from fanout.words.budgets import Budget
from fanout.words.model import MissingKind, RowId, Usage
from fanout.words.orders import AgentOrder, ClientOrder, ClientReply, RowOutcome
from fanout.words.outcome import Limits, Outcome

_NO_FILES: Mapping[str, str] = {}


def no_files() -> Mapping[str, str]:
    """Nothing by path; one for all, since nearly every row begins with it."""
    return _NO_FILES


@dataclass(frozen=True, slots=True)
class Committed:
    """The journal has synced another batch."""


@dataclass(frozen=True, slots=True)
class PhaseCame:
    """The script entered a phase."""

    phase: str
    allow_missing: str | None
    budget: Budget = Budget()


@dataclass(frozen=True, slots=True)
class ExpectCame:
    """The script declared rows ahead."""

    rows: tuple[RowId, ...]


@dataclass(frozen=True, slots=True)
class WithdrawCame:
    """Rows declared ahead are known not to come."""

    rows: tuple[RowId, ...]


@dataclass(frozen=True, slots=True)
class AgentsCame:
    """The script asked for agents."""

    orders: tuple[AgentOrder, ...]
    on_end: Callable[[RowOutcome], None]
    on_reopen: Callable[[RowId], None]


@dataclass(frozen=True, slots=True)
class ClientCame:
    """The script sent a request through `client()`."""

    order: ClientOrder
    on_reply: Callable[[ClientReply], None]


@dataclass(frozen=True, slots=True)
class ClientGone:
    """The script no longer waits for a request it sent through `client()`."""

    order: ClientOrder


@dataclass(frozen=True, slots=True)
class FinishMissing:
    """The script's side ends a row: cancelled, unproven, never started."""

    row: RowId
    kind: MissingKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCame:
    """`main` came to its end."""

    outcome: str
    text: str = ""
    value: Any = None
    usage_error: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """Headers of a call's response have come."""

    call: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class InputKnown:
    """The service has said what a call's input costs."""

    call: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Progressed:
    """A call's stream goes on."""

    row: RowId
    call: int
    output_tokens: int
    doing: str
    """The tool whose input is being written, else empty."""
    saying: str = ""
    """The text that is being written, as far as it has come."""


@dataclass(frozen=True, slots=True)
class Came:
    """A call ended; no outcome means that we gave it up."""

    row: RowId
    call: int
    outcome: Outcome | None
    sent: bool = True
    """False when it was given up before anything was sent."""


@dataclass(frozen=True, slots=True)
class BatchCame:
    """The service has answered about a batch."""

    batch: int
    step: int
    """Which step of the batch's life it belongs to."""
    told: Any
    """What `fanout.world.batch.line` gives for that step."""


@dataclass(frozen=True, slots=True)
class BatchRead:
    """Some results of a batch, as lines."""

    batch: int
    step: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsCame:
    """The tools of a turn were run."""

    row: RowId
    step: int
    """Which step of the row's work it belongs to."""
    results: tuple[Mapping[str, Any], ...]
    files_read: Mapping[str, str] = field(default_factory=no_files)
    files_written: Mapping[str, str] = field(default_factory=no_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A final answer was held against what was expected."""

    row: RowId
    step: int
    """Which step of the row's work it belongs to."""
    problem: str = ""
    """What does not fit; empty when all is well."""
    kind: MissingKind | None = None
    """Set when sending it back cannot help."""
    again: bool = False
    """The same answer may pass later: the disk was at fault."""
    value: Any = None
    output: str | None = None
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What earlier work offers for one row."""

    row: RowId
    source: str = ""
    """Run id it comes from; empty when there is nothing."""
    done: bool = False
    value: Any = None
    output: str | None = None
    sha256: str | None = None
    size: int | None = None
    files_read: Mapping[str, str] = field(default_factory=no_files)
    files_written: Mapping[str, str] = field(default_factory=no_files)
    entries: tuple[Any, ...] = ()
    """Turns to go on from, where the row was not done."""
    note: str = ""
    """What is to be said of what is reused: its output was edited."""
    again: str = ""
    """Why it runs again, or goes on, although the row is known."""
    detail: str = ""
    """More of that: the file that changed."""
    problem: str = ""
    """Why a finished result does not count where this run expects it."""
    kind: MissingKind = MissingKind.NO_OUTPUT
    """What the row then is missing for."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Earlier work was searched for these rows."""

    found: tuple[Found, ...]
    held: Mapping[str, int] = field(default_factory=dict)
    """Rows of which there are results, before anybody took one, by phase."""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """Runs of the same script on other accounts."""
    experience: Experience | None = None
    """What agents of earlier runs have used."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The script waits: what was asked of it is all that comes for now."""

    number: int
    """Of the question that this answers."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The account was asked to count openings, and has or will not."""

    counts: tuple[tuple[str, tuple[int, ...], int], ...]
    """Model, content and tokens of each."""
    failed: str
    """Why not all of them came; empty when they did."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Somebody wants a fresh snapshot."""


@dataclass(frozen=True, slots=True)
class Close:
    """Nobody lingers any more: end when the run has ended."""


@dataclass(frozen=True, slots=True)
class DiskFailed:
    """The journal could not be written; nothing is lost yet."""

    text: str


@dataclass(frozen=True, slots=True)
class Woke:
    """The machine had slept for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NoRoom:
    """An output found no room on its disk; it is tried again."""

    row: RowId
    text: str
