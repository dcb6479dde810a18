"""A model of the service's limiter on virtual time, written from its documentation.

It shares no arithmetic with `fanout.decide`: whatever both get wrong, they get
wrong independently. Levels are kept per bucket, may be negative, refill
continuously, and are capped at `limit x burst`. Limits may change with time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime

REQUESTS, INPUT, OUTPUT = "requests", "input-tokens", "output-tokens"
NAMES = (REQUESTS, INPUT, OUTPUT)


@dataclass
class Terms:
    """What an account is allowed, and how its service behaves."""

    requests: int = 400
    input: int = 1_800_000
    output: int = 240_000
    burst: float = 1 / 6
    """Share of a minute's limit that may be taken at once."""
    scale: Callable[[float], float] = lambda _: 1.0
    """Factor on all limits at a moment."""
    headers: frozenset[str] = frozenset(NAMES)
    retry_after: bool = True
    texts: bool = False
    """Whether a refusal's text names the limit, as the real one does."""
    snapshot: str = "open"
    """When figures are taken: `open` (headers are sent) or `admission`."""
    skew: float = 0.0
    concurrency: int | None = None
    ramp: Callable[[float], float] | None = None
    """Input tokens that may be used in the minute that contains a moment."""
    overloaded: Callable[[float, float], bool] = lambda _t, _c: False
    """Whether a request at a moment is answered 529; the second is a chance."""
    away: tuple[float, float] | None = None
    """Between these seconds every request is answered 529."""
    cut: float = 0.0
    """Share of accepted calls that are cut in mid-stream."""
    lies: bool = False
    first_token: float = 0.4
    input_speed: float = 60_000
    """Uncached input tokens a second until the first token."""
    speed: float = 400.0
    """Output tokens a second; first come first served then ends the rig at 1.13 of
    the bound, as it did where the others were measured."""
    way: float = 0.03
    """Seconds a message is on its way, at least."""


@dataclass
class Books:
    """One bucket of the service."""

    limit: float
    capacity: float
    level: float
    at: float = 0.0


@dataclass
class Reply:
    """How the service answers a request."""

    status: int
    type: str = ""
    code: str | None = None
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    estimate: float = 0.0


class Service:
    """The limiter and its books."""

    EPOCH = 1_800_000_000.37

    def __init__(self, terms: Terms, chance: Callable[[], float]) -> None:
        self.terms = terms
        self.chance = chance
        self.books = {name: self._fresh(name) for name in NAMES}
        self.flying = 0
        self.refused = 0
        self.foreign = dict.fromkeys(NAMES, 0.0)
        self.minute: tuple[int, float] = (0, 0.0)
        self.lowest = 0.0
        self.given = dict.fromkeys(NAMES, 0.0)
        """All that was charged, to whomever."""

    def _limit(self, name: str, at: float) -> float:
        plain = {
            REQUESTS: self.terms.requests,
            INPUT: self.terms.input,
            OUTPUT: self.terms.output,
        }
        return plain[name] * self.terms.scale(at)

    def _fresh(self, name: str) -> Books:
        limit = self._limit(name, 0.0)
        capacity = max(1.0, limit * self.terms.burst)
        return Books(limit, capacity, capacity)

    def _book(self, name: str, at: float) -> Books:
        book = self.books[name]
        gained = book.limit / 60 * max(0.0, at - book.at)
        if book.level < book.capacity:
            book.level = min(book.capacity, book.level + gained)
        book.at = max(at, book.at)
        limit = self._limit(name, at)
        if limit != book.limit:
            book.limit = limit
            book.capacity = max(1.0, limit * self.terms.burst)
            book.level = min(book.level, book.capacity)
        return book

    def level(self, name: str, at: float) -> float:
        return self._book(name, at).level

    def charge(self, name: str, amount: float, at: float) -> None:
        book = self._book(name, at)
        book.level -= amount
        self.given[name] += amount
        self.lowest = min(self.lowest, book.level)

    def admit(self, tokens: float, at: float) -> Reply:
        """Decide on a request whose uncached input is `tokens`."""
        terms = self.terms
        away = terms.away is not None and terms.away[0] <= at < terms.away[1]
        if away or terms.overloaded(at, self.chance()):
            return Reply(529, "overloaded_error", message="Overloaded")
        if terms.concurrency is not None and self.flying >= terms.concurrency:
            text = "Number of concurrent connections has exceeded your rate limit"
            return self._no(Reply(429, "rate_limit_error", message=text), None, at)
        if self._too_steep(tokens, at):
            text = self._steep_text(at) if terms.texts else "ramp"
            reply = Reply(429, "rate_limit_error", "ramp_limit_exceeded", text)
            return self._no(reply, 60 - self.clock(at) % 60, at)
        estimate = tokens * (1 + 0.02 * (2 * self.chance() - 1))
        short = self._short(estimate, at)
        if short is not None:
            return short
        self.charge(REQUESTS, 1, at)
        self.charge(INPUT, estimate, at)
        if terms.ramp is not None:
            self.minute = (self.minute[0], self.minute[1] + tokens)
        self.flying += 1
        return Reply(200, headers=self.headers(at), estimate=estimate)

    def _short(self, estimate: float, at: float) -> Reply | None:
        """The refusal of a limit that is short of what a request needs."""
        needs = {REQUESTS: 1.0, INPUT: estimate, OUTPUT: 1.0}
        wait, worst = 0.0, ""
        for name, need in needs.items():
            book = self._book(name, at)
            lacking = min(need, book.capacity) - book.level
            if lacking > 1e-6 and lacking / (book.limit / 60) > wait:
                wait, worst = lacking / (book.limit / 60), name
        if not worst and not self.terms.lies:
            return None
        text = f"This request would exceed your rate limit of {worst}"
        if self.terms.texts and worst:
            unit, limit = worst.replace("-", " "), round(self._limit(worst, at))
            text = (
                "This request would exceed your organization's rate limit of "
                f"{limit:,} {unit} per minute (org: x)."
            )
        return self._no(Reply(429, "rate_limit_error", message=text), wait, at)

    def _too_steep(self, tokens: float, at: float) -> bool:
        """Whether the present minute has used up what the ramp allows."""
        if self.terms.ramp is None:
            return False
        minute = int(self.clock(at) // 60)
        if minute != self.minute[0]:
            self.minute = (minute, 0.0)
        return self.minute[1] + tokens > self.terms.ramp(self._minute_began(at))

    def clock(self, at: float) -> float:
        return self.EPOCH + self.terms.skew + at

    def _minute_began(self, at: float) -> float:
        """When the service's present minute began, the first one at 0 or before."""
        return float(round(at - self.clock(at) % 60 + self.clock(0.0) % 60))

    def _steep_text(self, at: float) -> str:
        assert self.terms.ramp is not None
        began = self._minute_began(at)
        return (
            "This request would exceed your organization's maximum usage increase rate "
            "for input tokens per minute (org: x, model: m). Your current limit is "
            f"{round(self.terms.ramp(began)):,} input tokens per minute, and will "
            f"increase to {round(self.terms.ramp(began + 60)):,} at the next minute "
            "boundary."
        )

    def _no(self, reply: Reply, wait: float | None, at: float) -> Reply:
        self.refused += 1
        if wait is not None:
            reply.headers = self.headers(at)
            if self.terms.retry_after:
                reply.headers["retry-after"] = str(max(1, math.ceil(wait)))
        return reply

    def headers(self, at: float) -> dict[str, str]:
        clock = self.EPOCH + self.terms.skew + at
        date = datetime.fromtimestamp(int(clock), UTC)
        headers = {"date": format_datetime(date, usegmt=True)}
        for name in self.terms.headers:
            book = self._book(name, at)
            left = int(book.level) if name == REQUESTS else int(round(book.level, -3))
            left = 1000 if self.terms.lies else left
            full = clock + (book.capacity - book.level) / (book.limit / 60)
            reset = datetime.fromtimestamp(int(full), UTC)
            base = f"anthropic-ratelimit-{name}"
            headers[f"{base}-limit"] = str(int(book.limit))
            headers[f"{base}-remaining"] = str(max(0, left))
            headers[f"{base}-reset"] = reset.strftime("%Y-%m-%dT%H:%M:%SZ")
        return headers

    def others_take(self, tokens: float, output: float, at: float) -> bool:
        """Somebody else on the account sends a request, if it is let through."""
        fits = self.level(REQUESTS, at) >= 1 and self.level(OUTPUT, at) > 0
        book = self._book(INPUT, at)
        if not fits or book.level < min(tokens, book.capacity):
            return False
        for name, amount in ((REQUESTS, 1.0), (INPUT, tokens), (OUTPUT, output)):
            self.charge(name, amount, at)
            self.foreign[name] += amount
        return True
