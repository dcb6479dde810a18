"""Batches as decisions: who goes together, when to look, what a result means.

Rows of the batch lane gather until a group is complete (nobody came for a while),
has waited long enough, or fills a batch. A batch is then looked at seldom at first
and at last: its life is a day, and everything in it ends at once.

A request is found again by its `custom_id`, which is made of run, row and call;
and by its digest, which says whether what was asked is still what would be asked.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanout.decide.assembly import flaw_of, read_usage
from fanout.decide.fingerprint import canonical
from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.words.model import RowId
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused

LIVE, BATCH = LANES = ("live", "batch")
"""The ways out: a call of its own, or in a batch at half the price."""
POOL = "batches"
"""Stands as the pool of rows whose calls go out in batches: they share no limit
with messages."""
PRICE = 0.5
"""What a call in a batch costs, as a share of one on its own."""
REQUESTS_MAX = 4_000
"""The service takes 100,000; journaling more at once would hold up other calls."""
BYTES_MAX = 32 * 1024 * 1024
"""The service takes 256 MB; a smaller one is sent again sooner when it is cut."""
REQUEST_BYTES = 600
"""What a request has beside its texts, generously."""
QUIET_SECONDS = 2.0
"""A group is complete when nobody has come for so long."""
GATHER_SECONDS_MAX = 30.0
TRIES_MAX = 3
"""How many batches a request may expire or fail in."""
CLOCK_SKEW = 300.0
GRACE_SECONDS = 10.0
"""What was handed in and got no answer is listed by then, if it ever is."""
LOOKS_A_LIFE = 8_640
"""First looks follow each other in a day's share of that: ten seconds."""
LOOK_SECONDS = (0.5, 10.0)
"""Bounds of the first interval."""
LOOK_GROWTH = 1.3
LOOK_GROWN_MAX = 12.0
"""The interval grows to so many times the first: two minutes of a day."""
ENDED = "ended"
NAME_MAX = 300
COUNT_MAX = 10**9
"""Larger figures are mistakes of somebody's."""


@dataclass(slots=True)
class Gathering:
    """Rows that gather for a batch."""

    first: float = 0.0
    last: float = 0.0
    count: int = 0
    size: int = 0

    def join(self, now: float, size: int) -> None:
        """One more came, of so many bytes."""
        self.first = self.first if self.count else now
        self.last = now
        self.count += 1
        self.size += size + REQUEST_BYTES

    @property
    def due(self) -> float:
        """When it goes out, if nobody comes until then."""
        if self.count >= REQUESTS_MAX or self.size >= BYTES_MAX:
            return self.last
        return min(self.last + QUIET_SECONDS, self.first + GATHER_SECONDS_MAX)


def params_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's body as it stands in a batch."""
    return {name: value for name, value in body.items() if name != "stream"}


def digest_of(params: Mapping[str, Any]) -> str:
    """Name what a request asks."""
    return hashlib.sha256(canonical(params)).hexdigest()


def custom_id(run: str, row: RowId, call: int) -> str:
    """Name a request within its batch; no other run has the same."""
    name = hashlib.sha256(canonical([run, row.phase, row.key])).hexdigest()[:20]
    return f"fanout-{name}-{call}"


# -- what the service says of a batch ------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A batch as the service tells of it."""

    id: str
    status: str
    created_at: float
    """Epoch second by the service's clock; 0 where it said none that makes sense."""
    seconds: float | None
    """From its creation to its expiry."""
    took: float | None = None
    """From its creation to its end; None before, and where it is not said."""
    counts: Mapping[str, int]
    """Requests by how they ended, those that have; without `processing`."""
    total: int
    has_results: bool

    @property
    def done(self) -> int:
        """Requests that have ended, as far as the service tells before the end."""
        return sum(self.counts.values())


def read_batch(value: Any) -> Seen | None:
    """Read a batch object; None for what is none."""
    if not isinstance(value, dict) or not _is_name(value.get("id")):
        return None
    created, expires = _epoch(value.get("created_at")), _epoch(value.get("expires_at"))
    ended = _epoch(value.get("ended_at"))
    given = value.get("request_counts")
    counts = {
        name: count
        for name, count in (given if isinstance(given, dict) else {}).items()
        if isinstance(count, int) and not isinstance(count, bool)
        if 0 <= count <= COUNT_MAX
    }
    total = sum(counts.values())
    counts.pop("processing", None)
    life = expires - created if created and expires > created else None
    return Seen(
        id=value["id"],
        status=str(value.get("processing_status")),
        created_at=created,
        seconds=life,
        took=ended - created if created and ended >= created else None,
        counts=counts,
        total=total,
        has_results=isinstance(value.get("results_url"), str),
    )


def _is_name(value: Any) -> bool:
    """Whether a batch can be asked for by that."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= NAME_MAX
        and value.isprintable()
        and value not in (".", "..")
    )


def _epoch(text: Any) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return 0.0


def may_be(seen: Seen, *, planned_at: float, count: int) -> bool:
    """Say whether a listed batch may be the one that was handed in then."""
    in_time = not seen.created_at or seen.created_at >= planned_at - CLOCK_SKEW
    return in_time and seen.total == count


def next_look(looks: int, seconds: float | None, chance: Callable[[], float]) -> float:
    """Return seconds until the next look, by how long such a batch may live."""
    first = (seconds or 86_400.0) / LOOKS_A_LIFE
    first = max(LOOK_SECONDS[0], min(LOOK_SECONDS[1], first))
    grown: float = min(LOOK_GROWN_MAX, LOOK_GROWTH ** min(looks, 30))
    # Runs that began together do not knock together for a day.
    return first * grown * (0.9 + 0.2 * chance())


# -- what one result means -----------------------------------------------------------

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that a type of error has where it comes on its own."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that was not got to; it cost nothing."""

    how: str
    """`expired` or `canceled`."""


def read_result(result: Any, seconds: float) -> Outcome | Unanswered:
    """Read one result of a batch; `seconds` is how long the batch took."""
    kind = result.get("type") if isinstance(result, dict) else None
    if kind in ("expired", "canceled"):
        return Unanswered(str(kind))
    if kind == "errored":
        return _error(result.get("error"))
    message = result.get("message") if kind == "succeeded" else None
    flaw = flaw_of(message) if isinstance(message, dict) else "it is no message"
    if isinstance(message, dict) and not flaw:
        return Answered(
            message=message,
            usage=read_usage(message.get("usage")),
            request_id=message["id"] if isinstance(message.get("id"), str) else None,
            limits=Limits(),
            seconds=seconds,
        )
    return Broken(stage="stream", message=flaw, senseless=True)


def _error(body: Any) -> Refused:
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    kind = str(error.get("type"))
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    request = body.get("request_id") if isinstance(body, dict) else None
    return Refused(
        status=STATUSES.get(kind, 500),
        type=kind,
        code=code if isinstance(code, str) else None,
        # It may quote the request, and with it what nobody should read.
        message=shortened(redact(str(error.get("message") or "no text")), 300),
        retry_after=None,
        limits=Limits(),
        request_id=request if isinstance(request, str) else None,
    )
