"""Rows: declared by the script, ended once per life, and told to who waits.

A row's end is told to the script only once it is on disk. Rows declared ahead
(`expect`, a pipeline's later stages) have no work behind them; everything else
the engine knows of a row's work is in its `Work`, kept while the row may still
be worked on or requeued.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide.conversation import Conversation, request, text_of
from fanout.words.budgets import Budget
from fanout.words.events import (
    PhaseEntered,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowsExpected,
)
from fanout.words.model import MissingKind, RowId, RowSpec, Status
from fanout.words.orders import AgentOrder, RowOutcome
from fanout.world.core import Core
from fanout.world.messages import Found, no_files

NO_BUDGET = Budget()
FINAL = (Status.DONE, Status.MISSING)


@dataclass(slots=True, kw_only=True)
class Work:
    """What the engine holds of one agent's row."""

    order: AgentOrder
    spec: RowSpec
    conversation: Conversation
    on_end: Callable[[RowOutcome], None]
    on_reopen: Callable[[RowId], None]
    files_read: Mapping[str, str] = field(default_factory=no_files)
    files_written: Mapping[str, str] = field(default_factory=no_files)
    recorded: bool = True
    """False when the row had ended before the script asked for it."""
    sought: bool = False
    """Earlier work is being looked up."""
    found: Found | None = None
    """What the look-up gave when the row had ended meanwhile."""
    kept: Found | None = None
    """Turns of an earlier life that are held but not taken over yet: whether their
    last answer fits decides."""
    judged: bool = False
    """The last answer was held against what was expected, and found wanting."""
    failing: tuple[MissingKind, str] | None = None
    """It failed after it had written its output: the disk is asked what that is."""
    step: int = 0
    """Counts what was begun; what comes back from an earlier step is late news."""

    @property
    def opening(self) -> Mapping[str, Any]:
        """What its first request is made of."""
        return self.conversation.opening

    def body(self) -> dict[str, Any]:
        """Return the body of its next call."""
        return request(self.conversation)

    def begin(self) -> int:
        """A new step begins; results of earlier ones count no more."""
        self.step += 1
        return self.step

    def touched(self, read: Mapping[str, str], written: Mapping[str, str]) -> None:
        """Its tools have read and written these files, too."""
        self.files_read = {**self.files_read, **read}
        self.files_written = {**self.files_written, **written}

    def all_written(self) -> dict[str, str]:
        """Digests of the files its tools wrote, by path, in this life or another."""
        earlier = self.kept.files_written if self.kept is not None else {}
        return {**earlier, **self.files_written}

    def last_text(self) -> str | None:
        """The last text the agent gave, whatever became of it."""
        for entry in reversed(self.conversation.entries):
            if entry["kind"] == "answer" and (text := text_of(entry["content"])):
                return text
        return None

    def start_over(self) -> None:
        """Forget the conversation."""
        self.conversation = Conversation(self.conversation.opening)
        self.kept = None
        self.judged = False
        self.failing = None


class Rows:
    """The run's rows and what is known of their work."""

    def __init__(self, core: Core, out: Callable[[str], str]) -> None:
        self._core = core
        self._out = out
        self.works: dict[RowId, Work] = {}
        self._entered: set[str] = set()
        """Phases that this life has entered."""
        self.on_done: Callable[[RowId], None] = lambda _: None
        """Told of every row that is done."""

    def enter_phase(
        self, phase: str, allow_missing: str | None, budget: Budget = NO_BUDGET
    ) -> None:
        """Declare a phase, or state its tolerance and its budget."""
        state = self._core.state
        known = state.phases
        stated = allow_missing is not None and known.get(phase) != allow_missing
        bounded = budget != state.budgets.get(phase, NO_BUDGET)
        # One that an earlier life knew is entered anew, for whoever follows this one.
        news = phase not in self._entered or phase not in known
        if news or stated or (bounded and not budget.is_none):
            self._entered.add(phase)
            self._core.record(
                PhaseEntered(
                    phase=phase,
                    allow_missing=allow_missing,
                    tokens=budget.tokens,
                    dollars=budget.dollars,
                )
            )

    def expect(self, rows: Iterable[RowId]) -> None:
        """Declare rows ahead."""
        state = self._core.state
        rows = dict.fromkeys(rows)
        for phase in dict.fromkeys(row.phase for row in rows):
            self.enter_phase(phase, None)
        known = state.rows.get
        new = tuple(
            row
            for row in rows
            if (before := known(row)) is None or before.life != state.life
        )
        if len(new) == 1:
            self._core.record(RowExpected(row=new[0]))
        elif new:
            self._core.record(RowsExpected(rows=new))

    def withdraw(self, rows: Iterable[RowId]) -> None:
        """Take back rows that were declared ahead and will not come."""
        for row in rows:
            # What was scheduled, or ended by a stop meanwhile, stays in the report.
            if row not in self.works and self.is_open(row):
                self._core.record(RowDropped(row=row))

    def is_open(self, row: RowId) -> bool:
        """The row is expected and has not ended."""
        known = self._core.state.rows.get(row)
        return (
            known is not None
            and known.life == self._core.state.life
            and known.status not in FINAL
        )

    def is_client(self, row: RowId) -> bool:
        """The row's calls are made by the script itself."""
        spec = self._core.state.rows[row].spec
        return spec is not None and spec.kind == "client"

    def open_rows(self) -> list[RowId]:
        """Rows of this life that have not ended, in order."""
        life = self._core.state.life
        return [
            row.id
            for row in self._core.state.rows.values()
            if row.life == life and row.status not in FINAL
        ]

    def done(
        self,
        row: RowId,
        *,
        value: Any,
        output: str | None = None,
        sha256: str | None = None,
        size: int | None = None,
        reused_from: str | None = None,
        files: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
    ) -> None:
        """End a row with its output."""
        self._core.live.pop(row, None)
        seq = self._core.record(
            RowDone(
                row=row,
                value=value,
                output=output,
                sha256=sha256,
                size=size,
                reused_from=reused_from,
                files_read=files[0],
                files_written=files[1],
            )
        )
        self._tell(row, seq, value, None)
        self.on_done(row)

    def missing(
        self, row: RowId, kind: MissingKind, reason: str, kept: Any = None
    ) -> None:
        """End a row without its output."""
        self._core.live.pop(row, None)
        seq = self._core.record(
            RowMissing(row=row, kind=kind, reason=reason, kept=kept)
        )
        self._tell(row, seq, None, kept)

    def already_ended(self, row: RowId) -> bool:
        """The row ended in this life, before the script asked for it."""
        known = self._core.state.rows.get(row)
        return (
            known is not None
            and known.life == self._core.state.life
            and known.status in FINAL
        )

    def tell_again(self, work: Work) -> None:
        """Tell how a row has ended to a script that asked for it too late."""
        outcome = self.outcome(work.order.row, None, None)
        self._core.after(self._core.durable_seq, lambda: work.on_end(outcome))

    def _tell(self, row: RowId, seq: int, value: Any, kept: Any) -> None:
        work = self.works.get(row)
        if work is None:
            return
        work.begin()
        outcome = self.outcome(row, value, kept)
        self._core.after(seq, lambda: work.on_end(outcome))
        if outcome.done:
            # Done is final: nothing of the conversation is needed any more.
            del self.works[row]

    def outcome(self, row: RowId, value: Any, kept: Any) -> RowOutcome:
        """Return how a row that has ended is told to the script."""
        known = self._core.state.rows[row]
        end, tally = known.end, known.tally
        assert end is not None, f"{row} has not ended"
        done = known.status is Status.DONE
        return RowOutcome(
            row=row,
            done=done,
            value=value,
            usage=tally.useful if done else tally.wasted,
            path=self._out(end.output) if end.output else None,
            attempts=tally.attempts,
            reused=end.reused_from is not None,
            kind=end.kind,
            reason=end.reason,
            kept=kept,
        )
