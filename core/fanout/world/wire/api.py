"""The SDK's side: one call over the wire, and what it came back with.

The only module that knows `anthropic`. It is imported in a thread when the run
opens, since the import alone costs seconds. Retries are off: a refusal is an
`Outcome` like any other, and who may try again is decided elsewhere.

Calls go out through the client's low-level `post`, so that a body reaches the
service as it was given, and are always streamed on the wire: headers come at
first byte, progress can be shown, and silence can be told from work. The
stream's events are read raw (a third of the helper's cost).
"""

import asyncio
import importlib
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from fanout.decide.admission.headers import read_limits, read_retry_after
from fanout.decide.assembly import Assembly, Text
from fanout.files.safecall import run_in_daemon
from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.words.model import Usage
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused
from fanout.words.timeouts import Timeouts
from fanout.world.clock import Clock
from fanout.world.wire.capping import BAD, cap_responses, each_line, reading_lines
from fanout.world.wire.connecting import say_when_connected
from fanout.world.wire.credentials import Credentials
from fanout.world.wire.failures import Failure, Senseless, describe, failure
from fanout.world.wire.loading import load_sdk
from fanout.world.wire.streamed import Intake, frame
from fanout.world.wire.watchdog import Cut, Guard, Limit, Watchdog, limits_of

OK = 200
LOOPBACK = ("127.0.0.1", "localhost", "::1")
CONNECTIONS_MAX = 1000
MESSAGE_MAX = 2_000
"""Characters of what the service says about an error."""
RETRY_AFTER_MAX = 86_400.0
"""A day: who asks for more has sent something that is not a time."""
IMPORT_SECONDS_MAX = 3.0
"""A screen that has not painted by then is not waited for any longer."""


class Watcher(Protocol):
    """Told what happens while a call is under way; called on the engine's loop."""

    def opened(self, limits: Limits) -> None:
        """Headers of a 200 have come."""

    def input_known(self, usage: Usage) -> None:
        """The service has said what the input costs."""

    def progressed(self, output_tokens: int, doing: str, saying: Text = str) -> None:
        """Something came: the input of the tool `doing`, or what `saying` returns."""

    def received(self, chunk: bytes) -> None:
        """Bytes of the stream, for whoever wants them as they come."""


class Api:
    """A client of one endpoint, shared by every call of a run."""

    def __init__(
        self,
        credentials: Credentials,
        clock: Clock,
        timeouts: Timeouts,
        may_import: threading.Event,
    ) -> None:
        """The SDK is not imported before `may_import` is set."""
        self._credentials = credentials
        self._clock = clock
        self._timeouts = timeouts
        self._limits = limits_of(timeouts)
        self._may_import = may_import
        self._watchdog = Watchdog()
        self._ticker: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._closing = False
        self._sdk: Any = None
        self._response: Any = None
        self._client: Any = None
        url = urlsplit(credentials.base_url)
        self._host = url.netloc.rpartition("@")[2] or credentials.base_url

    def start(self) -> None:
        """Begin to open, on the running loop; calls wait until that is done."""
        self._opening = asyncio.create_task(self._open(), name="open the API")

    async def _open(self) -> None:
        """Import the SDK in a thread and build its client."""
        # A daemon: a run that ends at once does not wait for seconds of import.
        self._sdk = await run_in_daemon(self._import)
        self._client = await asyncio.to_thread(self._build)
        self._ticker = asyncio.create_task(self._watchdog.run(), name="watchdog")

    async def renew(self, text: str) -> None:
        """Cut what is under way, and open connections anew.

        What is cut comes back as `Broken` with `slept`, and `text` as its message.
        """
        old = self._client
        if old is None:
            return
        self._opening = asyncio.create_task(self._reopen(), name="open the API again")
        self._watchdog.cut_all(text)
        await asyncio.shield(self._opening)
        await old.close()

    async def _reopen(self) -> None:
        self._client = await asyncio.to_thread(self._build)

    async def close(self) -> None:
        """Close connections."""
        self._closing = True
        self._may_import.set()
        for task in (self._opening, self._ticker):
            if task is not None:
                task.cancel()
        if self._client is not None:
            await self._client.close()

    def _import(self) -> Any:
        # Two seconds of work that would hold up the first paint of a screen.
        self._may_import.wait(IMPORT_SECONDS_MAX)
        return None if self._closing else load_sdk()

    def _build(self) -> Any:
        httpx = importlib.import_module("httpx2")
        self._response = httpx.Response
        host = urlsplit(self._credentials.base_url).hostname
        http = self._sdk.DefaultAioHttpClient(
            # Proxies of the environment would be asked for loopback, too.
            trust_env=host not in LOOPBACK,
            # What is asked is for this address, and nobody else's to read.
            follow_redirects=False,
            limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
            timeout=httpx.Timeout(None),
        )
        cap_responses(http, httpx.AsyncByteStream)
        seen = say_when_connected(http, self._connected)
        self._limits = limits_of(self._timeouts, connects_seen=seen)
        client = self._sdk.AsyncAnthropic(
            api_key=self._credentials.api_key,
            auth_token=self._credentials.auth_token,
            base_url=self._credentials.base_url,
            max_retries=0,
            http_client=http,
            # All limits are the watchdog's: two that differ would be told as one.
            timeout=httpx.Timeout(None),
            open_telemetry=False,
        )
        if not self._credentials.custom_headers:
            client._custom_headers = {}  # noqa: SLF001  the SDK takes them unasked
        return client

    def _connected(self, guard: Guard) -> None:
        if guard.stage == "connect":
            guard.alive(self._limits.first_byte)

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Watcher,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Send one call and see it to its end; never raises for what comes back."""
        await self._opened()
        intake = Intake()
        assembly = intake.assembly
        limits = Limits()
        request_id: str | None = None
        stage = "headers"
        begun = self._clock.now()
        limited = self._limits
        try:
            async with self._watchdog.guard(limited.connect, limited.call) as guard:
                stream = await self._post(path, body, headers or {})
                stage = "stream"
                response = stream.response
                request_id = response.headers.get("request-id")
                limits = read_limits(response.headers)
                watcher.opened(limits)
                guard.alive(limited.idle)
                await self._read(response, intake, watcher, guard)
        except self._sdk.APIStatusError as error:
            return self._refusal(error)
        except Exception as e:
            if not self._is_theirs(e):
                raise
            how = failure(e, stage, self._host)
        else:
            how = Failure(stage=stage, message="the stream ended before the answer did")
        try:
            whole = await intake.whole()
        except Senseless as e:
            whole, how = None, failure(e, stage, self._host)
        if whole is not None:
            return Answered(
                message=whole,
                usage=assembly.usage,
                request_id=request_id,
                limits=limits,
                seconds=self._clock.now() - begun,
            )
        if assembly.error is not None:
            return _in_stream(assembly, limits, request_id)
        return _broken(how, assembly.usage, limits, request_id)

    async def ready(self) -> None:
        """Return once something could be sent."""
        await self._opened()

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Pass a request through: status, headers and body as sent.

        `seconds` is how long it may take; None is what a small one may.
        """
        await self._opened()
        send = getattr(self._client, method)
        options = {"body": dict(body)} if body is not None else {}
        try:
            limit = Limit("plain", seconds) if seconds else self._limits.plain
            async with self._watchdog.guard(limit):
                got = await send(path, cast_to=self._response, **options)
        except self._sdk.APIStatusError as error:
            text = error.response.text
            return error.status_code, dict(error.response.headers), text
        except Exception as error:
            if not self._is_theirs(error):
                raise
            return 502, {}, _error_body("api_error", describe(error, self._host))
        try:
            json.loads(got.text)
        except (ValueError, RecursionError):
            return 502, {}, _error_body("api_error", "what came is no JSON")
        date = got.headers.get("date", "")
        return OK, {"content-type": "application/json", "date": date}, got.text

    async def lines(
        self, path: str, take: Callable[[str], bool]
    ) -> Refused | Broken | None:
        """Read a response line by line, until it ends, is cut, or `take` says no."""
        await self._opened()
        try:
            limit = self._limits.first_byte
            async with self._watchdog.guard(limit) as guard:
                with reading_lines():
                    stream = await self._results(path)
                guard.alive(self._limits.idle)
                try:
                    await each_line(stream.response, take, guard.alive)
                finally:
                    await stream.response.aclose()
        except self._sdk.APIStatusError as error:
            return self._refusal(error)
        except Exception as error:
            if not self._is_theirs(error):
                raise
            how = failure(error, "stream", self._host)
            return Broken(stage=how.stage, message=how.message, timeout=how.timeout)
        return None

    async def _results(self, path: str) -> Any:
        return await self._client.get(
            path, cast_to=object, stream=True, stream_cls=self._sdk.AsyncStream[object]
        )

    def _is_theirs(self, error: Exception) -> bool:
        """Whether it came from the service or the way to it, and is no defect."""
        kinds = (self._sdk.APIError, OSError, ValueError, Cut, AssertionError)
        # The transport's own errors are not the SDK's.
        transport = type(error).__module__.startswith(("httpx2", "aiohttp"))
        return transport or isinstance(error, kinds)

    async def _opened(self) -> None:
        assert self._opening is not None, "not started"
        await asyncio.shield(self._opening)

    async def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Any:
        return await self._client.post(
            path,
            cast_to=object,
            body={**body, "stream": True},
            options={"headers": dict(headers)},
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )

    async def _read(
        self, response: Any, intake: Intake, watcher: Watcher, guard: Guard
    ) -> None:
        known, assembly = False, intake.assembly
        try:
            async for sse in self._sdk.AsyncStream.raw_events(response):
                guard.alive()
                if not sse.data:
                    continue
                await intake.take(sse.data)
                watcher.received(frame(sse.event, sse.data))
                if assembly.started and not known:
                    known = True
                    watcher.input_known(assembly.usage)
                told = assembly.usage.output_tokens, assembly.doing, assembly.saying
                watcher.progressed(*told)
        finally:
            await response.aclose()

    def _retry_after(self, headers: Any) -> float | None:
        seconds = read_retry_after(headers, wall=self._clock.wall())
        return None if seconds is None else min(seconds, RETRY_AFTER_MAX)

    def _refusal(self, error: Any) -> Refused:
        headers = error.response.headers
        message = _message_of(error)
        if error.status_code < BAD:
            where = headers.get("location")
            message = _told(f"redirects to {where}: not followed", 300)
        return Refused(
            status=error.status_code,
            type=_text(getattr(error, "type", None)),
            code=_text(getattr(error, "error_code", None)),
            message=message,
            retry_after=self._retry_after(headers),
            limits=read_limits(headers),
            request_id=error.request_id,
            body=error.response.text,
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _message_of(error: Any) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return _told(body["error"].get("message") or error.message)
    return _told(body or error.message, 300)


def _told(what: object, most: int = MESSAGE_MAX) -> str:
    """What the service says, short and without secrets: it may quote the request."""
    return shortened(redact(str(what)), most)


def _broken(
    how: Failure, usage: Usage, limits: Limits, request_id: str | None
) -> Broken:
    return Broken(
        stage=how.stage,
        message=how.message,
        timeout=how.timeout,
        limit=how.limit,
        slept=how.slept,
        senseless=how.senseless,
        usage=usage,
        limits=limits,
        request_id=request_id,
    )


def _in_stream(assembly: Assembly, limits: Limits, request_id: str | None) -> Refused:
    body = assembly.error or {}
    error = body.get("error")
    error = error if isinstance(error, dict) else {}
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    return Refused(
        status=OK,
        type=_text(error.get("type")),
        code=_text(code),
        message=_told(error.get("message") or "error inside the stream"),
        retry_after=None,
        limits=limits,
        request_id=request_id,
        body=json.dumps(body),
        usage=assembly.usage,
    )


def _error_body(kind: str, message: str) -> str:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})
