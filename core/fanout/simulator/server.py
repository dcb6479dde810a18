"""The HTTP face of the account: paths, authentication, refusals.

Everything but the pace of an answer is decided by `Account`; this file reads
requests, asks it, and renders what it says.
"""

import json
from typing import Any

from aiohttp import web

from fanout.simulator import call as calls
from fanout.simulator import chance, errors, validation
from fanout.simulator.account import Account
from fanout.simulator.batch_service import BatchService
from fanout.simulator.books import Entry
from fanout.simulator.call import Call
from fanout.simulator.clock import Clock
from fanout.simulator.errors import Refusal
from fanout.simulator.faults import Target
from fanout.simulator.messages import Exchange, identity, shown
from fanout.simulator.models import MODELS, Model, find
from fanout.simulator.rendering import has_key, render

COUNT_NOISE = 0.02
"""How far `count_tokens` is off at most, as a share."""


class Service:
    """The handlers of one account."""

    def __init__(self, account: Account, clock: Clock) -> None:
        self.account = account
        self.clock = clock

    def routes(self) -> list[web.RouteDef]:
        """The service's paths."""
        batches = BatchService(lambda: self.account, self.clock)
        return [
            web.post("/v1/messages", self.messages),
            *batches.routes(),
            web.post("/v1/messages/count_tokens", self.count_tokens),
            web.get("/v1/models", self.models),
            web.get("/v1/models/{id}", self.model),
            web.route("*", "/{rest:.*}", self.elsewhere),
        ]

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """Answer a conversation, streamed or plain."""
        read = await self._read(request, "messages")
        entry = self._entry(request, "messages", read)
        if isinstance(read, Refusal):
            return self._refuse(read, entry)
        target = self.account.target(read)
        ticket = self.account.admit(read, target, entry, self.clock.now())
        if isinstance(ticket, Refusal):
            return self._refuse(ticket, entry, self._quota(ticket, read, target))
        return await Exchange(self.account, self.clock, request, ticket).run()

    async def count_tokens(self, request: web.Request) -> web.StreamResponse:
        """Estimate the input of a conversation."""
        read = await self._read(request, "count_tokens")
        entry = self._entry(request, "count_tokens", read)
        if isinstance(read, Refusal):
            return self._refuse(read, entry)
        target = self.account.target(read)
        refusal = self.account.admit_count(read, target, self.clock.now())
        if refusal is not None:
            return self._refuse(refusal, entry)
        self.account.books.note(entry)
        noise = chance.between(-COUNT_NOISE, COUNT_NOISE, "count", read.digest)
        counted = {"input_tokens": round(read.input_tokens * (1 + noise))}
        return web.json_response(counted, headers=identity(entry.request_id))

    async def models(self, request: web.Request) -> web.StreamResponse:
        """List the models."""
        entry = self._entry(request, "models", None)
        if not has_key(request):
            return self._refuse(errors.NAMED["authentication"], entry)
        self.account.books.note(entry)
        listed = [_describe(model) for model in MODELS.values()]
        page = {
            "data": listed,
            "has_more": False,
            "first_id": listed[0]["id"],
            "last_id": listed[-1]["id"],
        }
        return web.json_response(page, headers=identity(entry.request_id))

    async def model(self, request: web.Request) -> web.StreamResponse:
        """Describe one model."""
        entry = self._entry(request, "models", None)
        if not has_key(request):
            return self._refuse(errors.NAMED["authentication"], entry)
        name = request.match_info["id"]
        found = find(name)
        if found is None:
            return self._refuse(errors.not_found(f"model: {name}"), entry)
        self.account.books.note(entry)
        return web.json_response(
            _describe(found) | {"id": name}, headers=identity(entry.request_id)
        )

    async def elsewhere(self, request: web.Request) -> web.StreamResponse:
        """Every other path: there is nothing."""
        entry = self._entry(request, "other", None)
        refusal = errors.not_found(f"Not found: {request.path}")
        if not has_key(request):
            refusal = errors.NAMED["authentication"]
        return self._refuse(refusal, entry)

    async def _read(self, request: web.Request, endpoint: str) -> Call | Refusal:
        if not has_key(request):
            return errors.NAMED["authentication"]
        length = request.content_length or 0
        if length > validation.BODY_BYTES_MAX:
            return errors.NAMED["too_large"]
        raw = await request.read()
        if len(raw) > validation.BODY_BYTES_MAX:
            return errors.NAMED["too_large"]
        try:
            body = json.loads(raw)
        except ValueError:
            return errors.invalid("The request body is not valid JSON")
        return validation.check(
            body,
            version=request.headers.get("anthropic-version"),
            endpoint=endpoint,
            digest=calls.digest_of(raw),
            row=request.headers.get("x-fanout-row", ""),
        )

    def _entry(
        self, request: web.Request, endpoint: str, read: Call | Refusal | None
    ) -> Entry:
        told = request.headers.get("x-stainless-retry-count", "0")
        known = read if isinstance(read, Call) else None
        return Entry(
            at=self.clock.now(),
            endpoint=endpoint,
            status=200,
            kind=None,
            row=request.headers.get("x-fanout-row", ""),
            model=known.model.id if known else "",
            request_id=self.account.next_request_id(),
            body_sha256=known.digest if known else "",
            retry_count=int(told) if told.isdigit() else 0,
            ended="running" if endpoint == "messages" else "complete",
        )

    def _quota(self, refusal: Refusal, call: Call, target: Target) -> dict[str, str]:
        """The rate-limit headers of a refused message, if its cause shows them."""
        if not refusal.quota_headers:
            return {}
        account, now = self.account, self.clock.now()
        rules = account.faults.strikes("headers", target, now)
        return shown(account, call, rules, account.snapshot(call, now), now)

    def _refuse(
        self, refusal: Refusal, entry: Entry, quota: dict[str, str] | None = None
    ) -> web.Response:
        entry.status, entry.kind, entry.ended = refusal.status, refusal.kind, "refused"
        self.account.books.refuse(entry)
        return render(refusal, entry.request_id, quota or {})


def _describe(model: Model) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": {"stage": "active"},
        "max_input_tokens": model.context_tokens,
        "max_tokens": model.output_tokens_max,
        "capabilities": {"structured_outputs": {"supported": True}},
    }
