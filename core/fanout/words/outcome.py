"""How a call to the Messages API can come back, and what was learned on the way.

The API side turns bytes into these; what they mean for the row and for the
account is decided elsewhere (`fanout.decide.admission.retry`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.words.model import NO_USAGE, Dimension, Usage


@dataclass(frozen=True, slots=True)
class Triple:
    """One `anthropic-ratelimit-*` triple as sent; each part may be absent."""

    limit: int | None
    remaining: int | None
    """Rounded to 1,000 for tokens, never below 0."""
    reset: float | None
    """Epoch second at which the bucket is full again, by the server's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The rate-limit headers of one response."""

    triples: Mapping[Dimension, Triple] = field(default_factory=dict)
    date: float | None = None
    """The server's clock (epoch seconds, whole)."""
    ignored: tuple[str, ...] = ()
    """Headers that made no sense, for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A whole answer: `message_stop` was seen, or a stop reason."""

    message: Mapping[str, Any]
    """The Message object as JSON."""
    usage: Usage
    request_id: str | None
    limits: Limits
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The service said no: an HTTP error, or an error event inside a stream."""

    status: int
    """HTTP status; 200 for an error event inside a stream."""
    type: str | None
    """`error.type`, for instance `rate_limit_error`."""
    code: str | None
    """`error.details.error_code`."""
    message: str
    retry_after: float | None
    """Seconds, whichever form it was sent in; None when absent."""
    limits: Limits
    request_id: str | None
    body: str = ""
    """The body as sent, for whoever wants to see it unchanged."""
    usage: Usage = NO_USAGE
    """What a stream had reported before it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """No answer and no error: the connection failed, stalled or was cut."""

    stage: str
    """`connect`, `headers` (sent, nothing came) or `stream`."""
    message: str
    timeout: bool = False
    limit: str = ""
    """The timeout that cut it: `connect`, `first-byte`, `idle` or `call`."""
    slept: bool = False
    """It was cut because the machine had slept: the connection was dead."""
    senseless: bool = False
    """What came is no answer at all; it was paid for all the same."""
    usage: Usage = NO_USAGE
    """What the stream had reported before it broke; input is charged by then."""
    limits: Limits = Limits()
    request_id: str | None = None


Outcome = Answered | Refused | Broken
