"""What goes wrong on purpose: rules, and which of them strike a request.

A rule strikes by chance, by schedule, by what the request says, by how often it
struck, or by all of them. Chance depends on the seed, the rule, the request and
how often that same request was seen, so a retry may fare better than its
predecessor and a whole run is still repeatable.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fanout.simulator import chance

REFUSALS = (
    "rate_limit", "rate_limit_no_retry_after", "ramp", "concurrency",
    "server_throttle", "spend", "contract_spend", "own_spend", "billing",
    "invalid_request", "authentication", "permission", "conflict", "too_large",
    "unprocessable",
)  # fmt: skip
"""Refused before the limiter looks: the account's or the request's own fault."""

OVERLOADS = (
    "timeout", "server_error", "bad_gateway", "unavailable", "gateway_timeout",
    "overloaded",
)  # fmt: skip
"""Refused after the limiter let it pass, at no charge: the service's fault."""

CONNECTION = ("drop", "reset_before", "slow_headers")
"""No response at all, or a late one; `seconds` says how late."""

BODIES = ("bad_json", "html")
"""Status 200 with a body that is not what it says."""

STREAMS = (
    "error_event", "clean_eof", "eof_after_delta", "close_delimited",
    "partial_frame", "cut", "cut_after_stop", "reset", "stall", "empty_body",
    "data_only", "unknown_event",
)  # fmt: skip
"""The answer begins well and then does not end well."""

HEADERS = ("missing_headers", "stale_headers", "clock_skew")
"""The rate-limit headers lie."""

LISTENER = ("refuse_connections",)
"""New connections are refused while the rule's schedule lasts."""

EXPIRY = ("expire",)
"""A request of a batch that is not got to before the batch expires."""

STAGES = {
    "refusal": REFUSALS,
    "overload": OVERLOADS,
    "connection": CONNECTION,
    "body": BODIES,
    "stream": STREAMS,
    "headers": HEADERS,
    "listener": LISTENER,
    "expiry": EXPIRY,
}

Kind = Literal[
    "rate_limit", "rate_limit_no_retry_after", "ramp", "concurrency",
    "server_throttle", "spend", "contract_spend", "own_spend", "billing",
    "invalid_request", "authentication", "permission", "timeout", "conflict",
    "too_large", "unprocessable", "server_error", "bad_gateway", "unavailable",
    "gateway_timeout", "overloaded", "drop", "reset_before", "slow_headers",
    "bad_json", "html", "error_event", "clean_eof", "eof_after_delta",
    "close_delimited", "partial_frame", "cut", "cut_after_stop", "reset", "stall",
    "empty_body", "data_only", "unknown_event", "missing_headers",
    "stale_headers", "clock_skew", "refuse_connections", "expire",
]  # fmt: skip
Endpoint = Literal[
    "messages", "count_tokens", "batches", "batch_reads", "batch_results",
    "batch_requests",
]  # fmt: skip
"""Batches are created at `batches`, looked at and cancelled at `batch_reads`; the
rules of `batch_requests` strike single requests inside them."""
Dimension = Literal["requests", "input-tokens", "output-tokens", "tokens"]


class FaultRule(BaseModel):
    """One rule: what happens (`kind`), and when."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    kind: Kind
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    from_seconds: Annotated[float, Field(ge=0, alias="from")] = 0.0
    """Seconds after the start, or after the control call that set the rule."""
    to_seconds: Annotated[float | None, Field(alias="to")] = None
    match: str | None = None
    """A regular expression searched in all text of the request."""
    match_last: str | None = None
    """A regular expression searched in the last user text."""
    row: str | None = None
    """A regular expression searched in the `x-fanout-row` header."""
    endpoint: Endpoint = "messages"
    times: Annotated[int | None, Field(gt=0)] = None
    """How often it strikes at most."""
    after_events: Annotated[int, Field(ge=0)] = 3
    """Stream faults strike after this many events."""
    seconds: float = 5.0
    """How late, how long a stall, how many seconds of skew."""
    retry_after: int | None = None
    """In place of the true one; for refusals that have none it adds one."""
    error_type: str = "overloaded_error"
    """The type inside an `error_event`."""
    dimensions: tuple[Dimension, ...] = ("input-tokens", "tokens")
    """Which triples `missing_headers` leaves out."""

    @field_validator("match", "match_last", "row")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"not a regular expression ({error})") from error
        return pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a rule may look at in a request."""

    endpoint: str
    digest: str
    """Names the request's body."""
    occurrence: int
    """How often this body was seen before."""
    text: str
    last_text: str
    row: str


class FaultPlan:
    """The rules in force since `started_at`, and how often each struck."""

    def __init__(
        self, rules: tuple[FaultRule, ...], seed: int, started_at: float
    ) -> None:
        self._rules = rules
        self._seed = seed
        self._started_at = started_at
        self._struck = [0] * len(rules)

    def strikes(self, stage: str, target: Target, now: float) -> list[FaultRule]:
        """The rules of a stage that hit this request; each counts as one strike."""
        hits: list[FaultRule] = []
        for at, rule in enumerate(self._rules):
            if rule.kind in STAGES[stage] and self._hits(at, rule, target, now):
                self._struck[at] += 1
                hits.append(rule)
        return hits

    def first(self, stage: str, target: Target, now: float) -> FaultRule | None:
        """The first rule of a stage that hits this request; only it counts."""
        for at, rule in enumerate(self._rules):
            if rule.kind in STAGES[stage] and self._hits(at, rule, target, now):
                self._struck[at] += 1
                return rule
        return None

    def has(self, stage: str) -> bool:
        """Whether there are rules of a stage at all."""
        return any(rule.kind in STAGES[stage] for rule in self._rules)

    def refuses_connections(self, now: float) -> bool:
        """Whether new connections are to be refused now."""
        return any(
            rule.kind in LISTENER and self._is_due(rule, now) for rule in self._rules
        )

    def struck(self) -> dict[str, int]:
        """How often rules struck, by kind."""
        counts: dict[str, int] = {}
        for rule, count in zip(self._rules, self._struck, strict=True):
            counts[rule.kind] = counts.get(rule.kind, 0) + count
        return counts

    def _is_due(self, rule: FaultRule, now: float) -> bool:
        elapsed = now - self._started_at
        ends = float("inf") if rule.to_seconds is None else rule.to_seconds
        return rule.from_seconds <= elapsed < ends

    def _hits(self, at: int, rule: FaultRule, target: Target, now: float) -> bool:
        if rule.endpoint != target.endpoint or not self._is_due(rule, now):
            return False
        if rule.times is not None and self._struck[at] >= rule.times:
            return False
        if not _matches(rule, target):
            return False
        luck = chance.unit(
            "fault", self._seed, at, rule.kind, target.digest, target.occurrence
        )
        return luck < rule.probability


def _matches(rule: FaultRule, target: Target) -> bool:
    pairs = (
        (rule.match, target.text),
        (rule.match_last, target.last_text),
        (rule.row, target.row),
    )
    return all(
        pattern is None or re.search(pattern, text) is not None
        for pattern, text in pairs
    )
