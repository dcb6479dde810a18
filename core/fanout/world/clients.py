"""Requests that a script makes through `client()`: admitted like any other call.

Without a key each request is a row of its own, `call-0007` of its phase. With a
key all requests of that client are turns of one row, which stays open until the
script ends. Either way the answer is journaled under the request's digest, so
that the same request in a later life is answered from the journal.
"""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiolimiter import AsyncLimiter

from fanout.decide.fingerprint import canonical, fingerprint
from fanout.words.events import RowScheduled, TurnsKept
from fanout.words.model import MissingKind, RowId, RowSpec
from fanout.words.orders import ClientOrder, ClientReply
from fanout.words.outcome import Answered, Outcome, Refused
from fanout.world.calls import Calls, Request
from fanout.world.core import Core
from fanout.world.messages import ClientCame, ClientGone, Found, LookedUp
from fanout.world.openings import MAX_TOKENS, Defaults
from fanout.world.rows import Rows

MESSAGES = "/v1/messages"
NATURAL = ("end_turn", "stop_sequence", "tool_use", "pause_turn")
COUNTS_PER_SECOND = 25
"""`count_tokens` has its own limit, 2,000 a minute on the smallest plan."""


class Passthrough(Protocol):
    """The API for everything that is not a message."""

    async def plain(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[int, dict[str, str], str]:
        """Pass a small request through."""
        ...


class Seeker(Protocol):
    """What looks up earlier work for a row."""

    def look_up(self, works: Any) -> None:
        """Search; ends in `LookedUp`."""


@dataclass(slots=True)
class _Line:
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
    known: int = 0
    """Input tokens of the conversation, as the last call measured them."""


@dataclass(frozen=True, slots=True)
class _Sought:
    """A client row, as the look-up of earlier work wants to see it."""

    order: Any
    spec: RowSpec


class Clients:
    """All client rows of a run."""

    def __init__(
        self,
        core: Core,
        *,
        rows: Rows,
        calls: Calls,
        api: Passthrough,
        seeker: Seeker,
        defaults: Defaults,
    ) -> None:
        self._core = core
        self._rows = rows
        self._calls = calls
        self._api = api
        self._seeker = seeker
        self._defaults = defaults
        self._lines: dict[RowId, _Line] = {}
        self._numbers: dict[str, int] = {}
        self._pace: AsyncLimiter | None = None

    def came(self, message: ClientCame) -> None:
        """Take a request of the script."""
        order = message.order
        if order.path.partition("?")[0] != MESSAGES:
            self._core.spawn(self._pass(message), f"pass {order.path}")
            return
        line = self._line(order)
        line.queue.append(message)
        self._next(line)

    def gone(self, message: ClientGone) -> None:
        """The script gave a request up."""
        for line in self._lines.values():
            if line.busy is not None and line.busy.order is message.order:
                self._give_up(line)
                return
            if message.order in [waiting.order for waiting in line.queue]:
                line.queue = deque(w for w in line.queue if w.order != message.order)
                return

    def _give_up(self, line: _Line) -> None:
        kind, reason = MissingKind.CANCELLED, "cancelled by the script"
        if self._calls.give_up(line.row, kind, reason):
            return
        line.busy = None
        if not line.keyed and self._rows.is_open(line.row):
            self._end(line, kind, reason)
        self._next(line)

    def is_line(self, row: RowId) -> bool:
        """The row belongs to a client."""
        return row in self._lines

    # -- rows --------------------------------------------------------------

    def _line(self, order: ClientOrder) -> _Line:
        row = order.row
        if row is None:
            number = self._numbers.get(order.phase, 0) + 1
            self._numbers[order.phase] = number
            row = RowId(order.phase, f"call-{number:04d}")
        line = self._lines.get(row)
        if line is None or not self._rows.is_open(row):
            line = self._open(row, order)
            self._lines[row] = line
        return line

    def _open(self, row: RowId, order: ClientOrder) -> _Line:
        keyed = order.row is not None
        model = str(order.body.get("model") or self._defaults.model)
        opening = {"client": row.key} if keyed else {"body": _settled(order.body)}
        mark = fingerprint(
            account=self._defaults.account,
            model=model,
            opening=opening,
            input_digests=(),
            tool_versions={},
        )
        spec = RowSpec(
            kind="client",
            model=model,
            pool=self._defaults.pool_of(model),
            fingerprint=mark,
            max_tokens=int(order.body.get("max_tokens") or MAX_TOKENS),
            max_turns=0,
            estimate=self._core.expect_input(model, row.phase, _size(order.body)),
        )
        line = _Line(row, keyed, spec)
        self._rows.enter_phase(row.phase, None)
        self._core.record(RowScheduled(row=row, spec=spec, opening=dict(order.body)))
        sought = _Sought(order=_Wanted(row), spec=spec)
        self._seeker.look_up([sought])
        return line

    def looked_up(self, message: LookedUp) -> LookedUp:
        """Take what is for client rows; returns what is for others."""
        rest = []
        for found in message.found:
            line = self._lines.get(found.row)
            if line is None:
                rest.append(found)
            else:
                self._take_over(line, found)
        return LookedUp(tuple(rest))

    def _take_over(self, line: _Line, found: Found) -> None:
        line.ready = True
        if found.done and not line.keyed:
            self._rows.done(line.row, value=found.value, reused_from=found.source)
            self._reply(line, ClientReply(status=200, message=found.value))
            return
        if found.done:
            line.kept = list(found.value.get("turns") or ())
        elif found.entries and line.keyed:
            kept = TurnsKept(row=line.row, source=found.source, entries=found.entries)
            self._core.record(kept)
            line.kept = [e["content"] for e in found.entries if e["kind"] == "answer"]
        self._next(line)

    # -- calls -------------------------------------------------------------

    def _next(self, line: _Line) -> None:
        if line.busy is None and line.queue:
            line.busy = line.queue.popleft()
        if line.busy is None or not line.ready:
            return
        order = line.busy.order
        mark = _digest(order.body)
        for turn in line.kept:
            if turn.get("request") == mark:
                line.kept.remove(turn)
                line.turns.append(turn)
                self._reply(line, ClientReply(status=200, message=turn["message"]))
                return
        self._ask(line, order)

    def _ask(self, line: _Line, order: ClientOrder) -> None:
        size = _size(order.body)
        self._calls.ask(
            Request(
                row=line.row,
                model=line.spec.model,
                pool=line.spec.pool,
                turn=len(line.turns) + 1,
                body=lambda: order.body,
                path=order.path,
                headers=order.headers,
                new_bytes=size,
                known_input=0,
                cached=0,
                max_tokens=int(order.body.get("max_tokens") or MAX_TOKENS),
                on_answer=self._answered,
                on_final=self._failed,
                sink=order.sink,
                remaining=float(line.spec.estimate),
                answer=lambda outcome: _turn(order.body, outcome.message),
            )
        )

    def _answered(self, asked: Request, outcome: Answered, seq: int) -> None:
        line = self._lines[asked.row]
        assert line.busy is not None
        message = outcome.message
        line.turns.append(_turn(line.busy.order.body, message))
        if not line.keyed:
            self._end_call(line, message)
        reply = ClientReply(status=200, message=message)
        self._core.after(seq, lambda: self._reply(line, reply))

    def _end_call(self, line: _Line, message: Mapping[str, Any]) -> None:
        reason = message.get("stop_reason")
        if reason in NATURAL:
            self._rows.done(line.row, value=message)
        elif reason == "refusal":
            self._rows.missing(line.row, MissingKind.REFUSED, "the model refused")
        else:
            self._rows.missing(line.row, MissingKind.TRUNCATED, f"ended by {reason}")

    def _failed(
        self, asked: Request, kind: MissingKind, reason: str, outcome: Outcome | None
    ) -> None:
        line = self._lines[asked.row]
        if not line.keyed and self._rows.is_open(line.row):
            self._end(line, kind, reason)
        if isinstance(outcome, Refused):
            status = outcome.status if outcome.status != 200 else 500  # noqa: PLR2004
            headers = {"request-id": outcome.request_id or ""}
            self._reply(
                line, ClientReply(status=status, headers=headers, body=outcome.body)
            )
        elif outcome is not None:
            self._reply(line, ClientReply(status=504, body=_error(reason)))
        else:
            line.busy = None
            self._next(line)

    def _end(self, line: _Line, kind: MissingKind, reason: str) -> None:
        self._rows.missing(line.row, kind, reason)

    def _reply(self, line: _Line, reply: ClientReply) -> None:
        message, line.busy = line.busy, None
        if message is not None:
            message.on_reply(reply)
        self._next(line)

    def finish(self) -> None:
        """End keyed rows: the script is over and asks nothing more of them."""
        for line in self._lines.values():
            if not line.keyed or line.busy or not self._rows.is_open(line.row):
                continue
            if line.turns and line.turns[-1]["message"].get("stop_reason") in NATURAL:
                self._rows.done(line.row, value={"turns": line.turns})
            else:
                reason = "its last request got no whole answer"
                self._rows.missing(line.row, MissingKind.NO_OUTPUT, reason)

    async def _pass(self, message: ClientCame) -> None:
        order = message.order
        if self._pace is None:
            self._pace = AsyncLimiter(1, 1 / COUNTS_PER_SECOND)
        await self._pace.acquire()
        method = "post" if order.body else "get"
        status, headers, text = await self._api.plain(
            method, order.path, order.body or None
        )
        message.on_reply(ClientReply(status=status, headers=headers, body=text))


@dataclass(frozen=True, slots=True)
class _Wanted:
    row: RowId
    output: None = None


def _settled(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body determines its answer: streaming does not."""
    return {name: value for name, value in body.items() if name != "stream"}


def _digest(body: Mapping[str, Any]) -> str:
    return fingerprint(
        account="",
        model="",
        opening={"body": _settled(body)},
        input_digests=(),
        tool_versions={},
    )


def _turn(body: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    return {"request": _digest(body), "message": dict(message)}


def _size(body: Mapping[str, Any]) -> int:
    return len(canonical(_settled(body)))


def _error(message: str) -> str:
    error = {"type": "api_error", "message": message}
    return json.dumps({"type": "error", "error": error})
