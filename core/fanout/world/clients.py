"""Requests that a script makes through `client()`: admitted like any other call.

Without a key each request is a row of its own, `call-0007` of its phase. With a
key all requests of that client are turns of one row, which stays open until the
script ends. Either way the answer is journaled under the request's digest, so
that the same request in a later life is answered from the journal.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from fanout.decide.fingerprint import fingerprint
from fanout.decide.histories import Histories
from fanout.decide.parts.content import of_body
from fanout.words.events import RowScheduled, TurnsKept
from fanout.words.model import MissingKind, RowId, RowSpec
from fanout.words.orders import ClientOrder, ClientReply
from fanout.words.outcome import Answered, Outcome, Refused
from fanout.world.agent.openings import MAX_TOKENS, Defaults
from fanout.world.calls import Calls
from fanout.world.clientlines import (
    ClientLine,
    Sought,
    Wanted,
    cancelled,
    error_body,
    kept_turn,
    max_tokens_of,
    settled,
    size_of,
    turn_of,
)
from fanout.world.core import Core
from fanout.world.messages import ClientCame, ClientGone, Found, LookedUp
from fanout.world.pacing import CountPace
from fanout.world.request import Request
from fanout.world.rows import Rows
from fanout.world.spend.waves import Waves

MESSAGES = "/v1/messages"
NATURAL = ("end_turn", "stop_sequence", "tool_use", "pause_turn")


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
        waves: Waves,
        defaults: Defaults,
        pace: CountPace,
    ) -> None:
        self._core = core
        self._rows = rows
        self._calls = calls
        self._api = api
        self._seeker = seeker
        self._waves = waves
        self._defaults = defaults
        self._lines: dict[RowId, ClientLine] = {}
        self._histories = Histories()
        self._by_order: dict[int, ClientLine] = {}
        """Where each request waits, by the identity of its order."""
        self._numbers: dict[str, int] = {}
        self._pace = pace

    def came(self, message: ClientCame) -> None:
        """Take a request of the script."""
        order = message.order
        if order.path.partition("?")[0] != MESSAGES:
            self._core.spawn(self._pass(message), f"pass {order.path}")
            return
        line = self._line(order)
        if line.closed:
            message.on_reply(cancelled(line.closed))
            return
        self._by_order[id(order)] = line
        line.queue.append(message)
        self._next(line)

    def gone(self, message: ClientGone) -> None:
        """The script gave a request up."""
        line = self._by_order.pop(id(message.order), None)
        if line is None:
            return
        if line.busy is None or line.busy.order is not message.order:
            # Of two requests that say the same, only this one is meant.
            kept = (w for w in line.queue if w.order is not message.order)
            line.queue = deque(kept)
            return
        kind, reason = MissingKind.CANCELLED, "cancelled by the script"
        if self._calls.give_up(line.row, kind, reason):
            return
        if not line.keyed:
            self._end(line, kind, reason)
        self._reply(line, line.busy, cancelled(reason))

    def cancel(self, row: RowId, kind: MissingKind, reason: str) -> bool:
        """End a client's row, and what its script waits for; False if it is none."""
        line = self._lines.get(row)
        if line is None:
            return False
        line.closed = reason
        if not self._calls.give_up(row, kind, reason):
            self._close(line, kind, reason)
        return True

    def _close(self, line: ClientLine, kind: MissingKind, reason: str) -> None:
        self._end(line, kind, reason)
        waiting = [line.busy, *line.queue]
        line.busy = None
        line.queue.clear()
        for message in waiting:
            if message is not None:
                self._answer(message, cancelled(reason))

    # -- rows --------------------------------------------------------------

    def _line(self, order: ClientOrder) -> ClientLine:
        row = order.row
        if row is None:
            number = self._numbers.get(order.phase, 0) + 1
            self._numbers[order.phase] = number
            row = RowId(order.phase, f"call-{number:04d}")
        line = self._lines.get(row)
        if line is None:
            line = self._open(row, order)
            self._lines[row] = line
        elif not self._rows.is_open(row):
            line.closed = line.closed or f"{row} has ended"
        return line

    def _open(self, row: RowId, order: ClientOrder) -> ClientLine:
        keyed = order.row is not None
        model = str(order.body.get("model") or self._defaults.model)
        opening = {"client": row.key} if keyed else {"body": settled(order.body)}
        mark = fingerprint(
            account=self._defaults.account,
            model=model,
            opening=opening,
            input_digests=(),
            tool_versions={},
        )
        size = size_of(order.body)
        spec = RowSpec(
            kind="client",
            model=model,
            pool=self._defaults.pool_of(model),
            fingerprint=mark,
            max_tokens=max_tokens_of(order.body, MAX_TOKENS),
            max_turns=0,
            estimate=self._core.expect_input(model, row.phase, size),
            size=size,
            tools=bool(order.body.get("tools")),
            content=of_body(order.body),
        )
        line = ClientLine(row, keyed, spec)
        if self._rows.already_ended(row):
            line.closed = f"{row} had ended before its first request"
            return line
        self._rows.enter_phase(row.phase, None)
        self._core.record(RowScheduled(row=row, spec=spec, opening=dict(order.body)))
        sought = Sought(order=Wanted(row), spec=spec, opening=order.body)
        self._waves.sought(1)
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

    def _take_over(self, line: ClientLine, found: Found) -> None:
        line.ready = True
        if not self._rows.is_open(line.row):
            return
        self._waves.found(found, kept=bool(found.entries))
        if found.done and not line.keyed:
            self._rows.done(line.row, value=found.value, reused_from=found.source)
            self._forget(line)
            if line.busy is not None:
                reply = ClientReply(status=200, message=found.value)
                self._reply_kept(line, line.busy, reply)
            return
        if found.done:
            line.kept = list(found.value.get("turns") or ())
        elif found.entries and line.keyed:
            kept = TurnsKept(row=line.row, source=found.source, entries=found.entries)
            self._core.record(kept)
            line.kept = [e["content"] for e in found.entries if e["kind"] == "answer"]
        self._next(line)

    # -- calls -------------------------------------------------------------

    def _next(self, line: ClientLine) -> None:
        """Answer what was answered before; ask for the first that was not."""
        while line.busy is not None or line.queue:
            if line.busy is None:
                line.busy = line.queue.popleft()
                line.asked = False
            if line.asked or not line.ready:
                return
            turn = kept_turn(line, line.busy.order)
            if turn is None:
                line.asked = True
                self._ask_in_turn(line, line.busy)
                return
            message, line.busy = line.busy, None
            line.turns.append(turn)
            line.failed = None
            self._answer(message, ClientReply(status=200, message=turn["message"]))

    def _ask_in_turn(self, line: ClientLine, message: ClientCame) -> None:
        """Ask once the row may spend, if the script still waits for it then."""

        def go(_: RowId) -> None:
            if line.busy is message and self._rows.is_open(line.row):
                self._ask(line, message.order)

        if self._waves.admits(line.row, go):
            go(line.row)

    def _ask(self, line: ClientLine, order: ClientOrder) -> None:
        known = self._histories.look_up(order.body)
        model = str(order.body.get("model") or line.spec.model)
        self._calls.ask(
            Request(
                row=line.row,
                model=model,
                pool=self._defaults.pool_of(model),
                turn=known.turn,
                conversation=known.conversation or str(line.row),
                body=lambda: order.body,
                path=order.path,
                headers=order.headers,
                new_bytes=known.new_bytes,
                known_input=known.tokens,
                cached=known.cached,
                max_tokens=max_tokens_of(order.body, MAX_TOKENS),
                on_answer=self._answered,
                on_final=self._failed,
                sink=order.sink,
                answer=lambda outcome: turn_of(order.body, outcome.message),
            )
        )

    def _answered(self, asked: Request, outcome: Answered, seq: int) -> None:
        line = self._lines[asked.row]
        busy = line.busy
        assert busy is not None, "an answer that nobody asked for"
        message = outcome.message
        self._histories.learn(
            busy.order.body, asked.turn, outcome.usage, asked.conversation
        )
        line.turns.append(turn_of(busy.order.body, message))
        line.failed = None
        if not line.keyed:
            self._end_call(line, message)
        reply = ClientReply(status=200, message=message)
        self._core.after(seq, lambda: self._reply(line, busy, reply))

    def _end_call(self, line: ClientLine, message: Mapping[str, Any]) -> None:
        reason = message.get("stop_reason")
        if reason in NATURAL:
            self._rows.done(line.row, value=message)
            self._forget(line)
        elif reason == "refusal":
            self._end(line, MissingKind.REFUSED, "the model refused")
        else:
            self._end(line, MissingKind.TRUNCATED, f"ended by {reason}")

    def _failed(
        self, asked: Request, kind: MissingKind, reason: str, outcome: Outcome | None
    ) -> None:
        line = self._lines.get(asked.row)
        if line is None:
            return
        if line.closed:
            self._close(line, kind, reason)
            return
        line.failed = kind, reason
        if not line.keyed:
            self._end(line, kind, reason)
        if line.busy is None:
            return
        reply = cancelled(reason)
        if isinstance(outcome, Refused):
            status = outcome.status if outcome.status != 200 else 500  # noqa: PLR2004
            headers = {"request-id": outcome.request_id or ""}
            body = outcome.body or error_body(reason)
            reply = ClientReply(status=status, headers=headers, body=body)
        elif outcome is not None:
            reply = ClientReply(status=504, body=error_body(reason))
        self._reply_kept(line, line.busy, reply)

    def _end(self, line: ClientLine, kind: MissingKind, reason: str) -> None:
        if self._rows.is_open(line.row):
            self._rows.missing(line.row, kind, reason)
            self._forget(line)

    def _forget(self, line: ClientLine) -> None:
        """A call's own row has ended: nothing of it is needed any more."""
        if not line.keyed:
            self._lines.pop(line.row, None)

    def _reply(self, line: ClientLine, message: ClientCame, reply: ClientReply) -> None:
        self._answer(message, reply)
        if line.busy is message:
            line.busy = None
            self._next(line)

    def _reply_kept(
        self, line: ClientLine, message: ClientCame, reply: ClientReply
    ) -> None:
        """Reply once everything that led to it is on disk."""
        seq = self._core.durable_seq
        self._core.after(seq, lambda: self._reply(line, message, reply))

    def _answer(self, message: ClientCame, reply: ClientReply) -> None:
        """Reply, unless that was done already or nobody waits for it."""
        if self._by_order.pop(id(message.order), None) is not None:
            message.on_reply(reply)

    def finish(self) -> None:
        """End keyed rows: the script is over and asks nothing more of them."""
        for line in tuple(self._lines.values()):
            if not line.keyed or line.busy or not self._rows.is_open(line.row):
                continue
            if line.failed is not None:
                self._end(line, *line.failed)
            elif line.turns and _is_whole(line.turns[-1]["message"]):
                self._rows.done(line.row, value={"turns": line.turns})
            else:
                reason = "its last request got no whole answer"
                self._end(line, MissingKind.NO_OUTPUT, reason)

    async def _pass(self, message: ClientCame) -> None:
        order = message.order
        await self._pace.wait()
        method = "post" if order.body else "get"
        status, headers, text = await self._api.plain(
            method, order.path, order.body or None
        )
        message.on_reply(ClientReply(status=status, headers=headers, body=text))


def _is_whole(message: Mapping[str, Any]) -> bool:
    return message.get("stop_reason") in NATURAL
