"""A raw server on loopback that says exactly the bytes a test gives it."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Self

from fanout.decide.assembly import Text
from fanout.words.model import Usage
from fanout.words.outcome import Limits, Outcome
from fanout.words.timeouts import Timeouts
from fanout.world.clock import SystemClock
from fanout.world.wire.api import Api
from fanout.world.wire.credentials import Credentials

Writer = asyncio.StreamWriter
Act = Callable[[Writer], Awaitable[None]]

FAST = Timeouts(connect=2.0, first_byte=2.0, between_bytes=2.0, plain=2.0)
HEAD = "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nrequest-id: req_1\r\n{more}"
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 12, "output_tokens": 1},
}


def sse(**event: Any) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


START = sse(type="message_start", message=MESSAGE)
OPEN = sse(
    type="content_block_start", index=0, content_block={"type": "text", "text": ""}
)
HELLO = sse(
    type="content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"}
)
SHUT = sse(type="content_block_stop", index=0)
LAST = sse(
    type="message_delta",
    delta={"stop_reason": "end_turn"},
    usage={"output_tokens": 7},
)
STOP = sse(type="message_stop")
WHOLE = START + OPEN + HELLO + SHUT + LAST + STOP


def error_event(kind: str) -> bytes:
    return sse(type="error", error={"type": kind, "message": "no"})


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""


END = b"0\r\n\r\n"


def head(status: int = 200, kind: str = "text/event-stream", more: str = "") -> bytes:
    more += "transfer-encoding: chunked\r\n" if "content-length" not in more else ""
    return (HEAD.format(status=status, kind=kind, more=more) + "\r\n").encode()


def said(*parts: bytes | float | str) -> Act:
    """Bytes are written, seconds slept; `rst` and `fin` close, `open` leaves open."""

    async def act(writer: Writer) -> None:
        for part in parts:
            if isinstance(part, bytes):
                writer.write(part)
                await writer.drain()
            elif isinstance(part, float):
                await asyncio.sleep(part)
            elif part == "rst":
                sock = writer.get_extra_info("socket")
                linger = struct.pack("ii", 1, 0)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            elif part == "fin":
                writer.close()

    return act


def stream(*events: bytes) -> Act:
    """A healthy response of these events."""
    return said(head(), *(chunk(event) for event in events), END)


def refusal(
    status: int, body: Any, more: str = "", kind: str = "application/json"
) -> Act:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return said(head(status, kind, more), chunk(data), END)


class Server:
    """Serves on a loop and a thread of its own, so that a blocked client loop is one."""

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.requests: list[bytes] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ready = threading.Event()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._open())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def _close(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks) if tasks else None

    async def _answer(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while True:
                top = await reader.readuntil(b"\r\n\r\n")
                lines = top.decode().lower().split("\r\n")
                sizes = [x for x in lines if x.startswith("content-length:")]
                body = await reader.readexactly(
                    int(sizes[0].split(":")[1]) if sizes else 0
                )
                self.requests.append(body)
                act = self.acts[min(len(self.requests), len(self.acts)) - 1]
                await act(writer)
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)


class Seen:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.limits: list[Limits] = []
        self.inputs: list[Usage] = []
        self.progress: list[int] = []
        self.chunks: list[bytes] = []

    def opened(self, limits: Limits) -> None:
        self.limits.append(limits)

    def input_known(self, usage: Usage) -> None:
        self.inputs.append(usage)

    def progressed(self, output_tokens: int, doing: str, saying: Text = str) -> None:
        self.progress.append(output_tokens)

    def received(self, chunk: bytes) -> None:
        self.chunks.append(chunk)


BODY = {
    "model": "m",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "hi"}],
}


def open_api(url: str, timeouts: Timeouts = FAST) -> Api:
    may_import = threading.Event()
    may_import.set()
    credentials = Credentials(base_url=url, api_key="k")
    api = Api(credentials, SystemClock(), timeouts, may_import)
    api.start()
    return api


def ask(
    url: str,
    *,
    times: int = 1,
    timeouts: Timeouts = FAST,
    meanwhile: Callable[[], None] | None = None,
    body: dict[str, Any] | None = None,
) -> tuple[list[Outcome], Seen]:
    """Send so many calls, one after the other."""
    seen = Seen()

    async def go() -> list[Outcome]:
        api = open_api(url, timeouts)
        try:
            found = []
            for _ in range(times):
                if meanwhile is not None:
                    asyncio.get_running_loop().call_later(0.3, meanwhile)
                found.append(await asyncio.wait_for(api.send(body or BODY, seen), 20))
            return found
        finally:
            await api.close()

    return asyncio.run(go()), seen
