"""What an outcome means, for the row and for the account.

A failure has two readers. The account asks whose fault it was: `Verdict.cause`
says which hold, breaker or ceiling learns from it. The row asks whether and when
its call may be sent again: `next_try` answers with the row's own history.

Read in this order: `error_code`, then `error.type` (also of an error event in a
stream whose status was 200), then the status, then whether quota headers came
along. Texts are matched only where the service sends nothing else: too many
connections, the ramp, and a spend limit the user set.

| outcome | cause | the row |
|---|---|---|
| 429 with quota headers or `retry-after` | LIMIT | waits with its pool |
| 429 `ramp_limit_exceeded` | RAMP | the same, and the pool's slope falls |
| 429 "concurrent connections" | CONCURRENCY | the same, and the ceiling falls |
| 429 with neither | SERVER | the same, and the ceiling falls |
| 429 spend limit, 401, 402, own limit | - | `missing: account`; the run stops |
| 529, `overloaded_error` | OVERLOADED | backs off, within a budget of time |
| 408, 409, 5xx, other in-stream errors | SERVICE | the same |
| no connection, cut, stalled | NETWORK | a cut stream once at once, then the same |
| longer than a call may take | TIMEOUT | once more at once, then `missing: timeout` |
| cut after the machine slept | SLEPT | at once, as if nothing had been tried |
| every other 4xx | - | `missing: rejected` |

Limits never use up attempts: a row that met forty 429s has failed at nothing.
Trouble of the service is bounded by time and not by count, because a wall of
15 minutes at quick refusals would exhaust any count.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from fanout.words.model import Cause, MissingKind
from fanout.words.outcome import Answered, Broken, Outcome, Refused

SPEND_CODES = frozenset(
    {"enforced_spend_limit_reached", "contract_spend_limit_reached"}
)
ACCOUNT_TYPES = frozenset({"authentication_error", "billing_error"})
ACCOUNT_STATUSES = frozenset({401, 402})

CONCURRENCY_TEXT = "number of concurrent connections"
RAMP_TEXTS = ("maximum usage increase rate", "acceleration limit")
OWN_SPEND_TEXT = "you have reached your specified"

STATUS_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""The type a status stands for when the body names none (a proxy's page)."""

LIMIT_CAUSES = frozenset({Cause.LIMIT, Cause.RAMP, Cause.CONCURRENCY, Cause.SERVER})
"""The service speaks about the account: holds, no attempt used up."""
TROUBLE_CAUSES = frozenset({Cause.OVERLOADED, Cause.SERVICE, Cause.NETWORK})
"""The service speaks about itself: breaker and backoff, buckets learn nothing."""

# A call that was cut at its limit has been paid for; a second one says that it
# does not fit into that limit.
LATE_MAX = 2
# A wall of 15 minutes must end with everything done; an hour of it is news that
# a person has to hear.
TROUBLE_SECONDS_MAX = 3600.0
# Shorter, and a hundred rows knock at an overloaded service every second.
BACKOFF_SECONDS_MIN = 2.0
# Longer, and rows sleep on after the service is back.
BACKOFF_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an outcome means."""

    cause: Cause | None = None
    """Of the throttled kind; None for an answer and for a final refusal."""
    missing: MissingKind | None = None
    """Set when the row is not tried again."""
    stops_run: bool = False
    """The account refuses: nothing more is sent."""
    reason: str = ""
    """For people, without a full stop."""
    retry_after: float | None = None
    """Seconds the service asked for."""
    cut: bool = False
    """A stream that had begun broke off; no error was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """What happened so far to one call of a row; `after` gives the next one."""

    trouble_since: float | None = None
    """Monotonic second of the first of an unbroken series of service troubles."""
    troubles: int = 0
    """How many there were in that series."""
    limits: int = 0
    """Refusals for limits; they count nothing but themselves."""
    late: int = 0
    """How often it was cut because it took longer than a call may take."""

    def later(self, seconds: float) -> "Tries":
        """The history with this much time taken out of it: nobody was awake."""
        if self.trouble_since is None:
            return self
        return replace(self, trouble_since=self.trouble_since + seconds)

    def after(self, verdict: Verdict, now: float) -> "Tries":
        """The history once `verdict` has happened; an answer starts it anew."""
        if verdict.cause in LIMIT_CAUSES:
            return replace(self, limits=self.limits + 1)
        if verdict.cause in TROUBLE_CAUSES:
            since = now if self.trouble_since is None else self.trouble_since
            return replace(self, trouble_since=since, troubles=self.troubles + 1)
        if verdict.cause is Cause.SLEPT:
            return self
        return Tries(late=self.late + 1 if verdict.cause is Cause.TIMEOUT else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Whether and when a row's call may be tried again."""

    at: float | None
    """Monotonic second from which it may be queued; None: not again."""
    missing: MissingKind | None = None
    reason: str = ""


def classify(outcome: Outcome) -> Verdict:
    """Whose fault an outcome is and what follows, by everything but its text."""
    match outcome:
        case Answered():
            return Verdict()
        case Broken():
            return _broken(outcome)
        case Refused():
            return _refused(outcome)
        case _:
            assert_never(outcome)


def next_try(
    verdict: Verdict,
    history: Tries,
    now: float,
    chance: Callable[[], float],
    *,
    trouble_max: float = TROUBLE_SECONDS_MAX,
) -> Retry:
    """When the row may be queued again; `history` includes this verdict.

    For limits that is now: the pool's hold keeps the row and all its neighbours,
    so that whatever ends the hold early frees this row too.
    """
    if verdict.missing is not None:
        return Retry(at=None, missing=verdict.missing, reason=verdict.reason)
    if verdict.cause is Cause.TIMEOUT and history.late >= LATE_MAX:
        reason = f"{verdict.reason}, {history.late} times; --timeout call= allows more"
        return Retry(at=None, missing=MissingKind.TIMEOUT, reason=reason)
    if verdict.cause not in TROUBLE_CAUSES:
        return Retry(at=now, reason=verdict.reason)
    since = now if history.trouble_since is None else history.trouble_since
    if now - since > trouble_max:
        reason = f"{verdict.reason}; the service was away for {now - since:.0f} s"
        return Retry(at=None, missing=MissingKind.TIMEOUT, reason=reason)
    if verdict.cut and history.troubles <= 1:
        return Retry(at=now, reason=verdict.reason)
    wait = backoff(history.troubles, chance)
    return Retry(at=now + max(wait, verdict.retry_after or 0.0), reason=verdict.reason)


def backoff(count: int, chance: Callable[[], float]) -> float:
    """Seconds to wait after the `count`-th trouble: doubling, half of it jitter."""
    full = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_MIN * 2.0 ** min(count - 1, 10))
    return full / 2 + full / 2 * chance()


def _broken(outcome: Broken) -> Verdict:
    if outcome.slept:
        return Verdict(cause=Cause.SLEPT, reason=outcome.message)
    if outcome.limit == "call":
        return Verdict(cause=Cause.TIMEOUT, reason=outcome.message)
    what = {
        "connect": "no connection",
        "headers": "no answer to the request",
    }.get(outcome.stage, "the answer broke off")
    return Verdict(
        cause=Cause.NETWORK,
        reason=_sentence(what, outcome.message),
        cut=outcome.stage == "stream" and not outcome.timeout,
    )


def _refused(outcome: Refused) -> Verdict:
    kind = outcome.type or STATUS_TYPES.get(outcome.status, "")
    if _account_refuses(outcome, kind):
        return Verdict(
            missing=MissingKind.ACCOUNT, stops_run=True, reason=_said(outcome)
        )
    cause = _cause(outcome, kind)
    if cause is None:
        return Verdict(missing=MissingKind.REJECTED, reason=_said(outcome))
    return Verdict(cause=cause, reason=_said(outcome), retry_after=outcome.retry_after)


def _account_refuses(outcome: Refused, kind: str) -> bool:
    if outcome.code in SPEND_CODES or kind in ACCOUNT_TYPES:
        return True
    if outcome.status in ACCOUNT_STATUSES:
        return True
    text = outcome.message.lstrip().lower()
    return outcome.status == 400 and text.startswith(OWN_SPEND_TEXT)  # noqa: PLR2004


def _cause(outcome: Refused, kind: str) -> Cause | None:
    """Which of the throttled kinds it is; None for a refusal for good."""
    if outcome.code == "ramp_limit_exceeded":
        return Cause.RAMP
    if kind == "rate_limit_error":
        return _limit_cause(outcome)
    if kind == "overloaded_error":
        return Cause.OVERLOADED
    status = outcome.status
    if status < 400 or status >= 500 or status in {408, 409}:  # noqa: PLR2004
        return Cause.SERVICE
    return None


def _limit_cause(outcome: Refused) -> Cause:
    text = outcome.message.lower()
    if CONCURRENCY_TEXT in text:
        return Cause.CONCURRENCY
    if any(ramp in text for ramp in RAMP_TEXTS):
        return Cause.RAMP
    if outcome.limits.triples or outcome.retry_after is not None:
        return Cause.LIMIT
    return Cause.SERVER


def _said(outcome: Refused) -> str:
    head = f"{outcome.status} {outcome.code or outcome.type or 'without a type'}"
    return _sentence(head, outcome.message)


def _sentence(head: str, message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    return f"{head}: {text}" if text else head
