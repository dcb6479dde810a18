"""The engine: takes what is posted, decides, and has it done.

One turn of the loop: drain the inbox, let the desks turn messages into facts,
do what the disk has confirmed and what has come due, plan, start what the plan
says, sleep until something happens or the plan's next look. Nothing here waits
for the network, the disk or the script.

    what decides      fanout.decide       plan, why, next_step, apply
    what it knows     Core                state, account, journal, log
    what performs     Calls, Agents, Clients, Performers, Stopping
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fanout.decide.admission.line import Ticket
from fanout.decide.admission.planner import Block, plan
from fanout.decide.money.budget import Refusal, Scope
from fanout.words import commands as ask
from fanout.words.clean import shortened
from fanout.words.counted import of_them
from fanout.words.events import (
    CeilingSet,
    LimitsLearned,
    Noted,
    RunEnded,
    RunPaused,
    RunResumed,
)
from fanout.words.hiding import redact
from fanout.words.model import Cause, MissingKind, RowId, Status
from fanout.words.orders import RowOutcome
from fanout.words.snapshot import Snapshot
from fanout.words.timeouts import duration
from fanout.world import messages as said
from fanout.world.agent.performers import Threads
from fanout.world.caretaker import Caretaker
from fanout.world.clientlines import cancelled
from fanout.world.core import Core
from fanout.world.desks import Desks
from fanout.world.keeping import Keep, Keeping
from fanout.world.observing import Observer
from fanout.world.snapshots import Publisher

CEILING_MAX = 900
"""Below the HTTP pool's 1,000 connections, which would queue without a word."""
SCRIPTS = frozenset(
    {
        said.PhaseCame,
        said.ExpectCame,
        said.WithdrawCame,
        said.AgentsCame,
        said.ClientCame,
        said.FinishMissing,
    }
)
"""What only a script asks for."""
LONG = (said.ExpectCame, said.AgentsCame, said.LookedUp)
"""What takes its time: one of these a turn of the loop."""
NOTE_MAX = 20_000
"""Characters of one log line."""


class Engine:
    """Runs one life of a run on the current loop."""

    def __init__(
        self,
        core: Core,
        desks: Desks,
        *,
        publisher: Publisher,
        linger: bool,
        export: Callable[[Snapshot, tuple[str, ...]], list[str]],
        threads: Threads,
        patience: float | None = None,
        keep: Keep | None = None,
    ) -> None:
        """`patience`: how long what only a person can mend is waited for."""
        self.core = core
        self.desks = desks
        self.publisher = publisher
        self._observer = Observer(core, publisher)
        self._keeping = Keeping(core, publisher, threads, keep)
        self._linger = linger
        self._export = export
        self._threads = threads
        self._closing = False
        self._caretaker = Caretaker(core, desks.stopping.stop, patience)
        if patience is not None:
            desks.calls.reaching.give_up_after(patience, desks.stopping.stop)
        self._handlers = self._table()
        desks.waves.end = self._end
        desks.waves.stop = desks.question.stop = desks.stopping.stop
        publisher.asking = lambda: desks.question.asking
        publisher.outlook = desks.waves.outlook
        publisher.shorts = lambda: desks.budgets.asking
        publisher.phase_budgets = desks.budgets.views
        core.set_aside = desks.budgets.gates

    def _table(self) -> dict[type, Callable[[Any], None]]:
        desks = self.desks
        rows, calls, agents = desks.rows, desks.calls, desks.agents
        return {
            said.Committed: lambda _: None,
            said.PhaseCame: self._phase_came,
            said.ExpectCame: lambda m: rows.expect(m.rows),
            said.WithdrawCame: lambda m: rows.withdraw(m.rows),
            said.AgentsCame: self._agents_came,
            said.ClientCame: self._client_came,
            said.ClientGone: desks.clients.gone,
            said.FinishMissing: self._finish_missing,
            said.ScriptCame: desks.stopping.script_came,
            said.Opened: calls.opened,
            said.InputKnown: calls.input_known,
            said.Progressed: calls.progressed,
            said.Came: calls.came,
            said.BatchCame: desks.batches.came,
            said.BatchRead: desks.batches.read,
            said.ToolsCame: agents.tools_came,
            said.Checked: agents.checked,
            said.LookedUp: self._looked_up,
            said.Quiet: desks.waves.quiet,
            said.Counted: desks.counting.came,
            ask.Pause: lambda _: self._pause(paused=True),
            ask.Resume: lambda _: self._pause(paused=False),
            ask.SetCeiling: lambda m: self._set_ceiling(m.ceiling),
            ask.ChangeCeiling: self._change_ceiling,
            ask.Requeue: self._requeue,
            ask.CancelRow: self._cancel,
            ask.Stop: desks.stopping.stop,
            ask.Note: self._note,
            ask.Answer: desks.waves.answered,
            ask.RaiseBudget: self._raise_budget,
            ask.KeepBudget: desks.budgets.keep,
            ask.Export: self._export_report,
            said.Wanted: lambda _: None,
            said.Close: self._close,
            said.DiskFailed: self._caretaker.disk_failed,
            said.NoRoom: self._caretaker.no_room,
            said.Woke: self._woke,
        }

    # -- the loop ----------------------------------------------------------

    async def run(self) -> RunEnded | None:
        """Work until the run has ended and nobody lingers; returns its last end."""
        core = self.core
        try:
            async with asyncio.TaskGroup() as tasks:
                core.bind(asyncio.get_running_loop(), tasks)
                while not self.is_over():
                    await core.wait(core.decision.look_again)
                    self._turn()
                tasks.create_task(_finish(), name="finish")
        except* Finished:
            pass
        finally:
            core.leave()
        return core.state.end

    def _turn(self) -> None:
        core = self.core
        for message in core.drain(upto=LONG):
            if isinstance(message, BaseException):
                raise message
            of_script = type(message) in SCRIPTS
            if of_script:
                self.desks.waves.stir()
            if of_script and self._is_too_late():
                self._refuse(message)
            else:
                self._handlers[type(message)](message)
        core.committed()
        core.run_due()
        self.desks.waves.settle()
        self.desks.budgets.settle()
        self._plan()
        core.committed()
        self._settle()
        self._observer.look()
        if self._linger and not self._closing:
            self._keeping.look()
        self.publisher.publish()

    def _phase_came(self, message: said.PhaseCame) -> None:
        holds = self.desks.budgets.bound_phase(message.phase, message.budget)
        self.desks.rows.enter_phase(message.phase, message.allow_missing, holds)

    def _agents_came(self, message: said.AgentsCame) -> None:
        phases = dict.fromkeys(order.row.phase for order in message.orders)
        self.desks.stopping.hold_to_tolerance(phases)
        self.desks.stale.note(message.orders)
        self.desks.batches.note_tools(message.orders)
        self.desks.agents.came(message)
        self.desks.stale.crossed(message.orders)

    def _client_came(self, message: said.ClientCame) -> None:
        self.desks.stopping.hold_to_tolerance((message.order.phase,))
        self.desks.clients.came(message)

    def _looked_up(self, message: said.LookedUp) -> None:
        desks = self.desks
        desks.waves.looked_up(message)
        desks.agents.looked_up(desks.clients.looked_up(message))

    def _is_too_late(self) -> bool:
        """The run has ended: what a thread of the script still asks is not done."""
        return self.desks.stopping.over

    def _refuse(self, message: object) -> None:
        reason = "the run had ended"
        if isinstance(message, said.ClientCame):
            message.on_reply(cancelled(reason))
        elif isinstance(message, said.AgentsCame):
            for order in message.orders:
                message.on_end(
                    RowOutcome(
                        row=order.row,
                        done=False,
                        kind=MissingKind.SCRIPT,
                        reason=reason,
                    )
                )

    def _settle(self) -> None:
        """End what can end; each end may allow the next."""
        before = -1
        while before != self.core.state.seq:
            before = self.core.state.seq
            self.desks.stopping.settle()
            self.core.committed()

    def is_over(self) -> bool:
        """The run has ended, all is on disk, and nobody wants to go on with it."""
        ended = self.desks.stopping.over and not self.core.unsettled
        left = not self._linger or self._closing
        return ended and left and not self._keeping.busy

    def _plan(self) -> None:
        core = self.core
        state = core.state
        closed: Cause | None = None
        if self.desks.stopping.cause() is not None:
            closed = Cause.STOPPING
        elif core.disk:
            closed = Cause.DISK
        elif state.paused:
            closed = Cause.PAUSED
        core.closed = closed
        now = core.clock.now()
        decision = plan(core.account, now, open=closed is None, cause_if_closed=closed)
        core.decision = decision
        while not self._start(core.decision.starts):
            # What was set aside had held up what stands behind it.
            core.decision = plan(core.account, now)
        for learned in core.account.limits_learned():
            self._learned(learned)
        for text in core.account.notes():
            core.record(Noted(source="engine", text=text))

    def _start(self, tickets: Sequence[Ticket]) -> bool:
        """Start what budgets allow; False when some were set aside for theirs."""
        calls, whole = self.desks.calls, True
        for ticket in tickets:
            refusal = calls.refusal(ticket)
            if refusal is None:
                calls.start(ticket)
            elif refusal.scope is Scope.RUN:
                self._over_budget(ticket.pool, refusal)
                return True
            else:
                calls.set_aside(ticket, refusal)
                whole = False
        return whole

    def _over_budget(self, pool: str, refusal: Refusal) -> None:
        """Wait for what is in flight: most of what it has reserved comes back."""
        core = self.core
        if self.desks.lanes.in_flight == 0:
            self.desks.budgets.run_is_short(refusal)
        block = Block(Cause.BUDGET, detail=refusal.text)
        gates = {**core.decision.gates, pool: block}
        core.decision = replace(core.decision, gates=gates)

    def _learned(self, learned: LimitsLearned) -> None:
        if self.core.state.limits.get(learned.pool) != learned:
            self.core.record(learned)
            self.desks.waves.learned()

    # -- commands ----------------------------------------------------------

    def _pause(self, *, paused: bool) -> None:
        if self.core.state.paused != paused and not self.desks.stopping.over:
            self.core.record(RunPaused() if paused else RunResumed())
            if paused:
                self.desks.calls.take_unsent_back("paused before it was sent")

    def _set_ceiling(self, ceiling: int | None) -> None:
        if ceiling is not None:
            ceiling = max(1, min(CEILING_MAX, ceiling))
        # Somebody watches and wants it now; an option given ahead is no such wish.
        self.core.account.set_user_ceiling(ceiling, lift=True)
        self.core.record(CeilingSet(ceiling=ceiling))

    def _change_ceiling(self, message: ask.ChangeCeiling) -> None:
        self._set_ceiling(self.core.account.ceiling_view().limit + message.by)

    def _raise_budget(self, message: ask.RaiseBudget) -> None:
        desks = self.desks
        desks.budgets.raised(message)
        desks.question.raised(desks.budgets.purses.run.budget)

    def _requeue(self, message: ask.Requeue) -> None:
        if self.desks.stopping.asked:
            self.core.record(
                Noted(source="engine", text="a stopped run requeues no row")
            )
            return
        rows = message.rows
        if rows is None:
            every = self.core.state.rows.values()
            missing = (r.id for r in every if r.status is Status.MISSING)
            rows = tuple(row for row in missing if self.desks.waves.selects(row))
        self.desks.calls.models.forget()
        self.desks.budgets.ask_again(rows)
        reopened = sum(self.desks.requeues.requeue(row) for row in rows)
        left = len(rows) - reopened
        if left:
            text = (
                f"{of_them(left, len(rows), 'row')} cannot be requeued: resume the run"
            )
            self.core.record(Noted(source="engine", text=text))

    def _cancel(self, message: ask.CancelRow) -> None:
        self._end(message.row, MissingKind.CANCELLED, "cancelled by the user")

    def _finish_missing(self, message: said.FinishMissing) -> None:
        if message.row not in self.core.state.rows:
            self.desks.rows.expect((message.row,))
        self._end(message.row, message.kind, message.reason)

    def _end(self, row: RowId, kind: MissingKind, reason: str) -> None:
        """End an open row; what it has in flight is given up first."""
        if not self.desks.rows.is_open(row):
            return
        desks = self.desks
        if desks.clients.cancel(row, kind, reason):
            return
        if not desks.lanes.give_up(row, kind, reason):
            desks.agents.give_up_tools(row)
            desks.rows.missing(row, kind, reason)

    def _export_report(self, message: ask.Export) -> None:
        self.core.spawn(self._write_report(message.paths), "export the report")

    async def _write_report(self, paths: tuple[str, ...]) -> None:
        snapshot = self.publisher.build()
        written = await self._threads(self._export, snapshot, paths)
        for text in written:
            self.core.put(ask.Note("log", text))

    def _note(self, message: ask.Note) -> None:
        self.core.record(
            Noted(
                source=message.source,
                text=shortened(redact(message.text), NOTE_MAX),
                row=message.row,
            )
        )

    def _woke(self, message: said.Woke) -> None:
        """Connections are dead, time has passed, and nobody has tried anything."""
        text = f"the machine slept for {duration(message.seconds)}"
        self.core.record(
            Noted(source="engine", text=f"{text}: connections are opened anew")
        )
        self.core.account.slept(message.seconds)
        self.core.spawn(self.desks.calls.renew(text), "connect anew")
        self.desks.calls.reaching.slept(message.seconds)

    def _close(self, _: object) -> None:
        self._closing = True


async def _finish() -> None:
    """Leave the task group, and with it whatever was still under way."""
    raise Finished


class Finished(Exception):  # noqa: N818  leaves the task group, nothing more
    """The run is over."""
