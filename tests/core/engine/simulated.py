"""One life of a run under random weather: a script and a person, by chance.

Everything is drawn from one `Random`, so a seed replays. What must hold while a
life runs is checked here, at the moment of each send, each end that is told and
each screen that is shown; what must hold of whole lives is in `invariants.py`.
Whatever does not hold is said with the number of its invariant.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.engine.bench import INFO, Bench, order
from core.engine.simulated_disk import DelayedJournal
from core.engine.simulated_service import MARGIN, Charged, Service, Slow
from fanout.decide.again import UNUSABLE
from fanout.decide.fold.run_state import RUN, RunState, interrupt
from fanout.decide.fold.state import apply
from fanout.decide.money.spent import purses_of
from fanout.disk.reuse import Reuse
from fanout.testing.memory_journal import harvest_of
from fanout.testing.virtual_loop import LoopClock, VirtualLoop
from fanout.words import commands as ask
from fanout.words.budgets import Budget, Short, gate_of
from fanout.words.events import (
    CallAnswered,
    CallRefused,
    LifeStarted,
    Record,
    RowRequeued,
    RunsAgain,
)
from fanout.words.model import MissingKind, RowId, Status
from fanout.words.orders import ClientOrder, ClientReply, RowOutcome
from fanout.words.snapshot import Gate
from fanout.world import messages as said
from fanout.world.spend.planning import Planning

SECONDS_MAX = 40_000.0
SUMS = 2
"""Rows of the second phase."""


def fits(data: bytes) -> Any:
    """What a schema of the simulated script asks for."""
    value = json.loads(data)
    if "n" not in value:
        raise ValueError("n is missing")
    return value


@dataclass(slots=True)
class Told:
    """What the script was told of one row."""

    ends: int = 0
    reopened: int = 0
    done: int = 0
    value: Any = None
    """Of the newest end; None for a missing row."""


@dataclass(slots=True)
class Facts:
    """What the world saw in one life."""

    told: dict[RowId, Told] = field(default_factory=dict)
    asked: Counter[int] = field(default_factory=Counter)
    replies: Counter[int] = field(default_factory=Counter)
    cancelled: list[tuple[int, RowId]] = field(default_factory=list)
    """Open rows that somebody cancelled, and the newest record at that moment."""
    committed: int = 0
    """What the disk had confirmed when the life ended."""
    limit_changes: int = 0
    wrong: list[str] = field(default_factory=list)


class Life(Bench):
    """One life: the engine, and a script and a person that act by chance."""

    def __init__(
        self,
        service: Service,
        out: Path,
        *,
        records: list[Record],
        state: RunState,
        epoch: float,
        budget: Budget,
        phase_budget: Budget | None = None,
        steady: bool = False,
    ) -> None:
        """`phase_budget`: what the script gives its first phase; then somebody is

        asked about budgets, and what was given before is kept.
        """
        self.service = service
        self._phase_budget = phase_budget
        kept = dict(left_by(records).budgets) if phase_budget is not None else {}
        self._budgets = {RUN: kept.pop(RUN, budget), **kept}
        self._answered_shorts: set[int] = set()
        self.random = service.random
        self.weather = service.weather
        self.records = records
        self.life = state.life + 1
        self.epoch = epoch
        self.rows = service.weather.rows
        self.steady = steady
        """No commands, no trouble of the script: the run should end well."""
        self.facts = Facts()
        self.script_over = False
        self.remains: bytes | None = None
        """What a kill has left of this life's segment."""
        self.seconds = 0.0
        self.questions: dict[RowId, str] = {}
        """A part of each request that no request for something else has."""
        self.tools = self.random.choice("AB") if self.weather.new_tools else "A"
        self._summed = False
        self._answered: set[str] = set()
        self._paid: set[str] | None = None
        journal = DelayedJournal(
            self.random, self.weather.commit_seconds, life=self.life, last_seq=state.seq
        )
        super().__init__(
            service,  # type: ignore[arg-type]
            out,
            earlier=reuse_of(records),
            journal=journal,
            state=state,
            chance=self.random.random,
            purses=purses_of(self._budgets[RUN], left_by(records)),
            clock=LoopClock(epoch),
            planning=Planning(raises=phase_budget is not None, phase_budgets=kept),
        )
        self.disk = journal
        self.earlier = records
        journal._on_commit = lambda _: self.core.post(said.Committed())
        journal._on_error = lambda e: self.core.post(said.DiskFailed(str(e)))
        service.on_send, service.row_of = self._watch, self._row_of
        service.on_answer = self._came
        service.now = self.clock.wall
        # Of earlier lives' waits this one knows what they had time to write down.
        known = [r.event.until for r in records if isinstance(r.event, CallRefused)]
        service.waits = [
            wait
            for wait in service.waits
            if any(abs(until - wait.until) < 1.0 for until in known if until)
        ]
        self._publish = self.engine.publisher.publish
        self.engine.publisher.publish = self._show  # type: ignore[method-assign]
        self._cancel_row = self.engine._handlers[ask.CancelRow]
        self.engine._handlers[ask.CancelRow] = self._cancelling

    # -- what must hold while it runs --------------------------------------

    def _watch(self, entry: Charged, body: Mapping[str, Any]) -> None:
        state, row = self.state, entry.row
        known = state.rows.get(row)
        if known is None or known.flight is None:
            self._say("I4", f"{row} was sent with no call in flight")
            return
        entry.need = known.flight.need
        intent = self.disk.intents.get(known.flight.call)
        if intent is None or intent > self.journal.committed:
            self._say("I4", f"{row} was sent before its intent was on disk")
        if state.stop is not None:
            self._say("I16", f"{row} was sent after a stop")
        self._watch_patience(entry, known.flight.at)
        if row.phase != "talk":
            self._watch_turns(entry, body)
        if self.random.random() < 0.3:
            self.engine.publisher.wanted = True

    def _watch_patience(self, entry: Charged, admitted: float) -> None:
        for wait in self.service.waits:
            if wait.at + MARGIN < admitted and entry.at < wait.until - MARGIN:
                early = wait.until - entry.at
                self._say(
                    "I9", f"{entry.row} was sent {early:.1f} s before retry-after"
                )

    def _watch_turns(self, entry: Charged, body: Mapping[str, Any]) -> None:
        row = entry.row
        if entry.body in self._paid_before() and not self._may_ask_again(row):
            self._say("I1", f"{row} was asked again for what was answered")
        never = self.service.memory.unknown(body)
        if never:
            self._say("I11", f"{row} sent {never}")

    def _say(self, invariant: str, text: str) -> None:
        self.facts.wrong.append(f"{invariant}: {text}")

    def _row_of(self, body: Mapping[str, Any]) -> RowId:
        text = str(body["messages"][0]["content"][-1]["text"])
        phase, _, rest = text.partition("/")
        if phase in {"main", "sum"}:
            return RowId(phase, rest.split(" ")[0])
        flying = self.engine.desks.calls._flying.values()
        return next(f.request.row for f in flying if f.request.body() is body)

    def _paid_before(self) -> set[str]:
        """Bodies that were answered: in an earlier life, on disk, or in this one."""
        if self._paid is None:
            ids = {
                r.event.request_id
                for r in self.records
                if isinstance(r.event, CallAnswered)
            }
            books = self.service.books
            self._paid = {entry.body for entry in books if entry.request_id in ids}
        return self._paid | self._answered

    def _may_ask_again(self, row: RowId) -> bool:
        """Rows that had led to an end of their own, and begin anew."""
        again = {
            MissingKind.TRUNCATED,
            MissingKind.REFUSED,
            MissingKind.INVALID,
            MissingKind.NO_OUTPUT,
            MissingKind.STALE,
        }
        for record in self.records:
            event = record.event
            name = type(event).__name__
            if getattr(event, "row", None) != row:
                continue
            if name == "RowMissing" and event.kind in again:  # type: ignore[union-attr]
                return True
            if getattr(event, "stop_reason", None) in {"max_tokens", "refusal"}:
                return True
        events = [*self.journal.events, *(r.event for r in self.records)]
        return any(_begins_anew(e) for e in events if getattr(e, "row", None) == row)

    def _cancelling(self, message: ask.CancelRow) -> None:
        if self.engine.desks.rows.is_open(message.row):
            self.facts.cancelled.append((self.state.seq, message.row))
        self._cancel_row(message)

    def _came(self, entry: Charged) -> None:
        if entry.answered:
            self._answered.add(entry.body)
        self._interfere(entry.row)

    def _interfere(self, row: RowId) -> None:
        """Somebody cancels a row in the moment its answer comes."""
        r = self.random
        if self.steady or r.random() > self.weather.meddling:
            return
        # At once, or while its answer is on the way to the disk, or its tools run.
        moment = self._now() + r.choice((0.02, r.random() * 3))
        if r.random() < 0.4:
            moment = self._now()
            self.core.post(ask.CancelRow(row))
        else:
            self.at(moment, lambda: self.core.post(ask.CancelRow(row)))
        if r.random() < 0.6:
            again = ask.Requeue((row,))
            self.at(moment + r.random() * 0.1, lambda: self.core.post(again))

    def _show(self) -> None:
        """What a screen shows as done is on disk."""
        publisher = self.engine.publisher
        before, held = publisher.latest, publisher._held
        # What it shows is of the moment at which it was made: since then a row that
        # was done may have ended anew, as stale.
        made = self.core.durable_seq if held is None else held[0]
        self._publish()
        if self._phase_budget is not None:
            self._look_at_questions()
        latest = self.engine.publisher.latest
        if latest is None or latest is before or self.core.trouble:
            return
        for row in latest.rows.values():
            if row.status is not Status.DONE or row.life != self.life:
                continue
            ends = [seq for seq in self.disk.ends[row.id] if seq <= made]
            if not ends or ends[-1] > self.journal.committed:
                self._say("I6", f"{row.id} was shown as done before it was on disk")

    # -- budgets that ask --------------------------------------------------

    def _look_at_questions(self) -> None:
        """Answer what is asked, after a while; what waits for it stays queued."""
        budgets = self.engine.desks.budgets
        gates = budgets.gates()
        for short in budgets.asking:
            if short.phase:
                self._watch_waits(short, gates)
            if short.number not in self._answered_shorts:
                self._answered_shorts.add(short.number)
                after = self.random.random() * 20
                self.at(self._now() + after, lambda s=short: self._answer(s))  # type: ignore[misc]

    def _watch_waits(self, short: Short, gates: Mapping[str, Gate]) -> None:
        gate = gates.get(gate_of(short.phase))
        if gate is None or not gate.waiting:
            self._say("I18", f"{short} is asked, and nothing waits for it")
            return
        for row in gate.waiting:
            status = self.state.rows[row].status
            if status not in {Status.QUEUED, Status.THROTTLED}:
                self._say("I18", f"{row} waits for its budget, and is {status}")

    def _answer(self, short: Short) -> None:
        r = self.random
        purses = self.engine.desks.budgets.purses
        purse = purses.phase(short.phase) if short.phase else purses.run
        tokens = purse.budget.tokens
        assert tokens is not None, f"{short} is about no budget"
        if not self.steady and r.random() < 0.25:
            stop = ask.Stop("drain", "budget", short.reason)
            self.core.post(ask.KeepBudget(short.phase) if short.phase else stop)
            return
        factor = 50.0 if self.steady else r.choice((1.01, 1.5, 3.0))
        more = round(tokens * factor)
        self.core.post(ask.RaiseBudget(tokens=more, phase=short.phase))

    # -- the script --------------------------------------------------------

    def wanted(self) -> list[RowId]:
        return [RowId("main", f"k{n}") for n in range(self.rows)]

    def prepare(self) -> None:
        r = self.random
        if self._phase_budget is not None:
            self.port.enter_phase("main", None, self._phase_budget)
        rows = self.wanted()
        r.shuffle(rows)
        if not self.steady and r.random() < 0.3:
            self.port.expect((RowId("main", "ghost"),))
        at = 0.0
        for row in rows:
            at += r.expovariate(1.0)
            self.at(at, lambda row=row: self._want(row))  # type: ignore[misc]
        clients = [] if self.steady else list(range(r.randrange(9)))
        for number in clients:
            at += r.expovariate(4.0)
            self.at(at, lambda n=number: self._call(n))  # type: ignore[misc]
        self._end_script(at)
        if not self.steady:
            self._meddle(at)
        if self.weather.limits and r.random() < self.weather.limit_changes:
            self.at(r.random() * 60, self._change_limits)

    def _change_limits(self) -> None:
        self.facts.limit_changes += 1
        self.service.change_limits()

    def _want(self, row: RowId) -> None:
        if self.script_over:
            return
        r = self.random
        number = int(row.key[1:])
        if not self.steady and r.random() < 0.3:
            self.port.expect((row,))
            if r.random() < 0.3:
                why = (row, MissingKind.CANCELLED, "cancelled by the script")
                self.at(
                    self._now() + r.random(), lambda: self.port.finish_missing(*why)
                )
            if r.random() < 0.3:
                self.core.post(ask.CancelRow(row))
        tool = Slow(r, self.weather.deaf_tools, f"takes its time, kind {self.tools}")
        if number % 3 == 0:
            self.questions[row] = json.dumps(tool.description)
        made = order(
            row.key,
            row.phase,
            prompt=f"{row.phase}/{row.key} please" + "." * self.weather.padding,
            tools=(tool,) if number % 3 == 0 else (),
            schema={} if number % 2 else None,
            validate=fits if number % 2 else None,
            output=f"{row.key}.json" if number % 5 == 2 else None,
            upstream="a hole" if number % 11 == 10 else None,
            max_turns=6,
            max_tokens=400,
        )
        self.port.schedule((made,), self._told_end, self._told_reopened)

    def _sum(self) -> None:
        """The second phase: rows made from what the first one gave."""
        self._summed = True
        told = self.facts.told
        rows = [row for row in self.wanted() if row.key != "k10"]
        holes = tuple(row for row in rows if told[row].value is None)
        inputs = json.dumps({row.key: told[row].value for row in rows})
        for n in range(SUMS):
            self.questions[RowId("sum", f"s{n}")] = json.dumps(inputs)
        made = [
            order(
                f"s{n}",
                "sum",
                prompt=f"sum/s{n} please",
                inputs=inputs,
                input_digests=(inputs,),
                sources=tuple(rows),
                holes=holes,
                max_turns=6,
                max_tokens=400,
            )
            for n in range(SUMS)
        ]
        self.port.schedule(made, self._told_end, self._told_reopened)

    def _call(self, number: int) -> None:
        if self.script_over:
            return
        r = self.random
        keyed = r.random() < 0.5
        text = {"type": "text", "text": f"talk {number % 2}"}
        body = {
            "model": "claude-sonnet-5",
            "max_tokens": 300,
            "messages": [{"role": "user", "content": [text]}],
        }
        asked = ClientOrder(
            row=RowId("talk", "chat") if keyed else None,
            phase="talk",
            path="/v1/messages",
            headers={},
            body=body,
        )
        self.facts.asked[number] += 1

        def reply(_: ClientReply) -> None:
            self.facts.replies[number] += 1

        self.port.call(asked, reply)
        if r.random() < 0.3:
            self.facts.asked[number] -= 1
            gone = said.ClientGone(asked)
            self.at(self._now() + r.random() * 4, lambda: self.core.post(gone))

    def _end_script(self, at: float) -> None:
        r = self.random
        early = not self.steady and r.random() < self.weather.late_script
        moment = r.random() * at if early else at + 1.0
        fails = not self.steady and r.random() < self.weather.script_fails
        outcome = r.choice(("raised", "exited", "incomplete")) if fails else "returned"
        if self.weather.second_phase and outcome == "returned" and not early:
            return  # it returns when its second phase has ended
        self.at(moment, lambda: self._over(outcome))

    def _over(self, outcome: str) -> None:
        if not self.script_over:
            self.script_over = True
            self.core.post(said.ScriptCame(outcome=outcome, text=outcome))

    def _cancel(self, reason: str) -> None:
        self.cancelled.append(reason)
        late = self.random.random() * 2
        asyncio.get_running_loop().call_later(late, self._over, "cancelled")

    def _told_end(self, outcome: RowOutcome) -> None:
        told = self.facts.told.setdefault(outcome.row, Told())
        told.ends += 1
        told.done += outcome.done
        told.value = outcome.value if outcome.done else None
        if self.core.durable_seq and self.journal.committed < self._end_of(outcome.row):
            self._say("I6", f"{outcome.row} was told before it was on disk")
        self._go_on()

    def _go_on(self) -> None:
        """The script awaits its first phase, then its second, then returns."""
        if not self.weather.second_phase or self.script_over:
            return
        told = self.facts.told
        if not self._summed:
            if all(row in told for row in self.wanted()):
                self._sum()
        elif all(RowId("sum", f"s{n}") in told for n in range(SUMS)):
            self._over("returned")

    def _end_of(self, row: RowId) -> int:
        """Number of the newest end of a row, of those the script can know."""
        ends = self.disk.ends.get(row, [])
        told = self.facts.told[row].ends
        return ends[min(told, len(ends)) - 1] if ends else 0

    def _told_reopened(self, row: RowId) -> None:
        self.facts.told.setdefault(row, Told()).reopened += 1

    # -- the person and the disk -------------------------------------------

    def _meddle(self, until: float) -> None:
        r = self.random
        for _ in range(r.randrange(self.weather.commands + 1)):
            self.at(r.random() * until * 2, self._command)
        if r.random() < self.weather.stop:
            mode, cause = r.choice((("drain", "SIGINT"), ("now", "SIGTERM")))
            moment = r.random() * until * 1.5
            self.at(moment, lambda: self.core.post(ask.Stop(mode, cause)))
            if mode == "drain":
                again = ask.Stop("now", "SIGINT")
                self.at(moment + r.random() * 5, lambda: self.core.post(again))
        for _ in range(self.weather.disk_failures):
            self.at(r.random() * until, self._fail)

    def _command(self) -> None:
        r = self.random
        rows = [*self.wanted(), RowId("talk", "chat"), RowId("talk", "call-0001")]
        row = r.choice(rows)
        made = r.choice(
            (
                ask.Pause(),
                ask.Resume(),
                ask.SetCeiling(r.choice((None, 1, 3, 2000, -1))),
                ask.ChangeCeiling(r.choice((-5, -1, 1, 5))),
                ask.Requeue(),
                ask.Requeue((row,)),
                ask.CancelRow(row),
                ask.CancelRow(row),
                ask.Export(("r.md",)),
                ask.Note("screen", "hello"),
            )
        )
        self.core.post(made)
        if isinstance(made, ask.Pause):
            self.at(self._now() + r.random() * 30, lambda: self.core.post(ask.Resume()))
        if isinstance(made, ask.CancelRow) and r.random() < 0.5:
            again = ask.Requeue((row,))
            self.at(self._now() + r.random(), lambda: self.core.post(again))

    def _fail(self) -> None:
        self.journal.failing = OSError(28, "No space left on device")

        def mend() -> None:
            self.journal.failing = None

        self.at(self._now() + self.random.random() * 20, mend)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # -- a life ------------------------------------------------------------

    def live(self, kill_at: float | None = None, *, power_cut: bool = False) -> bytes:
        """Run to the end, or to the kill; returns what the disk holds of it."""

        async def life() -> None:
            self.service.open(self.epoch)
            self.core.record(
                LifeStarted(
                    run=INFO.id,
                    life=self.life,
                    script=INFO.script,
                    arguments=(),
                    endpoint=INFO.endpoint,
                    simulated=True,
                    model=INFO.model,
                    version="0",
                    pid=1,
                    budgets={
                        name: [each.tokens, each.dollars]
                        for name, each in self._budgets.items()
                        if not each.is_none
                    },
                )
            )
            self.prepare()
            running = asyncio.create_task(self.engine.run())
            if kill_at is not None:
                self.at(kill_at, lambda: self._die(running, power_cut=power_cut))
            try:
                async with asyncio.timeout(SECONDS_MAX):
                    await running
            except asyncio.CancelledError:
                if self.remains is None:
                    raise
            self.seconds = self._now()
            if self.remains is None:
                self.journal.failing = None
                self.journal._told = False
                self.disk.sync_now()

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(life())
        if self.remains is not None:
            return self.remains
        self.facts.committed = self.journal.committed
        return self.disk.all()

    def _die(self, running: "asyncio.Task[Any]", *, power_cut: bool) -> None:
        if running.done():
            return
        self.facts.committed = self.journal.committed
        self.remains = self.disk.left(self.random, power_cut=power_cut)
        running.cancel()

    @property
    def killed(self) -> bool:
        """It did not end by itself."""
        return self.remains is not None


def left_by(records: list[Record]) -> RunState:
    """The run as the next life finds it: what was open is interrupted."""
    state = RunState()
    for record in records:
        apply(state, record)
    interrupt(state, state.at)
    return state


def reuse_of(records: list[Record]) -> Reuse:
    """What the records offer to a next life."""
    reuse = Reuse()
    reuse.add([harvest_of(INFO.id, records)])
    return reuse


def began_anew(records: list[Record]) -> bool:
    """A life has thrown something away on purpose, and said so."""
    return any(isinstance(r.event, RunsAgain) for r in records)


def _begins_anew(event: object) -> bool:
    """What was answered for a row is not gone on with, for a reason that was said."""
    if isinstance(event, RunsAgain):
        return event.why == UNUSABLE
    return isinstance(event, RowRequeued)
