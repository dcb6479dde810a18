"""The Messages API as a script: who asks gets what the test says.

Stands where `fanout.world.wire.api.Api` does. Answers take virtual time, and every
request is kept, so that tests can say what was asked and what was not.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fanout.decide.assembly import read_usage
from fanout.words.model import Usage
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused

SECONDS = 1.0
Reply = Callable[[Mapping[str, Any], int], Outcome]
"""Given a body and the number of the request, from 0."""


def answered(
    text: str = "an answer",
    *,
    stop_reason: str = "end_turn",
    content: Sequence[Mapping[str, Any]] | None = None,
    usage: Usage = Usage(100, 20),
    limits: Limits = Limits(),
) -> Answered:
    """Return a whole answer."""
    blocks = list(content) if content is not None else [{"type": "text", "text": text}]
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test",
        "content": blocks,
        "stop_reason": stop_reason,
        "usage": usage.as_dict(),
    }
    return Answered(
        message=message,
        usage=read_usage(message["usage"]),
        request_id="req_1",
        limits=limits,
        seconds=SECONDS,
    )


def tool_use(name: str, arguments: Mapping[str, Any], number: int = 1) -> Answered:
    """Return an answer that asks for one tool."""
    block = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": name,
        "input": dict(arguments),
    }
    return answered(stop_reason="tool_use", content=[block])


def refused(
    status: int,
    kind: str,
    message: str = "no",
    *,
    retry_after: float | None = None,
    limits: Limits = Limits(),
) -> Refused:
    """Return an HTTP error."""
    return Refused(
        status=status,
        type=kind,
        code=None,
        message=message,
        retry_after=retry_after,
        limits=limits,
        request_id="req_1",
    )


def broken(stage: str = "stream", usage: Usage = Usage()) -> Broken:
    """Return a connection that broke."""
    return Broken(stage=stage, message="cut", usage=usage)


def text_of(message: Mapping[str, Any]) -> str:
    """Return what an answer says, without its tools."""
    blocks = message.get("content")
    texts = [one.get("text") or "" for one in blocks] if blocks else []
    return "".join(texts)


class ScriptedApi:
    """Answers every request by one function, after `seconds` of virtual time."""

    def __init__(self, reply: Reply, *, seconds: float = SECONDS) -> None:
        self._reply = reply
        self._seconds = seconds
        self.bodies: list[Mapping[str, Any]] = []
        self.times: list[float] = []
        """When each request was sent, loop seconds."""
        self.in_flight = 0
        self.peak = 0
        self.renewed = 0
        self._cut: dict[asyncio.Event, str] = {}

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Answer as the script says."""
        del path, headers
        number = len(self.bodies)
        self.bodies.append(body)
        self.times.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        cut = asyncio.Event()
        self._cut[cut] = ""
        try:
            outcome = self._reply(body, number)
            answers = isinstance(outcome, Answered)
            for stage in ("headers", "stream") if answers else ("headers",):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._seconds / 2):
                        await cut.wait()
                if cut.is_set():
                    return Broken(stage=stage, message=self._cut[cut], slept=True)
                if isinstance(outcome, Answered) and stage == "headers":
                    watcher.opened(outcome.limits)
                    watcher.input_known(outcome.usage)
                    saying = partial(text_of, outcome.message)
                    watcher.progressed(outcome.usage.output_tokens, "", saying)
            return outcome
        finally:
            self.in_flight -= 1
            del self._cut[cut]

    async def renew(self, text: str) -> None:
        """Cut what is under way."""
        self.renewed += 1
        for cut in self._cut:
            self._cut[cut] = text
            cut.set()

    async def ready(self) -> None:
        """It is, at once."""

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Answer everything else with an empty object."""
        del method, path, body, seconds
        return 200, {}, "{}"
