"""Agents: from an order to `done` or `missing`, one step at a time.

    AgentsCame ─▶ scheduled ─▶ looked up ─▶ advance ─┬▶ Send ──▶ Calls.ask
                     ▲                               ├▶ RunTools ─▶ ToolsCame
                     └─ requeued                     ├▶ Check ────▶ Checked
                                                     └▶ End ──────▶ missing

`advance` asks the conversation what comes next and has it done; whatever comes
back is journaled, added to the conversation, and `advance` is asked again. No
coroutine lives as long as an agent does, so pausing, stopping and resuming need
nothing of their own here.
"""

from collections.abc import Callable
from typing import Any

from fanout.decide.conversation import (
    CORRECTIONS_MAX,
    Check,
    Conversation,
    End,
    RunTools,
    Send,
    corrections,
    last_usage,
    new_bytes,
    next_step,
    request,
    text_of,
)
from fanout.words.events import (
    AnswerSentBack,
    Noted,
    RowRequeued,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import Cause, MissingKind, RowId, Status
from fanout.words.outcome import Answered, Outcome
from fanout.words.snapshot import Live
from fanout.world.calls import Calls, Request
from fanout.world.core import Core
from fanout.world.messages import AgentsCame, Checked, Found, LookedUp, ToolsCame
from fanout.world.openings import Defaults, opening_of, spec_of
from fanout.world.performers import Performers
from fanout.world.rows import Rows, Work


class Agents:
    """All agents of a run."""

    def __init__(
        self,
        core: Core,
        *,
        rows: Rows,
        calls: Calls,
        performers: Performers,
        defaults: Defaults,
        stopping: Callable[[], tuple[MissingKind, str] | None],
    ) -> None:
        self._core = core
        self._rows = rows
        self._calls = calls
        self._performers = performers
        self._defaults = defaults
        self._stopping = stopping

    # -- orders ------------------------------------------------------------

    def came(self, message: AgentsCame) -> None:
        """Schedule what the script asked for, and look for earlier work."""
        wanted = []
        for order in message.orders:
            work = self._schedule(message, order)
            stop = self._stopping()
            if order.upstream is not None:
                self._rows.missing(order.row, MissingKind.UPSTREAM, order.upstream)
            elif stop is not None:
                self._rows.missing(order.row, *stop)
            else:
                wanted.append(work)
        if wanted:
            self._performers.look_up(wanted)

    def _schedule(self, message: AgentsCame, order: Any) -> Work:
        opening = opening_of(order, self._defaults)
        spec = spec_of(order, opening, self._defaults, self._core.expect_input)
        work = Work(
            order=order,
            spec=spec,
            conversation=Conversation(opening),
            on_end=message.on_end,
            on_reopen=message.on_reopen,
        )
        self._rows.works[order.row] = work
        self._rows.enter_phase(order.row.phase, None)
        self._core.record(RowScheduled(row=order.row, spec=spec, opening=opening))
        return work

    def looked_up(self, message: LookedUp) -> None:
        """Take over what earlier work offers, and begin the rest."""
        for found in message.found:
            if not self._rows.is_open(found.row):
                continue
            if found.note:
                self._core.record(Noted(source="log", text=found.note, row=found.row))
            if found.done:
                self._reuse(found)
                continue
            if found.entries:
                self._continue(found)
            self.advance(found.row)

    def _reuse(self, found: Found) -> None:
        self._rows.done(
            found.row,
            value=found.value,
            output=found.output,
            sha256=found.sha256,
            size=found.size,
            reused_from=found.source,
            files=(found.files_read, found.files_written),
        )

    def _continue(self, found: Found) -> None:
        work = self._rows.works[found.row]
        kept = Conversation(work.conversation.opening, found.entries)
        if isinstance(next_step(kept), End):
            # Its turns led to an end already; only new ones can lead elsewhere.
            return
        self._core.record(
            TurnsKept(row=found.row, source=found.source, entries=found.entries)
        )
        work.conversation = kept
        work.files_read.update(found.files_read)
        work.files_written.update(found.files_written)

    # -- steps -------------------------------------------------------------

    def advance(self, row: RowId) -> None:
        """Do what the conversation says comes next."""
        work = self._rows.works.get(row)
        if work is None or not self._rows.is_open(row):
            return
        step = next_step(work.conversation)
        stop = self._stopping()
        match step:
            case Check():
                # An answer that is paid for is kept, also while stopping.
                self._show(row, Cause.CHECKING, f"checking {work.order.output or ''}")
                self._performers.check(work, step.text)
            case End():
                self._rows.missing(row, step.kind, step.reason, self._kept(work))
            case _ if stop is not None:
                self._rows.missing(row, *stop, self._kept(work))
            case RunTools():
                names = ", ".join(str(use.get("name")) for use in step.uses)
                self._show(row, Cause.TOOLS, names)
                self._performers.run_tools(work, step.uses)
            case Send():
                self._ask(work)

    def _ask(self, work: Work) -> None:
        conversation = work.conversation
        usage = last_usage(conversation)
        seen = usage.get("cache_read_input_tokens", 0) + usage.get(
            "cache_creation_input_tokens", 0
        )
        known = seen + usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        self._calls.ask(
            Request(
                row=work.order.row,
                model=work.spec.model,
                pool=work.spec.pool,
                turn=conversation.turns + 1,
                body=lambda: request(work.conversation),
                new_bytes=new_bytes(conversation),
                known_input=known,
                cached=seen,
                max_tokens=work.spec.max_tokens,
                on_answer=self._answered,
                on_final=self._failed,
                remaining=float(work.spec.estimate),
            )
        )

    def _answered(self, asked: Request, outcome: Answered, seq: int) -> None:
        work = self._rows.works[asked.row]
        work.conversation = work.conversation.with_entry(
            {
                "kind": "answer",
                "content": outcome.message.get("content") or [],
                "stop_reason": outcome.message.get("stop_reason"),
                "usage": outcome.usage.as_dict(),
            }
        )
        self._core.after(seq, lambda: self.advance(asked.row))

    def _failed(
        self, asked: Request, kind: MissingKind, reason: str, _outcome: Outcome | None
    ) -> None:
        work = self._rows.works.get(asked.row)
        if work is None or not self._rows.is_open(asked.row):
            return
        self._rows.missing(asked.row, kind, reason, self._kept(work))

    def tools_came(self, message: ToolsCame) -> None:
        """Journal what the tools gave, and go on."""
        self._core.flying.discard(message.row)
        self._core.live.pop(message.row, None)
        work = self._rows.works.get(message.row)
        if work is None or not self._rows.is_open(message.row):
            return
        work.files_read.update(message.files_read)
        work.files_written.update(message.files_written)
        seq = self._core.record(
            ToolsRan(
                row=message.row,
                turn=work.conversation.turns,
                results=message.results,
                files_read=message.files_read,
                files_written=message.files_written,
            )
        )
        work.conversation = work.conversation.with_entry(
            {"kind": "results", "content": list(message.results)}
        )
        self._core.after(seq, lambda: self.advance(message.row))

    def checked(self, message: Checked) -> None:
        """End the row as done, send the answer back, or give it up."""
        self._core.flying.discard(message.row)
        self._core.live.pop(message.row, None)
        work = self._rows.works.get(message.row)
        if work is None or not self._rows.is_open(message.row):
            return
        if not message.problem:
            self._rows.done(
                message.row,
                value=message.value,
                output=message.output,
                sha256=message.sha256,
                size=message.size,
                files=(work.files_read, work.files_written),
            )
        elif message.kind is not None or self._spent(work):
            kind = message.kind or MissingKind.INVALID
            self._rows.missing(message.row, kind, message.problem, self._kept(work))
        else:
            self._send_back(work, message.problem)

    def _send_back(self, work: Work, problem: str) -> None:
        # Not durable: a life that lost it holds the same answer against the same
        # expectation and sends it back in the same words.
        row = work.order.row
        self._core.record(AnswerSentBack(row=row, problem=problem))
        work.conversation = work.conversation.with_entry(
            {"kind": "correction", "problem": problem}
        )
        self.advance(row)

    def _spent(self, work: Work) -> bool:
        return corrections(work.conversation) >= CORRECTIONS_MAX

    def _kept(self, work: Work) -> str | None:
        """Return the last text an agent gave, whatever became of it."""
        for entry in reversed(work.conversation.entries):
            if entry["kind"] == "answer":
                text = text_of(entry["content"])
                if text:
                    return text
        return None

    def _show(self, row: RowId, cause: Cause, note: str) -> None:
        self._core.flying.add(row)
        wall = self._core.clock.wall()
        self._core.live[row] = Live(cause=cause, note=note.strip(), active_at=wall)

    # -- requeue -----------------------------------------------------------

    def requeue(self, row: RowId) -> bool:
        """Reopen a missing row; says whether it could be."""
        work = self._rows.works.get(row)
        known = self._core.state.rows.get(row)
        if work is None or known is None or known.status is not Status.MISSING:
            return False
        if work.order.upstream is not None:
            return False
        fresh = _must_start_over(work.conversation)
        if fresh:
            work.conversation = Conversation(work.conversation.opening)
            work.wrote_output = False
        self._core.record(RowRequeued(row=row, fresh=fresh))
        work.on_reopen(row)
        self.advance(row)
        return True


def _must_start_over(conversation: Conversation) -> bool:
    """A conversation whose next step is its end would only end again."""
    return isinstance(next_step(conversation), End | Check)
