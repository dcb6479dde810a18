"""Everything that can happen in a run, as frozen facts in the past tense.

These are the journal's records: folding them in order gives run state
(`fanout.decide.fold.state.apply`), whatever process they were written by. A fact
carries plain JSON values only. Fields named in `PAYLOADS` may be large; the
codec moves big ones into a blob beside the journal.

`DURABLE` are those that must be on disk before the world may act on them: the
intent before its send, the answer before the next turn, an end before it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.words.ahead import Forecasted, OpeningsCounted, RunsAgain
from fanout.words.batched import (
    BatchEnded,
    BatchGone,
    BatchOpened,
    BatchPlanned,
    CallSettled,
    CallTakenUp,
)
from fanout.words.model import MissingKind, Need, RowId, RowSpec, Usage
from fanout.words.observed import Observed

Json = Any
"""A JSON value: what a journal line can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeStarted:
    """A process began to work on the run; its first life creates the run."""

    run: str
    life: int
    script: str
    """Absolute path of the script."""
    arguments: tuple[str, ...]
    endpoint: str
    """Base URL of the Messages API, or `simulated:PROFILE`."""
    simulated: bool
    model: str
    version: str
    """Version of fanout-tui."""
    pid: int
    lane: str = "live"
    """Of agents that name none: `live` or `batch`."""
    prices: Json = None
    """The price table it reckons with (`decide.pricing.as_json`); None: the built-in
    one of whoever reads."""
    budgets: Mapping[str, Json] = field(default_factory=dict)
    """Tokens and dollars by phase, as the options say; the run's stand at ``""``."""
    out: str = ""
    """The folder that outputs go to, absolute; empty: `out` in the run's own."""
    fresh: bool = False
    """Nothing from before this life is reused, by it or by a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEntered:
    """The script entered a phase, or declared rows in it."""

    phase: str
    allow_missing: str | None = None
    """`N` or `P%`; None where the script stated no tolerance."""
    tokens: int | None = None
    """The phase's budget, over all lives; None is none."""
    dollars: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowExpected:
    """A partition is expected; from now on the report has a row for it."""

    row: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsExpected:
    """Many partitions are expected, in this order: each as by `RowExpected`."""

    rows: tuple[RowId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScheduled:
    """The script asked for a row; it may be worked on from now on."""

    row: RowId
    spec: RowSpec
    opening: Json
    """What `fanout.decide.conversation` needs to begin: system, prompt, tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsKept:
    """Turns of an earlier life with the same fingerprint were taken over."""

    row: RowId
    source: str
    """Run id the turns come from."""
    entries: tuple[Json, ...]
    """Conversation entries, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAdmitted:
    """Admission was given: the intent to send, durable before the send."""

    row: RowId
    call: int
    turn: int
    pool: str
    need: Need
    batch: int | None = None
    """Number of the batch it goes out in; None for a call of its own."""
    digest: str = ""
    """What names its request among those of a batch; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswered:
    """A call ended with a whole answer."""

    row: RowId
    call: int
    usage: Usage
    stop_reason: str | None
    answer: Json
    """The message's content blocks, verbatim."""
    request_id: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused:
    """A call ended without an answer and will be tried again."""

    row: RowId
    call: int
    cause: str
    """A `Cause` of the throttled kind."""
    status: int | None
    """HTTP status; 200 for an error inside a stream, None without a response."""
    message: str
    until: float | None
    """Wall-clock second before which it is not tried again."""
    request_id: str | None = None
    wasted: Usage = Usage()
    """What the service charged for nothing, as far as it said so."""
    in_doubt: Usage = Usage()
    """What it may have charged beyond that: a cut stream's unseen output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAbandoned:
    """A call in flight was given up: cancelled, stopped, or found at a restart."""

    row: RowId
    call: int
    reason: str
    in_doubt: Usage = Usage()
    """The most it can have cost."""
    wasted: Usage = Usage()
    """What it did cost, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsRan:
    """The tools an answer asked for were run."""

    row: RowId
    turn: int
    results: Json
    """`tool_result` blocks, in the order of the `tool_use` blocks."""
    files_read: Mapping[str, str] = field(default_factory=dict)
    """Absolute path to sha256, as read."""
    files_written: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSentBack:
    """An answer did not fit; the agent was told what is wrong with it."""

    row: RowId
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDone:
    """The row's output is there, whole and valid."""

    row: RowId
    value: Json
    """The answer: text, or the validated JSON."""
    output: str | None = None
    sha256: str | None = None
    size: int | None = None
    reused_from: str | None = None
    files_read: Mapping[str, str] = field(default_factory=dict)
    files_written: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMissing:
    """The row ended without its output."""

    row: RowId
    kind: MissingKind
    reason: str
    kept: Json = None
    """What it produced nevertheless: the last answer's text, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRequeued:
    """A missing row was reopened."""

    row: RowId
    fresh: bool = False
    """True: its conversation starts over; else it goes on from its last turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDropped:
    """The script, run to its end, no longer expects this row of an earlier life."""

    row: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsLearned:
    """The limits of a pool became known, or changed; per minute, None unknown."""

    pool: str
    requests: int | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingSet:
    """The user's ceiling on calls in flight; None gives it back to `auto`."""

    ceiling: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSet:
    """Somebody gave the run, or a phase, another budget; None is none."""

    tokens: int | None
    dollars: float | None
    phase: str = ""
    """Empty: the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused:
    """No new call is sent until the run is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """Calls may be sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """The run was asked to stop."""

    mode: str
    """`drain` (what flies finishes) or `now`."""
    cause: str
    """`quit`, `SIGINT`, `SIGTERM`, `SIGHUP`, `budget`, `account` or `defect`."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A line for the log: the script's prints, warnings, what was ignored."""

    source: str
    """`script`, `log`, `engine` or `screen`."""
    text: str
    row: RowId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEnded:
    """`main` came to its end."""

    outcome: str
    """`returned`, `raised`, `exited`, `incomplete` or `cancelled`."""
    text: str = ""
    """The traceback's last line, or what it said."""
    value: Json = None
    """What `main` returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The last fact of a life."""

    exit_code: int
    complete: bool
    accepted: bool


Event = (
    LifeStarted
    | PhaseEntered
    | RowExpected
    | RowsExpected
    | RowScheduled
    | RunsAgain
    | OpeningsCounted
    | Forecasted
    | TurnsKept
    | CallAdmitted
    | BatchPlanned
    | BatchOpened
    | BatchEnded
    | BatchGone
    | CallTakenUp
    | CallSettled
    | CallAnswered
    | CallRefused
    | CallAbandoned
    | ToolsRan
    | AnswerSentBack
    | RowDone
    | RowMissing
    | RowRequeued
    | RowDropped
    | LimitsLearned
    | Observed
    | CeilingSet
    | BudgetSet
    | RunPaused
    | RunResumed
    | StopAsked
    | Noted
    | ScriptEnded
    | RunEnded
)

DURABLE: tuple[type, ...] = (
    LifeStarted,
    CallAdmitted,
    BatchPlanned,
    BatchOpened,
    CallAnswered,
    ToolsRan,
    RowDone,
    RowMissing,
    StopAsked,
    ScriptEnded,
    RunEnded,
)
"""Facts that are synced to disk before anything is built upon them."""

PAYLOADS: Mapping[str, tuple[str, ...]] = {
    "RowScheduled": ("opening",),
    "TurnsKept": ("entries",),
    "CallAnswered": ("answer",),
    "ToolsRan": ("results",),
    "RowDone": ("value",),
    "RowMissing": ("kept",),
    "ScriptEnded": ("value",),
}
"""Fields that may be large, by event."""


@dataclass(frozen=True, slots=True)
class Record:
    """An event as the journal holds it."""

    seq: int
    """Number within the run, from 1, without gaps."""
    life: int
    at: float
    """Wall-clock second at which it was stamped."""
    event: Event
