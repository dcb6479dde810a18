"""Refusals on the wire, and who may ask at all."""

from aiohttp import web

from fanout.simulator import errors
from fanout.simulator.errors import Refusal
from fanout.simulator.messages import identity


def render(refusal: Refusal, request_id: str, quota: dict[str, str]) -> web.Response:
    """A refusal as a response, with the headers its cause has."""
    lines = identity(request_id) | quota
    if refusal.status == errors.NAMED["authentication"].status:
        lines = {"request-id": request_id}
    if refusal.retry_after is not None:
        lines["retry-after"] = str(refusal.retry_after)
    if refusal.should_retry is not None:
        lines["x-should-retry"] = str(refusal.should_retry).lower()
    if refusal.page is not None:
        return web.Response(
            text=refusal.page,
            status=refusal.status,
            content_type="text/html",
            headers=lines,
        )
    return web.json_response(
        refusal.body(request_id), status=refusal.status, headers=lines
    )


def has_key(request: web.Request) -> bool:
    """Whether a request says who it is, in either way."""
    bearer = request.headers.get("authorization", "")
    scheme, _, token = bearer.partition(" ")
    by_bearer = scheme.lower() == "bearer" and bool(token.strip())
    return by_bearer or bool(request.headers.get("x-api-key", "").strip())
