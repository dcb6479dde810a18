"""One row of a script's own client, and the requests that wait for it."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide.fingerprint import canonical, fingerprint
from fanout.words.model import MissingKind, RowId, RowSpec
from fanout.words.orders import ClientOrder, ClientReply
from fanout.world.messages import ClientCame

CLOSED_REQUEST = 499
"""What a request is told that was cancelled: no status of the service's own."""


@dataclass(slots=True)
class ClientLine:
    """One client row and the requests that wait for it."""

    row: RowId
    keyed: bool
    spec: RowSpec
    ready: bool = False
    """Earlier work was looked up."""
    busy: ClientCame | None = None
    queue: deque[ClientCame] = field(default_factory=deque)
    kept: list[Mapping[str, Any]] = field(default_factory=list)
    """Answers of earlier lives, by their request's digest, not used yet."""
    turns: list[Mapping[str, Any]] = field(default_factory=list)
    asked: bool = False
    """The busy request is under way; until then it waits for the look-up."""
    failed: tuple[MissingKind, str] | None = None
    """How the newest request failed; None when it was answered."""
    closed: str = ""
    """Why the row takes no more requests."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A client row, as the look-up of earlier work wants to see it."""

    order: Any
    spec: RowSpec
    opening: Mapping[str, Any]


def kept_turn(line: ClientLine, order: ClientOrder) -> Mapping[str, Any] | None:
    """Take an earlier life's answer to the same request, if there is one."""
    if not line.kept:
        return None
    mark = request_digest(order.body)
    for turn in line.kept:
        if turn.get("request") == mark:
            line.kept.remove(turn)
            return turn
    return None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A client's order, as the look-up wants to see it."""

    row: RowId
    output: None = None


def settled(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body determines its answer: streaming does not."""
    return {name: value for name, value in body.items() if name != "stream"}


def request_digest(body: Mapping[str, Any]) -> str:
    """Return what names a request: the same one in a later life has the same."""
    return fingerprint(
        account="",
        model="",
        opening={"body": settled(body)},
        input_digests=(),
        tool_versions={},
    )


def turn_of(body: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer as it is journaled, with the digest of its request."""
    return {"request": request_digest(body), "message": dict(message)}


def max_tokens_of(body: Mapping[str, Any], default: int) -> int:
    """Return the most a request may write; what makes no sense the service refuses."""
    given = body.get("max_tokens")
    return given if isinstance(given, int) and given > 0 else default


def size_of(body: Mapping[str, Any]) -> int:
    """Return a body's size in bytes."""
    return len(canonical(settled(body)))


def cancelled(reason: str) -> ClientReply:
    """Return what a request is told that will not be answered."""
    return ClientReply(status=CLOSED_REQUEST, body=error_body(reason))


def error_body(message: str) -> str:
    """Return a body in the form of the service's own errors."""
    error = {"type": "api_error", "message": message}
    return json.dumps({"type": "error", "error": error})
