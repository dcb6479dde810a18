"""What a run amounts to: a row for everything that was expected, and the sums.

A report is made from a snapshot or from run state, so it can be had at any time:
of a run that lives, that ended, or that was killed. It claims nothing that the
rows do not bear out: complete is only a run whose life came to its end with every
expected row done. How it is written down is for `report_json` and its kin.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from fanout.decide.ended import INCOMPLETE, WORDS, broken_off, ended, finish_command
from fanout.decide.fold.run_state import RUN
from fanout.decide.fold.state import RunState
from fanout.decide.forecast.compare import compared, outcome
from fanout.decide.forecast.say import because
from fanout.decide.forecast.say import dollars as said
from fanout.decide.money.spent import budgets_of
from fanout.words.ahead import Foreseen
from fanout.words.budgets import BudgetView
from fanout.words.counted import plural
from fanout.words.model import Row, RowId, Status, Usage
from fanout.words.prices import Prices
from fanout.words.snapshot import (
    KILLED,
    Counts,
    Live,
    RunEnd,
    RunInfo,
    Snapshot,
    Totals,
)

FINAL = frozenset({Status.DONE, Status.MISSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One expected row."""

    phase: str
    key: str
    status: str
    kind: str | None
    """Why it is missing, in one of the contract's words."""
    reason: str
    """Why it is missing, or what it waits for."""
    attempts: int
    turns: int
    output: str | None
    sha256: str | None
    size: int | None
    reused_from: str | None
    model: str | None
    throttled_429: int
    throttled_529: int
    usage: Usage
    """What its calls are known to have cost."""
    in_doubt: Usage
    """The most that calls without a known end may have cost."""
    doubt_dollars: float | None
    """The same in dollars; None where the model's price is unknown."""
    again: str = ""
    """Why it runs again although earlier work knows it."""
    dollars: float | None = 0.0
    """What its calls are known to have cost, as `usage` has it."""
    output_now: str | None = None
    """What its output is on the disk, where it is not as it was done: `changed`,
    `empty`, `broken` or `gone`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSummary:
    """One phase, in numbers."""

    name: str
    counts: Counts
    budget: BudgetView = BudgetView()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run at one moment, for people and programs that were not there."""

    run: str
    name: str
    folder: str
    script: str
    arguments: tuple[str, ...]
    endpoint: str
    simulated: bool
    model: str
    life: int
    state: str
    """The snapshot's word, or `killed`."""
    started_at: float
    generated_at: float
    complete: bool
    accepted: bool
    exit_code: int | None
    """None while the run lives, and of one that was killed."""
    word: str
    """What its end is called; empty while the run lives."""
    reason: str
    because: str
    """Why it ended before everything was done, where that is more than the counts."""
    finish: str
    """The command that finishes the run; empty when it is complete."""
    counts: Counts
    totals: Totals
    phases: tuple[PhaseSummary, ...]
    partitions: tuple[ReportRow, ...]
    """In the order in which they were expected."""
    forecast: Mapping[str, Any] | None = None
    """What this life was said to take, and what it took; None: nothing was said."""
    budget: BudgetView = BudgetView()
    """The run's."""
    priced: Prices = Prices()
    """What it was reckoned with."""
    outputs: str = ""
    """The folder that outputs are in."""
    notes: tuple[str, ...] = ()
    """What is wrong with the journal, and which outputs are not as they were done."""

    @property
    def missing(self) -> list[ReportRow]:
        """The holes, in the order in which they were expected."""
        return [p for p in self.partitions if p.status == Status.MISSING.value]

    @property
    def doubtful(self) -> list[ReportRow]:
        """Rows with calls of which nobody knows what they cost, the dearest first."""
        rows = [p for p in self.partitions if p.in_doubt.total]
        return sorted(rows, key=lambda p: -p.in_doubt.total)

    @property
    def headline(self) -> str:
        """The report in one line: `39 of 40 done, 1 missing: incomplete`."""
        counts = self.counts
        others = (Status.MISSING, Status.RUNNING, Status.THROTTLED, Status.QUEUED)
        parts = [
            f"{counts.done:,} of {counts.expected:,} done",
            *(f"{counts.of(s):,} {s.value}" for s in others if counts.of(s)),
        ]
        return f"{', '.join(parts)}: {self.verdict}"

    @property
    def standing(self) -> str:
        """The headline as a sentence, with the exit code."""
        code = "none yet" if self.state != KILLED else "none, for it was killed"
        if self.exit_code is not None:
            code = str(self.exit_code)
        return f"{self.headline}. Exit code: {code}."

    @property
    def throttles(self) -> str:
        """How often the service said no, and what was taken over, as a sentence."""
        totals = self.totals
        return (
            f"Throttled: {plural(totals.refusals_429, 'time')} 429, "
            f"{plural(totals.refusals_529, 'time')} 529. "
            f"Reused: {plural(totals.reused, 'row')}."
        )

    @property
    def cost(self) -> str:
        """What was useful and wasted together, and what is in doubt, in dollars."""
        amount = self.totals.dollars
        text = "not known, for a model has no known price"
        if amount is not None:
            text = f"{said(amount)} for what was useful and wasted"
        doubts = [p.doubt_dollars for p in self.doubtful]
        if None in doubts:
            text += "; what is in doubt has no known price"
        elif doubts:
            worst = sum(one for one in doubts if one is not None)
            text += f"; in doubt, at most {said(worst)} more"
        return f"Cost: {text}."

    @property
    def expected_of(self) -> str:
        """What it was said to take and what it took, as a sentence; may be empty."""
        told = outcome(self.forecast)
        return f"Forecast: {told}." if told else ""

    @property
    def ran_again(self) -> str:
        """What earlier work knew and could not serve, as a sentence; may be empty."""
        causes = Counter(p.again.partition(": ")[0] for p in self.partitions if p.again)
        if not causes:
            return ""
        counted = (because(why, count) for why, count in causes.most_common())
        return f"Ran again, although earlier work knew them: {', '.join(counted)}."

    @property
    def _spoiled(self) -> str:
        """What is to be said of a complete run whose outputs are no longer so."""
        count = sum(1 for p in self.partitions if p.output_now is not None)
        if not count:
            return ""
        names = plural(count, "output has", "outputs have")
        return f" when it ended, and {names} changed since"

    @property
    def verdict(self) -> str:
        """The run's standing in one word or two."""
        if self.complete:
            return f"complete{self._spoiled}"
        word = self.state if self.exit_code is None else self.word
        return word if word in WORDS else INCOMPLETE


def held_against(
    report: Report, now: Mapping[RowId, str], notes: Iterable[str]
) -> Report:
    """Return the report with what the disk holds of its outputs, by row."""
    partitions = tuple(
        replace(one, output_now=now.get(RowId(one.phase, one.key)))
        for one in report.partitions
    )
    return replace(report, partitions=partitions, notes=(*report.notes, *notes))


def from_snapshot(snapshot: Snapshot, *, generated_at: float) -> Report:
    """Return the report of a run as a snapshot shows it."""
    return _report(
        snapshot.run,
        snapshot.rows,
        snapshot.counts,
        snapshot.totals,
        phases=snapshot.phases,
        state=snapshot.state,
        generated_at=generated_at,
        end=snapshot.end,
        prices=snapshot.prices,
        budgets={**snapshot.phase_budgets, RUN: snapshot.budget},
        live=snapshot.live,
        again=snapshot.again,
        foreseen=snapshot.foreseen,
    )


def from_state(
    state: RunState,
    info: RunInfo,
    word: str,
    *,
    generated_at: float,
    notes: Iterable[str] = (),
    rows: Mapping[RowId, Row] | None = None,
) -> Report:
    """Return the report of a run as its journal tells it.

    `word` is the state it is in. Where only the whole is asked for, no `rows` save
    the work.
    """
    return _report(
        info,
        state.rows if rows is None else rows,
        state.counts,
        state.totals,
        phases=tuple(state.phases),
        state=word,
        generated_at=generated_at,
        end=ended(state, info) or broken_off(word, info, state),
        prices=state.prices,
        budgets=budgets_of(state),
        notes=tuple(notes),
        again=state.again,
        foreseen=state.foreseen,
    )


def _report(
    info: RunInfo,
    rows: Mapping[RowId, Row],
    counts: Counts,
    totals: Totals,
    *,
    phases: tuple[str, ...],
    state: str,
    generated_at: float,
    end: RunEnd | None,
    prices: Prices,
    budgets: Mapping[str, BudgetView],
    notes: tuple[str, ...] = (),
    live: Mapping[RowId, Live] = MappingProxyType({}),
    again: Mapping[RowId, str] = MappingProxyType({}),
    foreseen: Foreseen | None = None,
) -> Report:
    complete = end is not None and end.complete and counts.done == counts.expected
    # A run that lives finishes by itself.
    finish = "" if complete or end is None else end.finish or finish_command(info)
    return Report(
        run=info.id,
        name=info.name,
        folder=info.folder,
        script=info.script,
        arguments=info.arguments,
        endpoint=info.endpoint,
        simulated=info.simulated,
        model=info.model,
        life=info.life,
        state=state,
        started_at=info.started_at,
        generated_at=generated_at,
        complete=complete,
        accepted=end is not None and end.accepted and not complete,
        exit_code=None if end is None else end.exit_code,
        word="" if end is None else _word(end),
        reason="" if end is None else end.reason,
        because="" if end is None or complete else end.cause,
        finish=finish,
        counts=counts,
        totals=totals,
        phases=_phases(phases, rows.values(), budgets),
        budget=budgets.get(RUN, BudgetView()),
        priced=prices,
        forecast=compared(
            foreseen,
            totals.useful + totals.wasted,
            totals.dollars,
            generated_at if end is None else end.at,
        ),
        partitions=tuple(
            _partition(row, live.get(row.id), again.get(row.id, ""))
            for row in rows.values()
        ),
        outputs=info.out,
        notes=notes,
    )


def _word(end: RunEnd) -> str:
    # A row may have been left open by an end that was complete.
    return "incomplete" if end.complete else end.word


def _phases(
    names: tuple[str, ...], rows: Iterable[Row], budgets: Mapping[str, BudgetView]
) -> tuple[PhaseSummary, ...]:
    figures: dict[str, dict[str, int]] = {name: {} for name in names}
    for row in rows:
        counts = figures.setdefault(row.id.phase, {})
        counts[row.status.value] = counts.get(row.status.value, 0) + 1
    return tuple(
        PhaseSummary(
            name=name,
            counts=Counts(**counts),
            budget=budgets.get(name, BudgetView()),
        )
        for name, counts in figures.items()
    )


def _partition(row: Row, live: Live | None, again: str) -> ReportRow:
    end, spec, tally = row.end, row.spec, row.tally
    output = end.output if end is not None else None
    return ReportRow(
        phase=row.id.phase,
        key=row.id.key,
        status=row.status.value,
        kind=end.kind.value if end is not None and end.kind is not None else None,
        reason=_why(row, live),
        attempts=tally.attempts,
        turns=tally.turns,
        output=output,
        sha256=end.sha256 if end is not None else None,
        size=end.size if end is not None else None,
        reused_from=end.reused_from if end is not None else None,
        model=spec.model if spec is not None else None,
        throttled_429=tally.refusals_429,
        throttled_529=tally.refusals_529,
        usage=tally.useful + tally.wasted,
        in_doubt=tally.in_doubt,
        doubt_dollars=tally.doubt_dollars,
        again=again,
        dollars=tally.dollars,
    )


def _why(row: Row, live: Live | None) -> str:
    if row.end is not None:
        return row.end.reason
    if live is not None:
        return f"{live.cause.value}: {live.note}" if live.note else live.cause.value
    if row.wait is None:
        return ""
    detail = f": {row.wait.detail}" if row.wait.detail else ""
    return f"{row.wait.cause.value}{detail}"
