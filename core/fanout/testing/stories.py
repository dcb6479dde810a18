"""Random runs that could have happened: legal facts, lives and kills, from a seed.

What holds for a journal must hold for every one of them. A story applies each
fact as it tells it, so `state` is what a live engine would hold.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import cast

from fanout.decide.fold.open_batches import Member
from fanout.decide.fold.state import RunState, apply
from fanout.words.ahead import Forecasted, OpeningsCounted, RunsAgain
from fanout.words.batched import (
    BatchEnded,
    BatchGone,
    BatchOpened,
    BatchPlanned,
    CallSettled,
    CallTakenUp,
)
from fanout.words.events import (
    AnswerSentBack,
    BudgetSet,
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    CeilingSet,
    Event,
    LifeStarted,
    LimitsLearned,
    Noted,
    PhaseEntered,
    Record,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    RowsExpected,
    RunPaused,
    RunResumed,
    ScriptEnded,
    StopAsked,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import MissingKind, Need, Row, RowId, RowSpec, Status, Usage
from fanout.words.observed import Observed

CAUSES = ("429 limit", "429 ramp", "529 overloaded", "service error", "connection cut")
KILL_CHANCE = 0.01
RUN_LEVEL_CHANCE = 0.05
BATCH_CHANCE = 0.15
LIVE_CHANCE = 0.7
"""How many calls go out on their own; the others in a batch."""


class Story:
    """One run, told fact by fact."""

    def __init__(self, seed: int, *, rows: int = 12, run: str = "r-1") -> None:
        self.state = RunState()
        self._random = Random(seed)  # noqa: S311  a story, not a secret
        self._run = run
        self._ids = [RowId(("audit", "sum/up")[n % 2], f"k{n}") for n in range(rows)]

    def tell(self, events: int) -> Iterator[Record]:
        """Yield records, each already folded into `state`."""
        for _ in range(events):
            yield self.record(self._next())

    def record(self, event: Event) -> Record:
        """Stamp and fold one fact."""
        state = self.state
        life = event.life if isinstance(event, LifeStarted) else state.life
        at = state.at + round(self._random.random(), 3)
        record = Record(state.seq + 1, life, at, event)
        apply(state, record)
        return record

    def usage(self) -> Usage:
        """Some usage."""
        pick = self._random.randrange
        return Usage(pick(500), pick(900), pick(9_000), pick(100))

    def _next(self) -> Event:
        if self.state.life == 0 or self._random.random() < KILL_CHANCE:
            return self._life()
        if self._random.random() < RUN_LEVEL_CHANCE:
            return self._run_level()
        of_batches = self._of_batches()
        if of_batches and self._random.random() < BATCH_CHANCE:
            return self._random.choice(of_batches)
        return self._of_row(self._random.choice(self._ids))

    def _life(self) -> LifeStarted:
        return LifeStarted(
            run=self._run,
            life=self.state.life + 1,
            script="/work/audit.py",
            arguments=("src",),
            endpoint="simulated:demo",
            simulated=True,
            model="claude",
            version="0.1.0",
            pid=77,
        )

    def _run_level(self) -> Event:
        choices: list[Event] = [
            PhaseEntered(phase="audit", allow_missing="5%"),
            Noted(source="script", text="line \u202e one\nand \x1b[31mtwo"),
            CeilingSet(ceiling=self._random.choice([None, 3])),
            BudgetSet(
                tokens=self._random.choice([None, 9_000]),
                dollars=2.5,
                phase=self._random.choice(["", "audit"]),
            ),
            RunPaused(),
            RunResumed(),
            LimitsLearned(
                pool="p", requests=50, input_tokens=None, output_tokens=8_000
            ),
            Observed(pools=[], gates={}, ceiling=[4, None, 1]),
            StopAsked(mode="drain", cause="quit"),
            RunsAgain(row=self._random.choice(self._ids), why="its inputs changed"),
            OpeningsCounted(counts=(["claude", [9] * 14, 40],), failed="status 429"),
            Forecasted(
                reused=96,
                kept=1,
                again={"its prompt changed": 5},
                figures={"agents": 6, "seconds": None},
                text="reuses 96, will run 6",
            ),
            ScriptEnded(outcome="returned", value={"a": [1, None]}),
        ]
        return self._random.choice(choices)

    def _of_batches(self) -> list[Event]:
        """What may happen to the batches there are."""
        choices: list[Event] = []
        for number, batch in self.state.batches.by_number.items():
            left = [member for member in batch.members.values() if member.left]
            if batch.planned_at is None:
                count = len(batch.members)
                choices += [BatchPlanned(batch=number, count=count)] * 3
            elif not batch.id:
                name = f"msgbatch_{number}"
                choices.append(BatchOpened(batch=number, id=name, seconds=86_400.0))
            else:
                choices.append(BatchEnded(batch=number, counts={"succeeded": 3}))
            if len(left) == len(batch.members):
                choices.append(BatchGone(batch=number, reason="it is not there"))
            choices += [self._settled(member) for member in left]
        return choices

    def _settled(self, member: Member) -> Event:
        if member.wasted.total:
            return Noted(source="log", text="settled before")
        usage = self.usage()
        answered = self._random.choice([True, False])
        return CallSettled(
            row=member.row, call=member.call, wasted=usage, answered=answered
        )

    def _of_row(self, row_id: RowId) -> Event:
        row = self.state.rows.get(row_id)
        if row is None:
            many = RowsExpected(rows=(row_id, *islice(self.state.rows, 2)))
            one = RowExpected(row=row_id)
            return self._random.choice([one, many, self._order(row_id)])
        if row.life != self.state.life:
            choices = [RowExpected(row=row_id), self._order(row_id)]
            return self._random.choice([*choices, RowDropped(row=row_id)])
        by_status = {
            Status.QUEUED: self._of_queued,
            Status.RUNNING: self._of_flying if row.flight else self._of_answered,
            Status.THROTTLED: self._of_throttled,
            Status.DONE: self._of_done,
            Status.MISSING: self._of_missing,
        }
        return by_status[row.status](row)

    def _of_queued(self, row: Row) -> Event:
        missing = self._missing(row, MissingKind.CANCELLED)
        if row.spec is None:
            return self._random.choice([self._order(row.id)] * 3 + [missing])
        reused = RowDone(row=row.id, value="x", reused_from=self._run)
        kept = TurnsKept(row=row.id, source=self._run, entries=self._entries())
        rare = [missing, reused] if row.tally.turns else [missing, reused, kept, kept]
        rare += [
            CallTakenUp(row=row.id, call=member.call)
            for member in self.state.batches.left_of(row.id)
        ] * 3
        admit = cast("list[Event]", [self._admit(row)])
        return self._random.choice(admit * 8 + rare)

    def _of_flying(self, row: Row) -> Event:
        assert row.flight is not None
        call = row.flight.call
        answer = [{"type": "text", "text": f"answer {call} äöü 漢字"}]
        answered = CallAnswered(
            row=row.id,
            call=call,
            usage=self.usage(),
            stop_reason="tool_use",
            answer=answer,
            seconds=1.5,
        )
        refused = CallRefused(
            row=row.id,
            call=call,
            cause=self._random.choice(CAUSES),
            status=429,
            message="slow down",
            until=self.state.at + 5,
            wasted=self.usage(),
        )
        usage = self.usage()
        abandoned = CallAbandoned(row=row.id, call=call, reason="cut", in_doubt=usage)
        rejected = self._missing(row, MissingKind.REJECTED)
        often = cast("list[Event]", [answered])
        return self._random.choice(often * 6 + [refused, refused, abandoned, rejected])

    def _of_answered(self, row: Row) -> Event:
        ran = ToolsRan(
            row=row.id,
            turn=row.tally.turns,
            results=[{"type": "tool_result", "content": "ok"}],
            files_read={"/work/src/a.py": "ab" * 32},
        )
        back = AnswerSentBack(row=row.id, problem="no such field")
        done = RowDone(row=row.id, value={"n": 1}, output="a.json", size=9)
        invalid = self._missing(row, MissingKind.INVALID)
        often = cast("list[Event]", [ran])
        return self._random.choice([*often * 3, back, done, done, invalid])

    def _of_throttled(self, row: Row) -> Event:
        missing = self._missing(row, MissingKind.TIMEOUT)
        return self._random.choice([self._admit(row)] * 4 + [missing])

    def _of_missing(self, row: Row) -> Event:
        return RowRequeued(row=row.id, fresh=self._random.choice([True, False]))

    def _of_done(self, row: Row) -> Event:
        if self._random.random() < RUN_LEVEL_CHANCE:
            return self._missing(row, MissingKind.STALE)
        return RowExpected(row=row.id)

    def _order(self, row_id: RowId) -> Event:
        spec = RowSpec(
            kind=self._random.choice(["agent", "agent", "agent", "client"]),
            model="claude",
            pool="p",
            fingerprint=f"1:{row_id.key}",
            max_tokens=8_192,
            max_turns=50,
            estimate=900,
        )
        return RowScheduled(row=row_id, spec=spec, opening={"prompt": "Audit."})

    def _admit(self, row: Row) -> Event:
        return CallAdmitted(
            row=row.id,
            call=self.state.next_call,
            turn=row.tally.turns + 1,
            pool="p",
            need=Need(900, 400, 8_192),
            batch=self._batch(),
            digest="d",
        )

    def _batch(self) -> int | None:
        """An open batch that gathers, a new one, or none."""
        if self._random.random() < LIVE_CHANCE:
            return None
        batches = self.state.batches
        gathering = (b.number for b in batches.by_number.values() if not b.planned_at)
        return next(gathering, batches.next_number)

    def _missing(self, row: Row, kind: MissingKind) -> Event:
        return RowMissing(row=row.id, kind=kind, reason=f"{kind}, as it happens")

    def _entries(self) -> tuple[object, ...]:
        answer = {"kind": "answer", "content": [], "stop_reason": "tool_use"}
        results = {"kind": "results", "content": []}
        return (answer, results) * self._random.randrange(1, 3)
