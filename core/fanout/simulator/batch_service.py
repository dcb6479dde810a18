"""The HTTP face of message batches; what is decided is decided by the account.

Faults: rules of the endpoint `batches` strike the creation (a connection fault
after the batch was taken in, so that its id is lost on the way), `batch_reads` the
looks at a batch, lists and cancellations, `batch_results` the results.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from fanout.simulator import batches, errors, staged, wire
from fanout.simulator.account import ORGANIZATION, Account
from fanout.simulator.batches import Batch
from fanout.simulator.books import Entry
from fanout.simulator.clock import Clock
from fanout.simulator.errors import Refusal
from fanout.simulator.faults import FaultRule, Target
from fanout.simulator.messages import identity
from fanout.simulator.rendering import has_key, render

BATCH_BYTES_MAX = 256 * 1024 * 1024
_LINES_AT_ONCE = 100


class BatchService:
    """The handlers of `/v1/messages/batches` and below."""

    def __init__(self, account: Callable[[], Account], clock: Clock) -> None:
        self._account_now = account
        self._clock = clock

    @property
    def _account(self) -> Account:
        return self._account_now()

    def routes(self) -> list[web.RouteDef]:
        """The paths of batches."""
        base = "/v1/messages/batches"
        return [
            web.post(base, self.create),
            web.get(base, self.listed),
            web.get(base + "/{id}", self.look),
            web.delete(base + "/{id}", self.delete),
            web.get(base + "/{id}/results", self.results),
            web.post(base + "/{id}/cancel", self.cancel),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        """Take a batch in."""
        entry = self._entry(request, "batches")
        body = await self._body(request)
        refusal = body if isinstance(body, Refusal) else None
        refusal = refusal or self._admit(request, "batches", creates=True)
        if refusal is not None:
            return self._refuse(refusal, entry)
        version = request.headers["anthropic-version"]
        made = self._account.batches.create(body, version, self._clock.now())
        if isinstance(made, Refusal):
            return self._refuse(made, entry)
        lost = await self._lost(request, "batches")
        if lost is not None:
            entry.ended = "cut"
            self._account.books.note(entry)
            return lost
        return self._say(self._told(made, request), entry)

    async def listed(self, request: web.Request) -> web.StreamResponse:
        """One page of batches."""
        entry = self._entry(request, "batch_reads")
        refusal = self._admit(request, "batch_reads")
        if refusal is None:
            lost = await self._lost(request, "batch_reads")
            if lost is not None:
                return lost
        page = refusal or self._account.batches.listed(dict(request.query))
        if isinstance(page, Refusal):
            return self._refuse(page, entry)
        page["data"] = [self._told(batch, request) for batch in page["data"]]
        return self._say(page, entry)

    async def look(self, request: web.Request) -> web.StreamResponse:
        """Where one batch stands."""
        return await self._one(request, lambda _batch: None)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        """Begin to cancel one batch."""
        account = self._account
        return await self._one(
            request, lambda batch: account.batches.cancel(batch, self._clock.now())
        )

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """Forget one batch."""
        entry = self._entry(request, "batch_reads")
        found = self._admit(request, "batch_reads") or self._found(request)
        if isinstance(found, Batch):
            refusal = self._account.batches.delete(found)
            found = refusal or found
        if isinstance(found, Refusal):
            return self._refuse(found, entry)
        return self._say({"id": found.id, "type": "message_batch_deleted"}, entry)

    async def results(self, request: web.Request) -> web.StreamResponse:
        """The results of one batch, a line each."""
        entry = self._entry(request, "batch_results")
        found = self._admit(request, "batch_results") or self._found(request)
        if isinstance(found, Batch) and found.status != "ended":
            found = errors.not_found(f"Message batch {found.id} has no results yet.")
        if isinstance(found, Refusal):
            return self._refuse(found, entry)
        lost = await self._lost(request, "batch_results")
        if lost is not None:
            return lost
        self._account.books.note(entry)
        lines = batches.results(found, self._account.seed)
        return await self._stream(request, lines, entry)

    async def _stream(
        self, request: web.Request, lines: list[dict[str, Any]], entry: Entry
    ) -> web.StreamResponse:
        rule = self._fault(request, "batch_results", "stream")
        response = web.StreamResponse(
            headers=identity(entry.request_id) | {"content-type": "application/x-jsonl"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)
        for at, line in enumerate(lines):
            text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace")
            if rule is not None and at >= rule.after_events:
                return await self._break(request, response, rule, text)
            await response.write(text + b"\n")
            if at % _LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
        await response.write_eof()
        return response

    async def _break(
        self,
        request: web.Request,
        response: web.StreamResponse,
        rule: FaultRule,
        line: bytes,
    ) -> web.StreamResponse:
        if rule.kind == "stall":
            await self._clock.sleep(rule.seconds)
        await response.write(line[: len(line) // 2])
        if rule.kind in ("clean_eof", "partial_frame"):
            await response.write_eof()
        else:
            (wire.reset if rule.kind == "reset" else wire.hang_up)(request)
        return response

    async def _one(
        self, request: web.Request, act: Callable[[Batch], Refusal | None]
    ) -> web.StreamResponse:
        entry = self._entry(request, "batch_reads")
        found = self._admit(request, "batch_reads") or self._found(request)
        if isinstance(found, Refusal):
            return self._refuse(found, entry)
        refusal = act(found)
        if refusal is not None:
            return self._refuse(refusal, entry)
        lost = await self._lost(request, "batch_reads")
        return lost or self._say(self._told(found, request), entry)

    def _found(self, request: web.Request) -> Batch | Refusal:
        office = self._account.batches
        office.settle(self._clock.now())
        return office.find(request.match_info["id"])

    async def _body(self, request: web.Request) -> Any:
        if not has_key(request):
            return errors.NAMED["authentication"]
        if (request.content_length or 0) > BATCH_BYTES_MAX:
            return errors.NAMED["too_large"]
        if "anthropic-version" not in request.headers:
            return errors.invalid("anthropic-version: header is required")
        raw = await request.read()
        if len(raw) > BATCH_BYTES_MAX:
            return errors.NAMED["too_large"]
        try:
            return await asyncio.to_thread(json.loads, raw)
        except ValueError:
            return errors.invalid("The request body is not valid JSON")

    def _admit(
        self, request: web.Request, endpoint: str, *, creates: bool = False
    ) -> Refusal | None:
        if not has_key(request):
            return errors.NAMED["authentication"]
        rule = self._fault(request, endpoint, "refusal")
        rule = rule or self._fault(request, endpoint, "overload")
        if rule is not None:
            table = self._account.profile.batches
            return staged.refusal(
                rule,
                input_limit=table.requests,
                organization=ORGANIZATION,
                model="batches",
            )
        return self._account.admit_batching(self._clock.now(), creates=creates)

    async def _lost(
        self, request: web.Request, endpoint: str
    ) -> web.StreamResponse | None:
        """Play a connection fault: no response, or a late one."""
        rule = self._fault(request, endpoint, "connection")
        if rule is None:
            return None
        if rule.kind == "slow_headers":
            await self._clock.sleep(rule.seconds)
            return None
        (wire.reset if rule.kind == "reset_before" else wire.hang_up)(request)
        return wire.lost()

    def _fault(
        self, request: web.Request, endpoint: str, stage: str
    ) -> FaultRule | None:
        account = self._account
        target = Target(
            endpoint=endpoint,
            digest=request.path,
            occurrence=account.seen_again(request.path + stage),
            text=request.path,
            last_text=request.path,
            row="",
        )
        return account.faults.first(stage, target, self._clock.now())

    def _told(self, batch: Batch, request: web.Request) -> dict[str, Any]:
        return batches.told(batch, f"{request.scheme}://{request.host}")

    def _entry(self, request: web.Request, endpoint: str) -> Entry:
        told = request.headers.get("x-stainless-retry-count", "0")
        return Entry(
            at=self._clock.now(),
            endpoint=endpoint,
            status=200,
            kind=None,
            row=request.match_info.get("id", ""),
            model="",
            request_id=self._account.next_request_id(),
            body_sha256="",
            retry_count=int(told) if told.isdigit() else 0,
            ended="complete",
        )

    def _say(self, payload: dict[str, Any], entry: Entry) -> web.Response:
        self._account.books.note(entry)
        return web.json_response(payload, headers=identity(entry.request_id))

    def _refuse(self, refusal: Refusal, entry: Entry) -> web.Response:
        entry.status, entry.kind, entry.ended = refusal.status, refusal.kind, "refused"
        self._account.books.refuse(entry)
        return render(refusal, entry.request_id, {})
