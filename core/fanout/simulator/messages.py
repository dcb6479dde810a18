"""`POST /v1/messages`: admission, the answer, and putting it on the wire."""

import json

from aiohttp import web

from fanout.simulator import brain, breaking, chance, events, generation, headers, wire
from fanout.simulator.account import ORGANIZATION, WORKSPACE, Account, Ticket
from fanout.simulator.answer import Answer
from fanout.simulator.call import Call
from fanout.simulator.clock import Clock
from fanout.simulator.faults import FaultRule
from fanout.simulator.headers import Snapshot

_EVENT_STREAM = "text/event-stream; charset=utf-8"
_HTML = "<!doctype html><html><head><title>ok</title></head><body>ok</body></html>"


def identity(request_id: str) -> dict[str, str]:
    """The headers of every response after authentication."""
    return {
        "request-id": request_id,
        "anthropic-organization-id": ORGANIZATION,
        "anthropic-workspace-id": WORKSPACE,
        "cache-control": "no-cache",
    }


def shown(
    account: Account, call: Call, rules: list[FaultRule], shot: Snapshot, now: float
) -> dict[str, str]:
    """The rate-limit headers of a response, staged lies included."""
    previous = account.swap_shown(call, shot)
    skew = 0.0
    left_out: set[str] = set()
    for rule in rules:
        if rule.kind == "stale_headers":
            shot = previous
        elif rule.kind == "clock_skew":
            skew = rule.seconds
        else:
            left_out.update(rule.dimensions)
    lines = {
        name: text
        for name, text in headers.render(shot, skew=skew).items()
        if name.removeprefix(f"{headers.PREFIX}-").rpartition("-")[0] not in left_out
    }
    if skew:
        lines["date"] = headers.http_date(now + skew)
    return lines


class Exchange:
    """One admitted request, from its admission to the end of its answer."""

    def __init__(
        self, account: Account, clock: Clock, request: web.Request, ticket: Ticket
    ) -> None:
        self._account = account
        self._clock = clock
        self._request = request
        self._ticket = ticket
        self._call = ticket.call
        table = account.profile.generation
        self._delta_tokens = table.tokens_per_delta
        self._pace = generation.pace(
            table, self._call, ticket.split.charged, account.seed
        )
        self._message_id = "msg_" + chance.letters(24, ticket.entry.request_id)

    async def run(self) -> web.StreamResponse:
        """Answer the request; the books are closed however it ends."""
        how = "disconnected"
        try:
            response, how = await self._respond()
        except ConnectionError:
            return wire.lost()
        finally:
            self._account.end(self._ticket, self._clock.now(), how)
        return response

    async def _respond(self) -> tuple[web.StreamResponse, str]:
        fault = self._fault("connection")
        if fault is not None:
            broken = await self._broken_connection(fault)
            if broken is not None:
                return broken, "cut"
        answer = brain.answer(self._call, self._account.seed, self._account.profile)
        if self._call.streams:
            return await self._stream(answer)
        return await self._plain(answer)

    def _fault(self, stage: str) -> FaultRule | None:
        now = self._clock.now()
        return self._account.faults.first(stage, self._ticket.target, now)

    async def _broken_connection(self, fault: FaultRule) -> web.Response | None:
        if fault.kind == "slow_headers":
            await self._clock.sleep(fault.seconds)
            return None
        end = wire.reset if fault.kind == "reset_before" else wire.hang_up
        end(self._request)
        return wire.lost()

    def _charge(self, count: int) -> None:
        self._account.write(self._ticket, self._clock.now(), count)

    def _snapshot(self) -> Snapshot:
        return self._account.snapshot(self._call, self._clock.now())

    def _headers(self, shot: Snapshot) -> dict[str, str]:
        ticket, now = self._ticket, self._clock.now()
        told = shown(self._account, self._call, ticket.header_faults, shot, now)
        return told | identity(ticket.entry.request_id)

    async def _plain(self, answer: Answer) -> tuple[web.StreamResponse, str]:
        await self._clock.sleep(self._pace.ttft_seconds)
        self._account.begin(self._ticket, self._clock.now())
        await generation.produce(answer, self._pace, self._clock, self._charge)
        shot = Snapshot(
            requests=self._ticket.admission.requests,
            input_tokens=self._ticket.admission.input_tokens,
            output_tokens=self._snapshot().output_tokens,
        )
        lines = self._headers(shot)
        body = json.dumps(
            events.message(
                answer,
                message_id=self._message_id,
                model=self._call.body["model"],
                split=self._ticket.split,
            ),
            ensure_ascii=False,
        ).encode("utf-8", "replace")
        fault = self._fault("body") or self._fault("stream")
        if fault is not None:
            return await self._broken_body(fault, body, lines)
        kind = "application/json"
        return web.Response(body=body, headers=lines, content_type=kind), "complete"

    async def _broken_body(
        self, fault: FaultRule, body: bytes, lines: dict[str, str]
    ) -> tuple[web.StreamResponse, str]:
        half = body[: len(body) // 2]
        if fault.kind == "html":
            page = web.Response(text=_HTML, content_type="text/html", headers=lines)
            return page, "cut"
        if fault.kind == "stall":
            await self._clock.sleep(fault.seconds)
            half = body
        if fault.kind in ("bad_json", "clean_eof", "partial_frame", "stall"):
            kind = "application/json"
            return web.Response(body=half, headers=lines, content_type=kind), "cut"
        response = web.StreamResponse(
            headers=lines
            | {"content-type": "application/json", "content-length": str(len(body))}
        )
        await response.prepare(self._request)
        await response.write(half)
        end = wire.reset if fault.kind == "reset" else wire.hang_up
        end(self._request)
        return response, "cut"

    async def _stream(self, answer: Answer) -> tuple[web.StreamResponse, str]:
        fault = self._fault("stream")
        early = self._account.profile.limiter.headers_at == "admission"
        if early:
            response = await self._open(fault)
            await self._clock.sleep(self._pace.ttft_seconds)
        else:
            await self._clock.sleep(self._pace.ttft_seconds)
            response = await self._open(fault)
        self._account.begin(self._ticket, self._clock.now())
        pieces = events.stream(
            answer,
            message_id=self._message_id,
            model=self._call.body["model"],
            split=self._ticket.split,
            delta_tokens=self._delta_tokens,
        )
        stop = await generation.play(
            breaking.broken(pieces, fault),
            self._pace,
            self._clock,
            response.write,
            self._charge,
        )
        if stop is not None and stop.how != "end":
            (wire.reset if stop.how == "reset" else wire.hang_up)(self._request)
        elif not isinstance(response, _ClosingStream):
            await response.write_eof()
        return response, "complete" if stop is None else "cut"

    async def _open(self, fault: FaultRule | None) -> web.StreamResponse:
        lines = self._headers(self._snapshot()) | {
            "content-type": "text/event-stream; charset=utf-8"
        }
        if fault is not None and fault.kind == "close_delimited":
            wire.raw_head(self._request, lines)
            return _ClosingStream(self._request)
        response = web.StreamResponse(headers=lines)
        response.enable_chunked_encoding()
        await response.prepare(self._request)
        return response


class _ClosingStream(web.StreamResponse):
    """A body without a length that lasts until the connection is closed."""

    def __init__(self, request: web.Request) -> None:
        super().__init__()
        self._line = wire.transport(request)

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes as they are."""
        self._line.write(data)
