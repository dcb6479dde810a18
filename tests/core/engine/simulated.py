"""One run under random weather: a script, an account, a disk and a person, by seed.

Everything is drawn from one `Random`, so a seed replays. A `Weather` says how
often what goes wrong. The run may be killed and begun again on what its journal
had confirmed (`Life`), with the same account and the same script.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from core.engine.bench import INFO, Bench, order
from core.engine.simulated_service import DelayedJournal, Service, Slow
from fanout.decide.run_state import RunState
from fanout.decide.state import apply
from fanout.disk.blobs import Blobs
from fanout.disk.harvest import Harvest
from fanout.disk.reuse import Reuse
from fanout.testing.virtual_loop import VirtualLoop
from fanout.words import commands as ask
from fanout.words.events import LifeStarted, Record
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import ClientOrder, ClientReply, RowOutcome
from fanout.world import messages as said

SECONDS_MAX = 40_000.0


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


@dataclass(slots=True)
class Facts:
    """What the world saw, over all lives of one run."""

    told: dict[RowId, Told] = field(default_factory=dict)
    asked: Counter[int] = field(default_factory=Counter)
    replies: Counter[int] = field(default_factory=Counter)
    cancelled: list[tuple[int, RowId]] = field(default_factory=list)
    """Open rows that somebody cancelled, and the newest record at that moment."""
    wrong: list[str] = field(default_factory=list)


class Life(Bench):
    """One life: the engine, and a script and a person that act by chance."""

    def __init__(
        self,
        service: Service,
        out: Path,
        *,
        records: list[Record],
        life: int = 1,
        rows: int = 12,
        steady: bool = False,
    ) -> None:
        self.service = service
        self.random = service.random
        self.weather = service.weather
        self.records = records
        self.life = life
        self.rows = rows
        self.steady = steady
        """No commands, no trouble of the script: the run should end well."""
        self.facts = Facts()
        self.script_over = False
        state = RunState()
        for record in records:
            apply(state, record)
        journal = DelayedJournal(
            self.random, self.weather.commit_seconds, life=life, last_seq=state.seq
        )
        super().__init__(
            service,  # type: ignore[arg-type]
            out,
            earlier=_earlier(records, out),
            journal=journal,
            state=state,
            chance=self.random.random,
        )
        self.earlier = records
        journal._on_commit = lambda _: self.core.post(said.Committed())
        journal._on_error = lambda e: self.core.post(said.DiskFailed(str(e)))
        service.on_send, service.row_of = self._watch, self._row_of
        service.on_answer = self._interfere
        self._cancel_row = self.engine._handlers[ask.CancelRow]
        self.engine._handlers[ask.CancelRow] = self._cancelling

    # -- what must hold while it runs --------------------------------------

    def _watch(self, row: RowId, body: str) -> None:
        state = self.state
        known = state.rows.get(row)
        if known is None or known.flight is None:
            self.facts.wrong.append(f"{row} was sent with no call in flight")
            return
        if known.flight.call not in self.durable_calls():
            self.facts.wrong.append(f"{row} was sent before its intent was on disk")
        if state.stop is not None and state.stop.mode == "now":
            self.facts.wrong.append(f"{row} was sent after a stop at once")
        agents = row.phase == "main"
        if agents and body in self.paid and not self._may_ask_again(row):
            self.facts.wrong.append(f"{row} was asked again for what was answered")

    def durable_calls(self) -> set[int]:
        committed = self.journal.committed
        calls = set()
        for number, event in enumerate(self.journal.events, self._first):
            if type(event).__name__ == "CallAdmitted" and number <= committed:
                calls.add(event.call)  # type: ignore[union-attr]
        return calls

    @property
    def _first(self) -> int:
        return self.records[-1].seq + 1 if self.records else 1

    def _row_of(self, body: Mapping[str, Any]) -> RowId:
        text = str(body["messages"][0]["content"][-1]["text"])
        if text.startswith("main/"):
            return RowId("main", text.removeprefix("main/").split(" ")[0])
        flying = self.engine.desks.calls._flying.values()
        return next(f.request.row for f in flying if f.request.body() is body)

    @cached_property
    def paid(self) -> set[str]:
        """Bodies that an earlier life had answered, on disk."""
        ids = {getattr(r.event, "request_id", None) for r in self.records}
        books = self.service.books
        return {entry.body for entry in books if entry.request_id in ids}

    def _may_ask_again(self, row: RowId) -> bool:
        """Rows that had led to an end of their own, and begin anew."""
        again = {
            MissingKind.TRUNCATED,
            MissingKind.REFUSED,
            MissingKind.INVALID,
            MissingKind.NO_OUTPUT,
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
        return any(
            type(e).__name__ in {"RowRequeued", "Noted"}
            and getattr(e, "row", None) == row
            for e in [*self.journal.events, *(r.event for r in self.records)]
        )

    def _cancelling(self, message: ask.CancelRow) -> None:
        if self.engine.desks.rows.is_open(message.row):
            self.facts.cancelled.append((self.state.seq, message.row))
        self._cancel_row(message)

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

    # -- the script --------------------------------------------------------

    def wanted(self) -> list[RowId]:
        return [RowId("main", f"k{n}") for n in range(self.rows)]

    def prepare(self) -> None:
        r = self.random
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
        made = order(
            row.key,
            row.phase,
            prompt=f"{row.phase}/{row.key} please",
            tools=(Slow(r),) if number % 3 == 0 else (),
            schema={} if number % 2 else None,
            validate=fits if number % 2 else None,
            output=f"{row.key}.json" if number % 5 == 0 else None,
            upstream="a hole" if number % 11 == 10 else None,
            max_turns=6,
            max_tokens=400,
        )
        self.port.schedule((made,), self._told_end, self._told_reopened)

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
        if self.core.durable_seq and self.journal.committed < self._end_of(outcome.row):
            self.facts.wrong.append(f"{outcome.row} was told before it was on disk")

    def _end_of(self, row: RowId) -> int:
        """Number of the newest end of a row, of those the script can know."""
        ends = [
            number
            for number, event in enumerate(self.journal.events, self._first)
            if type(event).__name__ in {"RowDone", "RowMissing"} and event.row == row  # type: ignore[union-attr]
        ]
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

    def live(self, kill_at: float | None = None) -> list[Record]:
        """Run to the end, or to the kill; returns all records that are safe."""

        async def life() -> None:
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
                )
            )
            self.prepare()
            if kill_at is not None:
                try:
                    async with asyncio.timeout(kill_at):
                        await self.engine.run()
                except TimeoutError:
                    return
            else:
                async with asyncio.timeout(SECONDS_MAX):
                    await self.engine.run()
            self.journal.failing = None
            self.journal._told = False
            self.journal.sync_now()  # type: ignore[attr-defined]

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(life())
        return [*self.records, *self.journal.records()]


def _earlier(records: list[Record], out: Path) -> Reuse:
    harvest = Harvest(INFO.id, Blobs(out), lambda *_: None)
    for record in records:
        harvest.take_in(record)
    reuse = Reuse()
    reuse.add([harvest])
    return reuse
