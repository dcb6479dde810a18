"""What an outcome means, for the row and for the account.

A failure has two readers. The account asks whose fault it was: `Verdict.cause`
says which hold, breaker or ceiling learns from it. The row asks whether and when
its call may be sent again: `next_try` answers with the row's own history.

Read in this order: `error_code`, then `error.type` (also of an error event in a
stream whose status was 200), then the status, then whether quota headers came
along. Texts are matched only where the service sends nothing else: too many
connections, the ramp, a spend limit the user set, and a limit whose headers a
gateway has taken away.

| outcome | cause | the row |
|---|---|---|
| 429 with quota headers, `retry-after` or a limit said | LIMIT | waits with its pool |
| 429 `ramp_limit_exceeded` | RAMP | the same, and the pool's slope falls |
| 429 "concurrent connections" | CONCURRENCY | the same, and the ceiling falls |
| 429 with none of them | SERVER | the same, and the ceiling falls |
| 429 spend limit, 401, 402, own limit | - | `missing: account`; the run stops |
| 529, `overloaded_error` | OVERLOADED | backs off, within a budget of time |
| 408, 409, 5xx, other in-stream errors | SERVICE | the same |
| no connection | NETWORK | the same |
| cut, stalled, no answer | CUT | a cut stream once at once, then the same |
| longer than a call may take | TIMEOUT | once more at once, then `missing: timeout` |
| cut after the machine slept | SLEPT | at once, as if nothing had been tried |
| every other 4xx | - | `missing: rejected` |

Limits never use up attempts: a row that met forty 429s has failed at nothing.
Trouble of the service is bounded by time and not by count, because a wall of
15 minutes at quick refusals would exhaust any count. The time is the service's
own: `now` of a row's history stands still while nothing could have been sent
(`Account.open_seconds`), so a pause of an hour is no hour of trouble.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from fanout.decide.admission.said import said_limit
from fanout.words.counted import plural
from fanout.words.model import Cause, MissingKind
from fanout.words.outcome import Answered, Broken, Outcome, Refused
from fanout.words.timeouts import duration

MONTHLY = "enforced_spend_limit_reached"
SPEND_CODES = frozenset({MONTHLY, "contract_spend_limit_reached"})
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
TROUBLE_CAUSES = frozenset({Cause.OVERLOADED, Cause.SERVICE, Cause.NETWORK, Cause.CUT})
"""The service speaks about itself: breaker and backoff, buckets learn nothing."""

# A call that was cut at its limit has been paid for; a second one says that it
# does not fit into that limit.
LATE_MAX = 2
# So has one that came back as nonsense; what is sent next comes back the same.
SENSELESS_MAX = 3
# Any wait of a minute is announced: a run that is silent for longer looks hung.
ANNOUNCE_SECONDS = 60.0
DAY = 86_400.0
# As days a time is said from here on.
DAYS_FROM = 3
SPEND_ENDS = "; access returns at 00:00 UTC on the first day of the next month"
# A wall of 15 minutes must end with everything done; an hour of it is news that
# a person has to hear.
TROUBLE_SECONDS_MAX = 3600.0
# Half of it at least: what failed a moment ago fails again.
BACKOFF_SECONDS_MIN = 1.0
# A request that fails while others get through may be at fault itself; it is not
# sent more often than this.
BACKOFF_SECONDS_MAX = 60.0
# A service that fails one call in ten fails some row three times in a row. While it
# answers others such a row waits no longer than this ...
UNLUCKY_SECONDS = 1.0
# ... until luck no longer explains it.
UNLUCKY_TIMES = 6
# While the service is away the breaker spaces the calls. Rows that slept longer
# than its knocks would sleep on when it is back.
AWAY_SECONDS = 5.0


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
    unreachable: bool = False
    """No connection stood: nothing was sent, and nothing is charged."""
    senseless: bool = False
    """What came was paid for, and is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """What happened so far to one call of a row; `after` gives the next one."""

    trouble_since: float | None = None
    """Open second of the first of an unbroken series of service troubles."""
    troubles: int = 0
    """How many there were in that series."""
    limits: int = 0
    """Refusals for limits; they count nothing but themselves."""
    late: int = 0
    """How often it was cut because it took longer than a call may take."""
    senseless: int = 0
    """How often what came made no sense."""

    def after(self, verdict: Verdict, now: float) -> "Tries":
        """The history once `verdict` has happened; an answer starts it anew.

        A limit ends a series of troubles: the service was there to refuse.
        """
        if verdict.cause in LIMIT_CAUSES:
            return Tries(limits=self.limits + 1)
        if verdict.cause in TROUBLE_CAUSES:
            since = now if self.trouble_since is None else self.trouble_since
            senseless = self.senseless + verdict.senseless
            troubles = self.troubles + 1
            return replace(
                self, trouble_since=since, troubles=troubles, senseless=senseless
            )
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
    open_seconds: float | None = None,
    away: bool = False,
    trouble_max: float = TROUBLE_SECONDS_MAX,
) -> Retry:
    """When the row may be queued again; `history` includes this verdict.

    For limits that is now: the pool's hold keeps the row and all its neighbours,
    so that whatever ends the hold early frees this row too. `open_seconds` is `now`
    on the clock of the history (the same where nothing was ever closed), `away`
    says that the breaker is open.
    """
    if verdict.missing is not None:
        return Retry(at=None, missing=verdict.missing, reason=verdict.reason)
    if (enough := _paid_for_enough(verdict, history)) is not None:
        return enough
    if verdict.cause not in TROUBLE_CAUSES:
        return Retry(at=now, reason=verdict.reason)
    clock = now if open_seconds is None else open_seconds
    since = clock if history.trouble_since is None else history.trouble_since
    if clock - since > trouble_max:
        reason = was_away(verdict.reason, clock - since)
        return Retry(at=None, missing=MissingKind.TIMEOUT, reason=reason)
    if verdict.cut and history.troubles <= 1:
        return Retry(at=now, reason=verdict.reason)
    wait = _trouble_wait(history.troubles, chance, away=away)
    # Asked to wait for longer than it will be tried, it is tried once at the end.
    asked = min(verdict.retry_after or 0.0, trouble_max - (clock - since) + 1)
    return Retry(at=now + max(wait, asked), reason=verdict.reason)


def _paid_for_enough(verdict: Verdict, history: Tries) -> Retry | None:
    """What was paid for, came to nothing and will again, is not tried for an hour."""
    if verdict.cause is Cause.TIMEOUT and history.late >= LATE_MAX:
        reason = f"{verdict.reason}, {plural(history.late, 'time')}"
        reason += "; --timeout call= allows more"
        return Retry(at=None, missing=MissingKind.TIMEOUT, reason=reason)
    if verdict.senseless and history.senseless >= SENSELESS_MAX:
        reason = f"{verdict.reason}; it was sent {plural(history.senseless, 'time')}"
        return Retry(at=None, missing=MissingKind.REJECTED, reason=reason)
    return None


def was_away(reason: str, seconds: float) -> str:
    """Why a row ends that has waited for the service for too long."""
    return f"{reason}; the service was away for {seconds:.0f} s"


def announced(verdict: Verdict) -> str:
    """What the log says of a long `retry-after`; empty for a short one."""
    seconds = verdict.retry_after or 0.0
    if seconds < ANNOUNCE_SECONDS:
        return ""
    days = seconds / DAY
    told = f"{days:,.0f} days" if days >= DAYS_FROM else duration(seconds)
    return f"waits {told} (retry-after {seconds:.0f} s): {verdict.reason}"


def backoff(count: int, chance: Callable[[], float]) -> float:
    """Seconds to wait after the `count`-th failure: doubling, half of it jitter."""
    full = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_MIN * 2.0 ** min(count - 1, 10))
    return full / 2 + full / 2 * chance()


def _trouble_wait(count: int, chance: Callable[[], float], *, away: bool) -> float:
    """A row's own wait: short while it was unlucky, long once it may be at fault."""
    if away:
        return min(AWAY_SECONDS, backoff(count, chance))
    if count <= UNLUCKY_TIMES:
        return min(UNLUCKY_SECONDS, backoff(count, chance))
    return backoff(count, chance)


def _broken(outcome: Broken) -> Verdict:
    if outcome.slept:
        return Verdict(cause=Cause.SLEPT, reason=outcome.message)
    if outcome.limit == "call":
        return Verdict(cause=Cause.TIMEOUT, reason=outcome.message)
    if outcome.senseless:
        reason = _sentence("what came is no answer", outcome.message)
        return Verdict(cause=Cause.SERVICE, reason=reason, senseless=True)
    what = {
        "connect": "no connection",
        "headers": "no answer to the request",
    }.get(outcome.stage, "the answer broke off")
    unreachable = outcome.stage == "connect"
    return Verdict(
        cause=Cause.NETWORK if unreachable else Cause.CUT,
        unreachable=unreachable,
        reason=_sentence(what, outcome.message),
        cut=outcome.stage == "stream" and not outcome.timeout,
    )


def _refused(outcome: Refused) -> Verdict:
    kind = outcome.type or STATUS_TYPES.get(outcome.status, "")
    if _account_refuses(outcome, kind):
        reason = _said(outcome)
        if outcome.code == MONTHLY and "00:00 UTC" not in reason:
            reason += SPEND_ENDS
        return Verdict(missing=MissingKind.ACCOUNT, stops_run=True, reason=reason)
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
    if 300 <= status < 400:  # noqa: PLR2004  another address, and not followed
        return None
    if status < 400 or status >= 500 or status in {408, 409}:  # noqa: PLR2004
        return Cause.SERVICE
    return None


def _limit_cause(outcome: Refused) -> Cause:
    text = outcome.message.lower()
    if CONCURRENCY_TEXT in text:
        return Cause.CONCURRENCY
    if any(ramp in text for ramp in RAMP_TEXTS):
        return Cause.RAMP
    told = outcome.limits.triples or outcome.retry_after is not None
    return Cause.LIMIT if told or said_limit(outcome.message) else Cause.SERVER


def _said(outcome: Refused) -> str:
    head = f"{outcome.status} {outcome.code or outcome.type or 'without a type'}"
    return _sentence(head, outcome.message)


def _sentence(head: str, message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    return f"{head}: {text}" if text else head
