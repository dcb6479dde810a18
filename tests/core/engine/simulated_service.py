"""What a simulated run is surrounded by: the weather, a slow disk, an account."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.scripted_api import answered, tool_use
from fanout.words.model import NO_USAGE, RowId, Usage
from fanout.words.outcome import Broken, Outcome, Refused
from fanout.words.tools import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How likely what is, per call, per row or per run."""

    refusals: float = 0.15
    broken: float = 0.1
    final: float = 0.03
    poor_answers: float = 0.15
    commit_seconds: float = 0.05
    disk_failures: int = 0
    commands: int = 6
    meddling: float = 0.06
    stop: float = 0.3
    script_fails: float = 0.2
    late_script: float = 0.3


class DelayedJournal(MemoryJournal):
    """Commits after a while, and only what it had been given when it began."""

    def __init__(self, chance: Random, seconds: float, **changes: Any) -> None:
        super().__init__(**changes)
        self._random = chance
        self._seconds = seconds
        self._syncing = False

    def _commit(self) -> None:
        if self._syncing or self._told or not self._waiting:
            return
        self._syncing = True
        upto = self._waiting[-1].seq
        wait = self._random.random() * self._seconds
        asyncio.get_running_loop().call_later(wait, self._synced, upto)

    def _synced(self, upto: int) -> None:
        self._syncing = False
        later = [r for r in self._waiting if r.seq > upto]
        self._waiting = [r for r in self._waiting if r.seq <= upto]
        super()._commit()
        self._waiting += later
        if later:
            self._commit()

    def sync_now(self) -> None:
        """What a journal does when it is closed."""
        super()._commit()


class Slow:
    """A tool that takes its time, and sometimes fails."""

    name = "slow"
    description = "takes its time"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    def __init__(self, chance: Random) -> None:
        self._random = chance

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        deaf = self._random.random() < 0.3
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
    usage: Usage = NO_USAGE


class Service:
    """The account: answers by chance, keeps books, and watches what it is sent."""

    def __init__(self, chance: Random, weather: Weather) -> None:
        self.random = chance
        self.weather = weather
        self.books: list[Charged] = []
        self.wrong: list[str] = []
        self.on_send: Callable[[RowId, str], None] = lambda _row, _body: None
        self.on_answer: Callable[[RowId], None] = lambda _: None
        self.row_of: Callable[[Mapping[str, Any]], RowId] = lambda _: RowId("", "")

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        del path, headers
        row = self.row_of(body)
        entry = Charged(row, json.dumps(body, sort_keys=True), f"r{len(self.books)}")
        self.on_send(row, entry.body)
        self.books.append(entry)
        outcome = await self._answer(body, watcher, entry)
        self.on_answer(row)
        return outcome

    async def _answer(
        self, body: Mapping[str, Any], watcher: Any, entry: Charged
    ) -> Outcome:
        r, weather = self.random, self.weather
        await asyncio.sleep(r.random())
        luck = r.random()
        if luck < weather.final:
            status = r.choice((400, 413, 422, 404))
            return self._refused(status, "invalid_request_error")
        if luck < weather.final + weather.refusals:
            return self._throttled()
        if luck < weather.final + weather.refusals + weather.broken:
            return await self._break(body, watcher, entry)
        outcome = self._good(body)
        entry.usage = Usage(outcome.usage.input_tokens, 0)
        watcher.opened(outcome.limits)
        watcher.input_known(outcome.usage)
        for step in range(r.randrange(4)):
            await asyncio.sleep(r.random() * 3)
            produced = outcome.usage.output_tokens * step // 4
            entry.usage = Usage(outcome.usage.input_tokens, produced)
            watcher.progressed(produced, "")
        entry.usage = outcome.usage
        return replace(outcome, request_id=entry.request_id)

    def _refused(self, status: int, kind: str, **more: Any) -> Refused:
        given: dict[str, Any] = {"retry_after": None, "code": None, **more}
        limits = answered().limits
        return Refused(
            status=status,
            type=kind,
            message="no",
            limits=limits,
            request_id="r",
            **given,
        )

    def _throttled(self) -> Refused:
        r = self.random
        match r.randrange(6):
            case 0:
                return self._refused(
                    429, "rate_limit_error", retry_after=r.random() * 90
                )
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
        if stage == "headers" and r.random() < 0.5:
            entry.usage = Usage(1, r.randrange(int(body["max_tokens"]) + 1))
        if stage == "stream":
            seen = Usage(90, r.randrange(20))
            watcher.opened(answered().limits)
            entry.usage = Usage(90, 1)
            watcher.input_known(entry.usage)
            await asyncio.sleep(r.random() * 2)
            entry.usage = Usage(90, r.randrange(seen.output_tokens, 50))
        if stage == "stream" and r.random() < 0.3:
            return self._refused(200, "overloaded_error", usage=seen)
        return Broken(stage=stage, message="cut", usage=seen)

    def _good(self, body: Mapping[str, Any]) -> Any:
        r = self.random
        usage = Usage(r.randrange(40, 200), r.randrange(1, 60))
        answers = sum(m["role"] == "assistant" for m in body["messages"])
        if body.get("tools") and answers < 3 and r.random() < 0.7:
            call = tool_use("slow", {"n": answers}, len(self.books))
            return answered(
                stop_reason="tool_use", content=call.message["content"], usage=usage
            )
        if r.random() < self.weather.poor_answers:
            stop = r.choice(("end_turn", "max_tokens", "refusal", "pause_turn"))
            return answered(
                "" if r.random() < 0.3 else "{}", stop_reason=stop, usage=usage
            )
        return answered('{"n": 1}', usage=usage)

    async def plain(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[int, dict[str, str], str]:
        del method, path, body
        return 200, {}, "{}"

    async def renew(self, text: str) -> None:
        """Nobody sleeps here."""
        raise AssertionError(text)
