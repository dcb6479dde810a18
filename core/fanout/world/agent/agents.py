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

from collections.abc import Callable, Sequence

from fanout.decide.again import UNUSABLE
from fanout.decide.conversation import (
    CORRECTIONS_MAX,
    Check,
    Conversation,
    End,
    RunTools,
    Send,
    corrections,
    next_step,
)
from fanout.decide.fold.run_state import worked
from fanout.words.ahead import RunsAgain
from fanout.words.events import (
    AnswerSentBack,
    Noted,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import Cause, MissingKind, RowId
from fanout.words.orders import AgentOrder
from fanout.words.outcome import Answered, Outcome
from fanout.words.snapshot import Live
from fanout.world.agent.asking import request_of
from fanout.world.agent.openings import (
    ERRORS,
    Defaults,
    Openings,
    wrote_output,
)
from fanout.world.agent.performers import Performers
from fanout.world.core import Core
from fanout.world.lanes import Lanes
from fanout.world.messages import AgentsCame, Checked, Found, LookedUp, ToolsCame
from fanout.world.request import Request
from fanout.world.rows import Rows, Work
from fanout.world.spend.budgets import Budgets
from fanout.world.spend.waves import Waves


class Agents:
    """All agents of a run."""

    def __init__(
        self,
        core: Core,
        *,
        rows: Rows,
        lanes: Lanes,
        performers: Performers,
        defaults: Defaults,
        waves: Waves,
        budgets: Budgets,
        stopping: Callable[[], tuple[MissingKind, str] | None],
    ) -> None:
        self._core = core
        self.rows = self._rows = rows
        self._lanes = lanes
        self._performers = performers
        self._openings = Openings(defaults, core.expect_input)
        self._waves = waves
        self._budgets = budgets
        self.stopping = self._stopping = stopping
        # Bound once, for all that wait.
        self._go_on_later = self.advance
        self._on_answer, self._on_final = self._answered, self._failed

    # -- orders ------------------------------------------------------------

    def came(self, message: AgentsCame) -> None:
        """Schedule what the script asked for, and look for earlier work."""
        wanted = []
        for order in message.orders:
            work = self._work(message, order)
            self._rows.works[order.row] = work
            if self._rows.already_ended(order.row):
                # Declared ahead, and cancelled or stopped before it came.
                work.recorded = False
                self._rows.tell_again(work)
                continue
            self.record(work)
            self._budgets.bound_agent(order.row, order.budget, work.spec.model)
            stop = self._stopping()
            if order.upstream is not None:
                self._rows.missing(order.row, MissingKind.UPSTREAM, order.upstream)
            elif stop is not None:
                self._rows.missing(order.row, *stop)
            else:
                wanted.append(work)
        self.look_up(wanted)

    def look_up(self, works: Sequence[Work]) -> None:
        """Search earlier work for these rows; ends in `looked_up`."""
        for work in works:
            work.sought = True
        if works:
            self._waves.sought(len(works))
            self._performers.look_up(works)

    def _work(self, message: AgentsCame, order: AgentOrder) -> Work:
        opening = self._openings.of(order)
        return Work(
            order=order,
            spec=self._openings.spec(order, opening),
            conversation=Conversation(opening),
            on_end=message.on_end,
            on_reopen=message.on_reopen,
        )

    def record(self, work: Work) -> None:
        """Journal that the script asked for a row."""
        row = work.order.row
        self._rows.enter_phase(row.phase, None)
        opening = work.conversation.opening
        self._core.record(RowScheduled(row=row, spec=work.spec, opening=opening))

    def looked_up(self, message: LookedUp) -> None:
        """Take over what earlier work offers, and begin the rest."""
        for found in message.found:
            work = self._rows.works[found.row]
            work.sought = False
            if self._rows.is_open(found.row):
                self.begin(work, found)
            else:
                # It is used up by now: kept for whoever reopens the row.
                work.found = found

    def begin(self, work: Work, found: Found) -> None:
        """Begin a row with what earlier work offers it."""
        row = found.row
        if found.note:
            self._core.record(Noted(source="log", text=found.note, row=row))
        if found.problem:
            work.found = found
            self._rows.missing(row, found.kind, found.problem)
            return
        if found.done:
            self._reuse(found)
            self._waves.found(found)
            return
        kept = bool(found.entries) and self._hold(work, found)
        self._waves.found(found, kept=kept)
        self.advance(row)

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

    def _hold(self, work: Work, found: Found) -> bool:
        """Hold turns of an earlier life, if they can still lead somewhere."""
        kept = Conversation(work.conversation.opening, found.entries)
        if isinstance(next_step(kept), End):
            # Its turns led to an end already; only new ones can lead elsewhere.
            return False
        work.conversation = kept
        work.kept = found
        return True

    def _take_up(self, work: Work) -> None:
        """Go on with held turns: from here on they are this row's own."""
        found, work.kept = work.kept, None
        if found is None:
            return
        self._core.record(
            TurnsKept(row=found.row, source=found.source, entries=found.entries)
        )
        work.touched(found.files_read, found.files_written)

    # -- steps -------------------------------------------------------------

    def advance(self, row: RowId) -> None:
        """Do what the conversation says comes next."""
        work = self._rows.works.get(row)
        if work is None or not self._rows.is_open(row):
            return
        work.begin()
        work.failing = None
        step = next_step(work.conversation)
        if not isinstance(step, Check):
            self._take_up(work)
        stop = self._stopping()
        match step:
            case Check():
                # An answer that is paid for is kept, also while stopping.
                work.judged = False
                self._check(work, step.text)
            case End():
                self._fail(work, step.kind, step.reason)
            case _ if stop is not None:
                self._rows.missing(row, *stop, work.last_text())
            case RunTools() | Send():
                self._go(work, step)

    def _go(self, work: Work, step: RunTools | Send) -> None:
        """Take a step that is open to it, unless it has worked long enough."""
        row = work.order.row
        if text := self._too_long(work):
            self._fail(work, MissingKind.TIMEOUT, text)
        elif self._waves.admits(row, self._go_on_later):
            self._spend(work, step)

    def _too_long(self, work: Work) -> str:
        """Say that it has worked as long as it may; empty while it has not."""
        most = work.order.max_seconds
        if most is None:
            return ""
        took = worked(self._core.state.rows[work.order.row], self._core.clock.wall())
        if took < most:
            return ""
        return f"worked {took:.0f} s, and max_seconds={most:g} allows no new turn"

    def _spend(self, work: Work, step: RunTools | Send) -> None:
        """Take a step that costs something, or may have effects."""
        if isinstance(step, Send):
            self._ask(work)
            return
        names = ", ".join(str(use.get("name")) for use in step.uses)
        self._show(work.order.row, Cause.TOOLS, names)
        self._performers.run_tools(work, step.uses)

    def _ask(self, work: Work) -> None:
        self._lanes.ask(
            request_of(work, on_answer=self._on_answer, on_final=self._on_final)
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
        self._go_on(work, seq)

    def _go_on(self, work: Work, seq: int) -> None:
        """Advance once the record is on disk, unless the row went elsewhere."""
        step = work.begin()

        def go_on() -> None:
            if work.step == step:
                self.advance(work.order.row)

        self._core.after(seq, go_on)

    def _failed(
        self, asked: Request, kind: MissingKind, reason: str, _outcome: Outcome | None
    ) -> None:
        work = self._rows.works.get(asked.row)
        if work is None or not self._rows.is_open(asked.row):
            return
        self._fail(work, kind, reason)

    def _fail(self, work: Work, kind: MissingKind, reason: str) -> None:
        """End a row that failed, unless it had written its output before."""
        row = work.order.row
        if kind in ERRORS and work.order.output and wrote_output(work.conversation):
            work.begin()
            work.failing = (kind, reason)
            self._check(work, "")
        else:
            self._rows.missing(row, kind, reason, work.last_text())

    def _check(self, work: Work, text: str) -> None:
        note = f"checking {work.order.output or ''}"
        self._show(work.order.row, Cause.CHECKING, note)
        self._performers.check(work, text)

    def _expecting(self, message: ToolsCame | Checked) -> Work | None:
        """Return the work that waits for this; None for what comes too late."""
        work = self._rows.works.get(message.row)
        if work is None or work.step != message.step:
            return None
        self._core.flying.discard(message.row)
        self._core.live.pop(message.row, None)
        return work

    def tools_came(self, message: ToolsCame) -> None:
        """Journal what the tools gave, and go on."""
        work = self._expecting(message)
        if work is None:
            return
        work.touched(message.files_read, message.files_written)
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
        self._go_on(work, seq)

    def checked(self, message: Checked) -> None:
        """End the row as done, send the answer back, or give it up."""
        work = self._expecting(message)
        if work is None:
            return
        final = message.kind is not None or self._spent(work)
        if message.problem and final and work.kept is not None and not message.again:
            self._begin_anew(work, message.problem)
            return
        self._take_up(work)
        work.judged = not message.again
        failing, work.failing = work.failing, None
        if failing is not None:
            text = f"failed after its output was written: {failing[1]}"
            self._core.record(Noted(source="log", text=text, row=message.row))
        if message.problem and failing is not None:
            self._rows.missing(message.row, *failing, work.last_text())
        elif not message.problem:
            self._rows.done(
                message.row,
                value=message.value,
                output=message.output,
                sha256=message.sha256,
                size=message.size,
                files=(work.files_read, work.files_written),
            )
        elif final:
            kind = message.kind or MissingKind.INVALID
            self._rows.missing(message.row, kind, message.problem, work.last_text())
        else:
            self._send_back(work, message.problem)

    def _begin_anew(self, work: Work, problem: str) -> None:
        """What an earlier life had left cannot be used, and nothing is left to say."""
        row = work.order.row
        self._core.record(RunsAgain(row=row, why=UNUSABLE, detail=problem))
        work.start_over()
        self.advance(row)

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

    def _show(self, row: RowId, cause: Cause, note: str) -> None:
        self._core.flying.add(row)
        wall = self._core.clock.wall()
        self._core.live[row] = Live(cause=cause, note=note.strip(), active_at=wall)

    # -- giving up ----------------------------------------------------------

    def give_up_tools(self, row: RowId) -> None:
        """The row ends while its tools run, or its answer is checked."""
        self._core.flying.discard(row)
        self._performers.give_up_tools(row)

    def stop_tools(self, kind: MissingKind, reason: str) -> None:
        """A stop at once does not wait for tools, however long they take."""
        for row in self._performers.rows_with_tools:
            self.give_up_tools(row)
            work = self._rows.works.get(row)
            if work is not None and self._rows.is_open(row):
                self._rows.missing(row, kind, reason, work.last_text())
