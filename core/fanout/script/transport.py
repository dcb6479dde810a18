"""Where the HTTP requests of a script's own client go: to the engine, not out.

A request becomes a `ClientOrder`; its `ClientReply` becomes the response that the
SDK would have seen, error classes included. Retries, waits and limits are the
engine's business, so the SDK's time-outs do not count here; `asyncio.timeout`
does, and gives the request up.

    POST /v1/messages                a row, admitted, journaled
    POST /v1/messages/count_tokens   paced
    GET  /v1/models…                 passed through
    anything else                    refused with a 400 that says what to use

Only `fanout.script.client` imports this module: it loads `httpx2`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

import httpx2

from fanout.script.phases import current_phase
from fanout.script.session import Session
from fanout.script.sse import stream_of
from fanout.script.tickets import Ticket
from fanout.words.orders import ClientOrder, ClientReply

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
BATCHES = "/v1/messages/batches"
MODELS = "/v1/models"

STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"

# What describes the body as it was on the wire, and not as it is handed on.
_OF_THE_WIRE = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding"}
)

Parts = asyncio.Queue["bytes | ClientReply"]


class FanoutTransport(httpx2.AsyncBaseTransport):
    """All requests of one `client()`."""

    def __init__(self, session: Session, ticket: Ticket | None, *, live: bool) -> None:
        self._session = session
        self._ticket = ticket
        self._live = live
        self._lock: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response, once there is one; cancelled, gives it up."""
        self._session.proceed()
        path = request.url.path
        if problem := _refusal(request.method, path):
            return _refused(request, problem)
        body = json.loads(await request.aread() or b"{}")
        if path != MESSAGES or self._ticket is None:
            return await self._exchange(request, body)
        self._ticket.told = True
        async with self._turn():
            return await self._exchange(request, body)

    def _turn(self) -> asyncio.Lock:
        """One call at a time, in call order; a lock belongs to one loop."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._loop is not loop:
            self._lock, self._loop = asyncio.Lock(), loop
        return self._lock

    async def _exchange(
        self, request: httpx2.Request, body: dict[str, Any]
    ) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        parts: Parts = asyncio.Queue()
        streams = request.url.path == MESSAGES and bool(body.get("stream"))

        def hand_over(part: bytes | ClientReply) -> None:
            # A loop that was closed has nobody left to answer.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(parts.put_nowait, part)

        order = self._order(request, body, hand_over if streams else None)
        self._session.enter(order.phase)
        self._session.port.call(order, hand_over)
        part = await self._first(order, parts)
        if isinstance(part, bytes):
            body_stream = _LiveBody(self._session, order, parts, part)
            headers = {"content-type": STREAM}
            return httpx2.Response(
                200, headers=headers, stream=body_stream, request=request
            )
        return _response(request, part, streams=streams)

    def _order(
        self,
        request: httpx2.Request,
        body: Mapping[str, Any],
        sink: Callable[[bytes], None] | None,
    ) -> ClientOrder:
        row = None if self._ticket is None else self._ticket.row
        return ClientOrder(
            row=row,
            phase=current_phase() if row is None else row.phase,
            path=request.url.raw_path.decode("ascii"),
            headers={
                name: value
                for name, value in request.headers.items()
                if name.startswith("anthropic-")
            },
            body=body,
            sink=sink if self._live else None,
        )

    async def _first(self, order: ClientOrder, parts: Parts) -> bytes | ClientReply:
        """Wait as long as it takes; a stop or a cancellation ends the wait."""
        with self._session.waiting():
            try:
                return await parts.get()
            except BaseException:
                if not self._session.ending:
                    self._session.port.cancel_call(order)
                raise


class _LiveBody(httpx2.AsyncByteStream):
    """A stream's bytes as they come; a cut is raised, as from a socket."""

    def __init__(
        self, session: Session, order: ClientOrder, parts: Parts, first: bytes
    ) -> None:
        self._session = session
        self._order = order
        self._parts = parts
        self._first = first
        self._ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        while not self._ended:
            with self._session.waiting():
                part = await self._parts.get()
            if isinstance(part, bytes):
                yield part
                continue
            self._ended = True
            if part.status != httpx2.codes.OK:
                raise httpx2.RemoteProtocolError(_message_of(part))

    async def aclose(self) -> None:
        """Give the call up when the reader leaves early."""
        if not self._ended:
            self._ended = True
            if not self._session.ending:
                self._session.port.cancel_call(self._order)


def _refusal(method: str, path: str) -> str | None:
    """Why this client does not take the request; None when it does."""
    if method == "POST" and path in (MESSAGES, COUNT):
        return None
    if method == "GET" and (path == MODELS or path.startswith(f"{MODELS}/")):
        return None
    if path.startswith(BATCHES):
        return (
            "fanout.client() does not send message batches; run single-turn agents "
            "with `fanout-tui --lane batch script.py` instead"
        )
    return (
        f"fanout.client() does not send {method} {path}; use a plain "
        "anthropic.AsyncAnthropic for what is not a message"
    )


def _refused(request: httpx2.Request, problem: str) -> httpx2.Response:
    error = {"type": "invalid_request_error", "message": problem}
    reply = ClientReply(status=400, body=json.dumps({"type": "error", "error": error}))
    return _response(request, reply, streams=False)


def _response(
    request: httpx2.Request, reply: ClientReply, *, streams: bool
) -> httpx2.Response:
    headers = {
        name: value
        for name, value in reply.headers.items()
        if name.lower() not in _OF_THE_WIRE and value
    }
    content, kind = reply.body.encode(errors="replace"), JSON
    if reply.status != httpx2.codes.OK:
        # Whatever could be tried again was, by the engine.
        headers["x-should-retry"] = "false"
    elif reply.message is not None and streams:
        content, kind = stream_of(reply.message), STREAM
    elif reply.message is not None:
        content = json.dumps(reply.message, ensure_ascii=False).encode()
    headers["content-type"] = kind
    return httpx2.Response(
        reply.status, headers=headers, content=content, request=request
    )


def _message_of(reply: ClientReply) -> str:
    try:
        return str(json.loads(reply.body)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return reply.body or "the stream was cut"
