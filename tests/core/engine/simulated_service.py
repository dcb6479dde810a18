"""The simulated account of a simulated run: its weather, its limits, its books.

It knows nothing of the product. It keeps what it charged, what it answered, and
what it had told the client to wait for, so that the client's journal can be held
against it: every assistant turn that comes back must be one that was given
(`Memory`), and nothing may come before a `retry-after` is over.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random
from typing import Any, ClassVar

from fanout.decide.admission.headers import read_limits
from fanout.simulator import headers as told
from fanout.simulator.limiter import Limits as PerMinute
from fanout.simulator.limiter import PoolLimiter, Shares
from fanout.testing.scripted_api import answered, tool_use
from fanout.words.model import NO_USAGE, Need, RowId, Usage
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused
from fanout.words.tools import ToolResult

MARGIN = 1e-3
"""Virtual seconds: what comes in the same turn of the loop is the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How likely what is, per call, per row or per run."""

    rows: int = 12
    padding: int = 0
    """Bytes that make each question longer."""
    refusals: float = 0.15
    broken: float = 0.1
    final: float = 0.03
    poor_answers: float = 0.15
    output_max: int = 60
    """Tokens of an answer, at most."""
    commit_seconds: float = 0.05
    disk_failures: int = 0
    commands: int = 6
    meddling: float = 0.06
    stop: float = 0.3
    script_fails: float = 0.2
    late_script: float = 0.3
    deaf_tools: float = 0.3
    limits: PerMinute | None = None
    """What the account allows; None: as much as anybody asks for."""
    burst: float = 1.0
    limit_changes: float = 0.0
    outages: float = 0.0
    """How likely the service is away for a while, once in a life."""
    budget: float = 0.0
    """How likely the run has a budget that it cannot keep within."""
    phase_budget: float = 0.0
    """How likely its first phase has one, too; somebody is asked about both then."""
    second_phase: bool = False
    new_tools: bool = False
    """The script's tools may be other ones in each life."""
    lost_files: float = 0.0
    """How likely somebody takes an output away between two lives."""


FAIR = Weather(
    refusals=0.0,
    broken=0.0,
    final=0.0,
    poor_answers=0.0,
    commands=0,
    meddling=0.0,
    stop=0.0,
    script_fails=0.0,
    late_script=0.0,
)


class Slow:
    """A tool that takes its time, and sometimes fails."""

    name = "slow"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    def __init__(self, chance: Random, deaf: float, description: str) -> None:
        self._random = chance
        self._deaf = deaf
        self.description = description

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        deaf = self._random.random() < self._deaf
        try:
            await asyncio.sleep(self._random.expovariate(0.3))
        except asyncio.CancelledError:
            if not deaf:
                raise
            await asyncio.sleep(self._random.random())
        failed = self._random.random() < 0.2
        return ToolResult(content=f"{arguments}", is_error=failed)


@dataclass(slots=True)
class Charged:
    """One request in the account's own books."""

    row: RowId
    body: str
    request_id: str
    at: float
    usage: Usage = NO_USAGE
    answered: bool = False
    """A whole answer was given."""
    own: bool = False
    """Refused because the account's own buckets were empty."""
    need: Need | None = None
    """What the client had reserved for it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a client was told to wait for."""

    at: float
    """Moment at which it was told."""
    until: float


class Memory:
    """Which answers were given to which conversation, told by their content."""

    def __init__(self) -> None:
        self._given: dict[bytes, dict[str, str]] = {}

    def give(self, body: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        digest = _digest(body, len(body["messages"]))
        answers = self._given.setdefault(digest, {})
        answers[json.dumps(message["content"])] = message["stop_reason"]

    def unknown(self, body: Mapping[str, Any]) -> str:
        """What a request holds that cannot be; empty when all of it was said."""
        stop = ""
        for at, message in enumerate(body["messages"]):
            if message["role"] != "assistant":
                stop = ""
                continue
            content = json.dumps(message["content"])
            known = self._given.get(_digest(body, at), {})
            if content not in known:
                return f"a turn that was never given: {content}"
            stop = known[content]
        return f"nothing new after {stop}" if stop not in {"", "pause_turn"} else ""


def _digest(body: Mapping[str, Any], upto: int) -> bytes:
    """What a conversation is up to a message; marks for the cache are no content."""
    messages = [
        [m["role"], [{k: v for k, v in b.items() if k != "cache_control"} for b in c]]
        for m in body["messages"][:upto]
        for c in [m["content"]]
    ]
    whole = [body["model"], body.get("system"), body.get("tools"), messages]
    return sha256(json.dumps(whole).encode()).digest()


@dataclass(slots=True)
class Outage:
    """When the service is away."""

    start: float = 0.0
    end: float = 0.0
    sent: int = 0
    """Requests that met it, after those under way when it began had ended."""


class Service:
    """The account: answers by chance, keeps books, and watches what it is sent."""

    def __init__(self, chance: Random, weather: Weather) -> None:
        self.random = chance
        self.weather = weather
        self.books: list[Charged] = []
        self.memory = Memory()
        self.waits: list[Wait] = []
        self.outage = Outage()
        self.limiter: PoolLimiter | None = None
        self.now: Callable[[], float] = lambda: 0.0
        self.on_send: Callable[[Charged, Mapping[str, Any]], None]
        self.on_send = lambda _entry, _body: None
        self.on_answer: Callable[[Charged], None] = lambda _: None
        self.row_of: Callable[[Mapping[str, Any]], RowId] = lambda _: RowId("", "")

    def open(self, epoch: float) -> None:
        """A life begins: draw when the service is away, and open the buckets."""
        r, weather = self.random, self.weather
        self.outage = Outage()
        if r.random() < weather.outages:
            start = epoch + r.random() * 20
            self.outage = Outage(start, start + r.choice((30.0, 120.0, 600.0)))
        if weather.limits is not None and self.limiter is None:
            burst = _shares(weather.burst)
            self.limiter = PoolLimiter(weather.limits, burst, epoch)

    def change_limits(self) -> None:
        """The account's limits are other ones from now on."""
        assert self.weather.limits is not None
        assert self.limiter is not None
        share = self.random.choice((0.5, 0.75, 1.5))
        before = self.weather.limits
        fresh = PerMinute(
            requests=int(before.requests * share),
            input_tokens=int(before.input_tokens * share),
            output_tokens=int(before.output_tokens * share),
        )
        burst = _shares(self.weather.burst)
        self.limiter.set_limits(self.now(), fresh, burst)

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        del path, headers
        number = f"r{len(self.books)}"
        entry = Charged(self.row_of(body), json.dumps(body), number, self.now())
        self.on_send(entry, body)
        self.books.append(entry)
        outcome = await self._answer(body, watcher, entry)
        self.on_answer(entry)
        return outcome

    async def _answer(
        self, body: Mapping[str, Any], watcher: Any, entry: Charged
    ) -> Outcome:
        r, weather = self.random, self.weather
        begun = self.now()
        await asyncio.sleep(r.random() * 0.3 if self.limiter else r.random())
        if self.outage.start <= self.now() < self.outage.end:
            self.outage.sent += begun > self.outage.start
            return self._away()
        if (short := self._short(entry)) is not None:
            return short
        luck = r.random()
        if luck < weather.final:
            status = r.choice((400, 413, 422, 404))
            return self._refused(status, "invalid_request_error")
        if luck < weather.final + weather.refusals:
            return self._throttled()
        if luck < weather.final + weather.refusals + weather.broken:
            return await self._break(body, watcher, entry)
        self._charge(entry)
        return await self._stream(body, watcher, entry)

    async def _stream(
        self, body: Mapping[str, Any], watcher: Any, entry: Charged
    ) -> Outcome:
        r = self.random
        outcome = self._good(body, entry)
        entry.usage = Usage(outcome.usage.input_tokens, 0)
        watcher.opened(self._limits())
        watcher.input_known(outcome.usage)
        produced = 0
        for step in range(r.randrange(4)):
            await asyncio.sleep(r.random() * 3)
            produced = outcome.usage.output_tokens * step // 4
            self._produce(entry, produced)
            watcher.progressed(produced, "")
        self._produce(entry, outcome.usage.output_tokens)
        entry.answered = True
        self.memory.give(body, outcome.message)
        return replace(outcome, request_id=entry.request_id, limits=self._limits())

    def _produce(self, entry: Charged, output: int) -> None:
        fresh = output - entry.usage.output_tokens
        entry.usage = Usage(entry.usage.input_tokens, output)
        if self.limiter is not None:
            self.limiter.charge_output(self.now(), fresh)

    # -- limits ------------------------------------------------------------

    def _limits(self) -> Limits:
        if self.limiter is None:
            return Limits()
        lines = told.render(told.snapshot(self.limiter, self.now()))
        return read_limits({**lines, "date": told.http_date(self.now())})

    def _short(self, entry: Charged) -> Refused | None:
        if self.limiter is None:
            return None
        shortage = self.limiter.shortage(self.now(), _size(entry.body))
        if shortage is None:
            return None
        entry.own = True
        wait = float(shortage.retry_after)
        self.waits.append(Wait(self.now(), self.now() + wait))
        return self._refused(429, "rate_limit_error", retry_after=wait)

    def _charge(self, entry: Charged) -> None:
        if self.limiter is not None:
            self.limiter.charge_admission(self.now(), _size(entry.body))

    # -- ends --------------------------------------------------------------

    def _refused(self, status: int, kind: str, **more: Any) -> Refused:
        given: dict[str, Any] = {"retry_after": None, "code": None, **more}
        return Refused(
            status=status,
            type=kind,
            message="no",
            limits=self._limits(),
            request_id="r",
            **given,
        )

    def _away(self) -> Outcome:
        match self.random.randrange(3):
            case 0:
                return self._refused(529, "overloaded_error")
            case 1:
                return self._refused(503, "api_error")
            case _:
                return Broken(stage="connect", message="no route")

    def _throttled(self) -> Refused:
        r = self.random
        match r.randrange(6):
            case 0:
                wait = r.random() * 90
                self.waits.append(Wait(self.now(), self.now() + wait))
                return self._refused(429, "rate_limit_error", retry_after=wait)
            case 1:
                return self._refused(429, "rate_limit_error")
            case 2:
                code = "ramp_limit_exceeded"
                return self._refused(429, "rate_limit_error", code=code)
            case 3:
                return self._refused(529, "overloaded_error")
            case 4:
                return self._refused(r.choice((500, 502, 503)), "api_error")
            case _:
                return self._refused(408, "timeout_error")

    async def _break(
        self, body: Mapping[str, Any], watcher: Any, entry: Charged
    ) -> Outcome:
        r = self.random
        stage = r.choice(("connect", "headers", "stream"))
        seen = NO_USAGE
        if stage != "connect":
            self._charge(entry)
        if stage == "headers" and r.random() < 0.5:
            entry.usage = Usage(1, r.randrange(int(body["max_tokens"]) + 1))
        if stage == "stream":
            size = self._input(entry)
            seen = Usage(size, r.randrange(20))
            watcher.opened(self._limits())
            entry.usage = Usage(size, 1)
            watcher.input_known(entry.usage)
            await asyncio.sleep(r.random() * 2)
            entry.usage = Usage(size, r.randrange(seen.output_tokens, 50))
        if stage == "stream" and r.random() < 0.3:
            return self._refused(200, "overloaded_error", usage=seen)
        return Broken(stage=stage, message="cut", usage=seen)

    def _input(self, entry: Charged) -> int:
        if self.limiter is not None:
            return _size(entry.body)
        return self.random.randrange(40, 200)

    def _good(self, body: Mapping[str, Any], entry: Charged) -> Answered:
        r = self.random
        usage = Usage(self._input(entry), r.randrange(1, self.weather.output_max))
        answers = sum(m["role"] == "assistant" for m in body["messages"])
        if body.get("tools") and answers < 3 and r.random() < 0.7:
            call = tool_use("slow", {"n": answers}, int(entry.request_id[1:]))
            return answered(
                stop_reason="tool_use", content=call.message["content"], usage=usage
            )
        if r.random() < self.weather.poor_answers:
            stop = r.choice(("end_turn", "max_tokens", "refusal", "pause_turn"))
            return answered(
                "" if r.random() < 0.3 else "{}", stop_reason=stop, usage=usage
            )
        return answered(f'{{"n": {entry.request_id[1:]}}}', usage=usage)

    async def ready(self) -> None:
        return

    async def plain(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[int, dict[str, str], str]:
        del method, path, body
        return 200, {}, "{}"

    async def renew(self, text: str) -> None:
        """Nobody sleeps here."""
        raise AssertionError(text)


def _shares(share: float) -> Shares:
    return Shares(requests=share, input_tokens=share, output_tokens=share)


def _size(body: str) -> int:
    """Input tokens of a request, as an account with limits counts them."""
    return len(body) // 4
