"""What the log says about a fact; most facts it says nothing about."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout.decide.ending import script_said, stop_said
from fanout.decide.forecast.say import dollars
from fanout.words.ahead import Forecasted, OpeningsCounted, RunsAgain
from fanout.words.batched import (
    BatchEnded,
    BatchGone,
    BatchOpened,
    BatchPlanned,
    CallSettled,
)
from fanout.words.counted import plural
from fanout.words.events import (
    AnswerSentBack,
    BudgetSet,
    CallAbandoned,
    CallRefused,
    CeilingSet,
    LifeStarted,
    LimitsLearned,
    Noted,
    PhaseEntered,
    Record,
    RowDone,
    RowMissing,
    RowRequeued,
    RunEnded,
    RunPaused,
    RunResumed,
    ScriptEnded,
    StopAsked,
    TurnsKept,
)
from fanout.words.model import RowId


@dataclass(frozen=True, slots=True)
class Line:
    """One line for the log."""

    level: str
    """`info`, `warning` or `error`."""
    text: str
    row: RowId | None = None


def describe(record: Record) -> Line | None:
    """Return the log line of a record, or None where it deserves none."""
    make = _LINES.get(type(record.event))
    return make(record.event) if make is not None else None


def _life(event: LifeStarted) -> Line:
    again = f", life {event.life}" if event.life > 1 else ""
    return Line("info", f"run {event.run} begins on {event.endpoint}{again}")


def _again(event: RunsAgain) -> Line:
    detail = f": {event.detail}" if event.detail else ""
    return Line("info", f"runs again: {event.why}{detail}", event.row)


def _counted(event: OpeningsCounted) -> Line:
    text = f"{plural(len(event.counts), 'first request')} counted, at no cost"
    if event.failed:
        return Line("info", f"{text}; then counting failed: {event.failed}")
    return Line("info", text)


def refusal(event: CallRefused) -> str:
    """`429 limit: This request would exceed …`: the status once, not with its type."""
    status = event.cause.partition(" ")[0]
    said = event.message
    if status.isdecimal() and said.startswith(f"{status} "):
        said = said.partition(": ")[2] or said
    return f"{event.cause}: {said}"


def _refused(event: CallRefused) -> Line:
    request = f" ({event.request_id})" if event.request_id else ""
    return Line("warning", f"{refusal(event)}{request}", event.row)


def _done(event: RowDone) -> Line:
    if event.reused_from is not None:
        return Line("info", f"done, reused from {event.reused_from}", event.row)
    where = f", {event.output}" if event.output else ""
    return Line("info", f"done{where}", event.row)


def _limits(event: LimitsLearned) -> Line:
    figures = [
        f"{value:,} {name}"
        for name, value in (
            ("requests", event.requests),
            ("input tokens", event.input_tokens),
            ("output tokens", event.output_tokens),
        )
        if value is not None
    ]
    return Line("info", f"limits of {event.pool} per minute: {', '.join(figures)}")


def _ceiling(event: CeilingSet) -> Line:
    if event.ceiling is None:
        return Line("info", "ceiling given back to auto")
    return Line("info", f"ceiling set to {event.ceiling}")


def _budget(event: BudgetSet) -> Line:
    figures = [] if event.dollars is None else [dollars(event.dollars)]
    if event.tokens is not None:
        figures.append(f"{event.tokens:,} tokens")
    whose = f"phase {event.phase}: " if event.phase else ""
    holds = " and ".join(figures)
    return Line("info", f"{whose}the budget is {holds or 'lifted'} from here on")


def _script(event: ScriptEnded) -> Line:
    level = "info" if event.outcome == "returned" else "error"
    return Line(level, script_said(event.outcome, event.text))


def _ended(event: RunEnded) -> Line:
    word = "complete" if event.complete else "incomplete"
    return Line("info", f"run ended {word}, exit code {event.exit_code}")


def _batch_ended(event: BatchEnded) -> Line:
    said = ", ".join(f"{n} {word}" for word, n in event.counts.items() if n)
    return Line("info", f"batch {event.batch} ended: {said or 'nothing in it'}")


def _batch_opened(event: BatchOpened) -> Line:
    return Line("info", f"batch {event.batch} is {event.id} at the service")


def _batch_planned(event: BatchPlanned) -> Line:
    return Line(
        "info", f"batch {event.batch}: hands in {plural(event.count, 'request')}"
    )


def _settled(event: CallSettled) -> Line | None:
    if not event.wasted.total:
        return None
    text = f"nobody waited for call {event.call}: {event.wasted.total:,} tokens"
    return Line("warning", text, event.row)


def _noted(event: Noted) -> Line:
    # A warning of the engine is one the user should see; a print is not.
    level = "warning" if event.source == "engine" else "info"
    return Line(level, event.text, event.row)


_LINES: dict[type, Callable[[Any], Line | None]] = {
    LifeStarted: _life,
    PhaseEntered: lambda e: Line("info", f"phase {e.phase}"),
    RunsAgain: _again,
    OpeningsCounted: _counted,
    Forecasted: lambda e: Line("warning" if e.warns else "info", e.text),
    TurnsKept: lambda e: Line("info", f"goes on from turns of {e.source}", e.row),
    CallRefused: _refused,
    BatchPlanned: _batch_planned,
    BatchOpened: _batch_opened,
    BatchEnded: _batch_ended,
    BatchGone: lambda e: Line("warning", f"batch {e.batch}: {e.reason}"),
    CallSettled: _settled,
    CallAbandoned: lambda e: Line("warning", f"call given up: {e.reason}", e.row),
    AnswerSentBack: lambda e: Line("info", f"answer sent back: {e.problem}", e.row),
    RowDone: _done,
    RowMissing: lambda e: Line("error", f"missing: {e.kind}: {e.reason}", e.row),
    RowRequeued: lambda e: Line("info", "requeued", e.row),
    LimitsLearned: _limits,
    CeilingSet: _ceiling,
    BudgetSet: _budget,
    RunPaused: lambda _: Line("info", "paused: nothing new is sent"),
    RunResumed: lambda _: Line("info", "resumed"),
    StopAsked: lambda e: Line(
        "warning", f"stop ({e.mode}): {stop_said(e.cause, e.reason)}"
    ),
    Noted: _noted,
    ScriptEnded: _script,
    RunEnded: _ended,
}
