"""The nouns: rows, their states, usage, and what a row waits for.

Everything here is frozen and holds plain values, so that a snapshot of run
state is a shallow copy and may be read from any thread. `Row` is split into
parts that change together (spec, tally, flight, end): an event replaces one
small part, which keeps a fold of a million events within seconds.

Times named `at`, `since` or `..._at` are wall-clock seconds since the epoch and
serve display only. Whoever schedules uses the monotonic `now` of its caller.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class RowId(NamedTuple):
    """Names one row: a key is unique within its phase."""

    phase: str
    key: str

    def __str__(self) -> str:
        return f"{self.phase}/{self.key}"


class Status(StrEnum):
    """Where a row stands; only the last two are final."""

    QUEUED = "queued"
    """Waits for our own reasons: order, a bucket, the ceiling, pause, budget."""
    RUNNING = "running"
    """A call is in flight, tools run, or its output is being checked."""
    THROTTLED = "throttled"
    """Waits because the service said so: 429, 529, 5xx, or no network."""
    DONE = "done"
    MISSING = "missing"


class MissingKind(StrEnum):
    """Why a row is missing; the words are part of the report's contract."""

    REJECTED = "rejected"
    """The API refused the request for good (4xx)."""
    REFUSED = "refused"
    """The model refused (`stop_reason: refusal`)."""
    TRUNCATED = "truncated"
    """Cut by `max_tokens`, the context window, or the limit on turns."""
    INVALID = "invalid"
    """The answer does not fit the schema, also after corrections."""
    NO_OUTPUT = "no output"
    """The agent ended and the expected output is absent or empty."""
    STALE = "stale"
    """Made from a hole that was filled later."""
    UPSTREAM = "upstream"
    """Given a missing result as its input; nothing was spent."""
    SCRIPT = "script"
    """The script ended or raised before this row could end."""
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    BUDGET = "budget"
    ACCOUNT = "account"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    """The process was killed; what was in flight is in doubt."""
    NEVER_STARTED = "never started"
    UNPROVEN = "unproven"
    """Not sent because none of the first few (`prove=N`) was done."""


class Dimension(StrEnum):
    """One kind of limit of a pool, each counted per minute."""

    REQUESTS = "requests"
    INPUT = "input tokens"
    """Uncached input and cache writes; cache reads are free."""
    OUTPUT = "output tokens"


class Cause(StrEnum):
    """What a row waits for, or what it is doing; one word list for all places."""

    # queued: our own reasons
    REQUESTS = "requests"
    INPUT = "input tokens"
    OUTPUT = "output tokens"
    CEILING = "ceiling"
    BEHIND = "behind"
    LEARNING = "learning limits"
    WARMING = "cache warming"
    SPACING = "spacing"
    HOLD = "hold"
    BREAKER = "overload hold"
    OFFLINE = "offline"
    """No connection to the service; one call at a time asks for one."""
    PAUSED = "paused"
    BUDGET = "budget"
    STOPPING = "stopping"
    EXPECTED = "not started"
    SCRIPT = "the script"
    """A client's row between two calls of the script."""
    DISK = "the disk"
    """The journal cannot be written; nothing is sent that could not be kept."""
    GATHERING = "gathers for a batch"
    ANSWER = "waits for your answer"
    """What it will cost was said; somebody is asked whether it may."""
    # throttled: the service's reasons
    LIMIT = "429 limit"
    RAMP = "429 ramp"
    CONCURRENCY = "429 connections"
    SERVER = "429 server"
    OVERLOADED = "529 overloaded"
    SERVICE = "service error"
    NETWORK = "no network"
    CUT = "connection cut"
    """It stood, and broke off before the whole answer was there."""
    TIMEOUT = "call timeout"
    """The call was alive and did not come to its end in the time it was given."""
    SLEPT = "the machine slept"
    """The call was cut after a sleep; it is sent again at once."""
    # running
    SENT = "sent"
    STREAMING = "streaming"
    TOOLS = "tools"
    CHECKING = "checking output"
    BATCH = "in a batch"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls, in the API's four classes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
        )

    @property
    def charged_input(self) -> int:
        """What the input bucket is charged: everything but cache reads."""
        return self.input_tokens + self.cache_creation_input_tokens

    @property
    def total(self) -> int:
        """All four classes together."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_input_tokens
            + self.cache_creation_input_tokens
        )

    def as_dict(self) -> dict[str, int]:
        """The four classes by the API's own names."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
        }


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Need:
    """What a call is expected to use: the reservation, and the worst case."""

    input: int
    """Uncached input tokens, cache writes included."""
    output: int
    """Output tokens such calls have really used."""
    worst_output: int
    """`max_tokens` of the request: what a budget reserves."""
    cached: int = 0
    """Tokens expected to be read from the prompt cache; no bucket is charged."""

    @property
    def worst(self) -> Usage:
        """The most the call can use, as far as its input was estimated right."""
        return Usage(self.input, self.worst_output, self.cached)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpec:
    """What a row was asked to produce; fixed once it is scheduled."""

    kind: str
    """`agent` or `client` (a call made through `client()`)."""
    model: str
    pool: str
    fingerprint: str
    """Hex digest of everything that determines the answer, with its version."""
    output: str | None = None
    """Relative path of the expected output, below the output folder."""
    schema: bool = False
    max_tokens: int
    max_turns: int
    estimate: int
    """Expected input tokens of the first call."""
    size: int = 0
    """Bytes of the first call."""
    reads: int = 0
    """Bytes of the files that its tools are pointed at."""
    tools: bool = False
    content: tuple[int, ...] = ()
    """What the first call is made of, for forecasts (`fanout.decide.parts.content`)."""
    reading: tuple[int, ...] = ()
    """What the files are likely to hold that its tools are pointed at."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a row has cost over all lives of the run."""

    turns: int = 0
    """Turns finished in the conversation that counts."""
    attempts: int = 0
    """Attempts at the server, refused ones included."""
    refusals_429: int = 0
    refusals_529: int = 0
    useful: Usage = NO_USAGE
    wasted: Usage = NO_USAGE
    in_doubt: Usage = NO_USAGE
    """Worst case of calls that were in flight at a kill."""
    dollars: float | None = 0.0
    """What the useful and the wasted cost; None once a price was unknown."""
    doubt_dollars: float | None = 0.0
    """The most that what is in doubt may have cost, each call at its lane's price."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A call in flight: admitted, not yet ended."""

    call: int
    """Number of the call within the run."""
    turn: int
    need: Need
    at: float
    batch: int | None = None
    """Number of the batch it is in; None for a call of its own."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a row waits for, from the decision that made it wait."""

    cause: Cause
    until: float | None = None
    """Wall-clock second at which it is tried again, where known."""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a row ended in this life."""

    kind: MissingKind | None = None
    """None for a done row."""
    reason: str = ""
    output: str | None = None
    sha256: str | None = None
    size: int | None = None
    reused_from: str | None = None
    """Id of the run whose result this is, when nothing was spent for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One expected partition."""

    id: RowId
    order: int
    """Position in which rows were first expected, from 0."""
    status: Status
    since: float
    """When this status began."""
    spec: RowSpec | None = None
    tally: Tally = Tally()
    flight: Flight | None = None
    wait: Wait | None = None
    end: End | None = None
    life: int = 1
    """Life of the run in which the script last declared this row."""
    started_at: float | None = None
    """When the first call of this life was admitted."""
    worked: float = 0.0
    """Seconds it was running, over all lives, up to its last wait or end; time in a
    batch does not count."""
