"""What the screen, the plain output and the report may read.

A `Snapshot` is built by the engine on its own thread and handed over whole. All
of it is frozen, so any thread may keep it. Every wait and figure in it comes
from the decision that acted (`Gate`), never from a second calculation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanout.words.ahead import Foreseen
from fanout.words.budgets import BudgetView, Short
from fanout.words.forecast import Asking, Forecast
from fanout.words.model import Cause, Dimension, Row, RowId, Status, Usage
from fanout.words.prices import Prices

CRASHED = "crashed"
"""The word for a run whose engine has failed."""
KILLED = "killed"
"""The word for a run that nobody works on and that did not come to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What does not change during a life."""

    id: str
    name: str
    """The script's file name without its suffix."""
    folder: str
    """The run directory, absolute."""
    script: str
    arguments: tuple[str, ...]
    endpoint: str
    """Base URL, or `simulated:PROFILE`."""
    simulated: bool
    model: str
    life: int
    started_at: float
    out: str = ""
    """The folder that outputs go to, absolute."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by status; their sum is the number of expected rows."""

    queued: int = 0
    running: int = 0
    throttled: int = 0
    done: int = 0
    missing: int = 0

    @property
    def expected(self) -> int:
        """All rows."""
        return self.queued + self.running + self.throttled + self.done + self.missing

    def of(self, status: Status) -> int:
        """How many rows have this status."""
        return int(getattr(self, status.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What a running row is doing this moment; not journaled."""

    cause: Cause
    """SENT, STREAMING, TOOLS or CHECKING."""
    note: str = ""
    """For people: `read_file src/a.py`, `writing findings/a.json`."""
    output_tokens: int = 0
    """Output tokens of the call so far, estimated while it streams."""
    active_at: float = 0.0
    """When something last happened: a delta, a ping, a tool's end."""
    grown_at: float = 0.0
    """When output last grew; pings do not count. 0 where there is no call."""
    silence_max: float = 0.0
    """Seconds of silence after which the call is cut; 0 where there is none."""
    said: str = ""
    """The text that the answer is writing, as far as it has come; not cleaned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketView:
    """One limit of a pool as admission sees it."""

    dimension: Dimension
    limit: int | None
    """Per minute, as the service said; None until it has said so."""
    capacity: float | None
    """The burst the service takes at once; None until learned."""
    free: float | None
    """What may still be reserved now; below 0 in debt. None while unknown."""
    spent: int
    """Charged in the trailing 60 s."""
    held: int
    """Reserved by calls in flight and not yet charged."""
    forecast: int
    """What the trailing-60-s spend is expected to be 15 s from now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """One pool: models that share limits."""

    name: str
    models: tuple[str, ...]
    buckets: tuple[BucketView, ...]
    """Requests, input, output, in this order."""
    cached: int = 0
    """Input tokens read from the prompt cache in the trailing 60 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The last decision about a pool's queue: why its head waits, until when."""

    pool: str
    waiting: tuple[RowId, ...]
    """Rows in the order in which they will be admitted."""
    cause: Cause | None
    """Why the head waits; None when nothing waits."""
    until: float | None
    """Wall-clock second at which the head can go, where known."""
    detail: str = ""
    """Figures for people: `needs 42k, 12k free`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingView:
    """The ceiling on calls in flight."""

    limit: int
    """What holds now: the smaller of the adaptive figure and the user's."""
    user: int | None
    """The user's figure; None is `auto`."""
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over all rows and all lives of the run."""

    useful: Usage = Usage()
    wasted: Usage = Usage()
    in_doubt: Usage = Usage()
    overhead: Usage = Usage()
    refusals_429: int = 0
    refusals_529: int = 0
    reused: int = 0
    """Rows whose result was taken over without spending."""
    dollars: float | None = 0.0
    """What the useful, wasted and overhead tokens cost; None: a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of the event log."""

    number: int
    at: float
    level: str
    """`info`, `warning` or `error`."""
    text: str
    row: RowId | None = None
    said: bool = True
    """Somebody said it: the script, a log call, the engine. False for the line
    of a fact that the snapshot shows by itself."""
    phase: str | None = None
    """The phase that was entered, where that is what the line says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How the life ended."""

    at: float
    """Wall-clock second of its end; of a run broken off, of its last fact."""
    exit_code: int | None
    """None: it was killed, and left none."""
    complete: bool
    accepted: bool
    reason: str
    """The cause, or else what the counts say: one sentence, without a full stop."""
    word: str = "incomplete"
    """What it is called where it is not complete: `script raised`."""
    cause: str = ""
    """Why it ended before everything was done; empty when nothing cut it short."""
    finish: str
    """The command that finishes the run; empty when it is complete."""
    result: str = ""
    """What `main` returned, as it is printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run at one moment."""

    at: float
    """Wall-clock second."""
    run: RunInfo
    state: str
    """`starting`, `running`, `paused`, `draining`, `stopping`, `finished`, `crashed`;
    from a journal alone also `killed`."""
    rows: Mapping[RowId, Row]
    """In the order in which they were expected."""
    counts: Counts
    phases: tuple[str, ...]
    """In the order in which they were entered."""
    live: Mapping[RowId, Live] = field(default_factory=dict)
    pools: tuple[PoolView, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    """By pool."""
    ceiling: CeilingView = CeilingView(limit=1, user=None, in_flight=0)
    totals: Totals = Totals()
    log: tuple[LogLine, ...] = ()
    """The newest lines, oldest first."""
    end: RunEnd | None = None
    disk: str = ""
    """What a disk refuses, while it does: nothing new is sent."""
    again: Mapping[RowId, str] = field(default_factory=dict)
    """Rows that run again although earlier work knows them, and why."""
    foreseen: Foreseen | None = None
    """What this life was said to take."""
    left: Forecast | None = None
    """What is left to do, as far as it is known; None before anything was said."""
    asking: Asking | None = None
    """What somebody is asked before more is spent."""
    prices: Prices = Prices()
    """What the run reckons with."""
    budget: BudgetView = BudgetView()
    """The run's."""
    phase_budgets: Mapping[str, BudgetView] = field(default_factory=dict)
    """Of the phases that have one."""
    shorts: tuple[Short, ...] = ()
    """What somebody is asked where a budget lets nothing more through, oldest first."""
