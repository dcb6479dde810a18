"""One row's conversation as lines to read, from the run's records."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fanout.decide.logline import refusal
from fanout.words.events import (
    AnswerSentBack,
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Record,
    RowDone,
    RowMissing,
    RowRequeued,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import RowId

PREVIEW = 100_000
"""Characters of one block that are shown; the journal has the rest."""
PREVIEW_OF_TOOLS = 2_000
"""Of what went into tools and came out of them: there may be hundreds."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One line of a transcript."""

    at: float
    """Wall-clock second."""
    kind: str
    """`prompt`, `text`, `tool`, `result`, `call` or `note`."""
    text: str


def transcript(records: Iterable[Record], row: RowId) -> Iterator[Spoken]:
    """Return what was said in a row, oldest first."""
    for record in records:
        if getattr(record.event, "row", None) != row:
            continue
        for kind, text in _said(record.event):
            yield Spoken(record.at, kind, _short(kind, text))


def _said(event: Any) -> Iterator[tuple[str, str]]:
    yield from _calls(event)
    match event:
        case RowScheduled():
            yield from _opening(event.opening)
        case CallAnswered():
            yield from _answer(event.answer)
        case ToolsRan():
            yield from _results(event.results)
        case TurnsKept():
            yield "note", f"goes on from {len(event.entries)} entries of {event.source}"
        case CallRefused():
            yield "note", refusal(event)
        case AnswerSentBack():
            yield "note", f"sent back: {event.problem}"
        case _:
            yield from _ends(event)


def _calls(event: Any) -> Iterator[tuple[str, str]]:
    match event:
        case CallAdmitted():
            need = f"{event.need.input:,} in, {event.need.output:,} out"
            yield "call", f"call {event.call} of turn {event.turn} sent, expects {need}"
        case CallAnswered():
            yield "call", _answered(event)
        case CallRefused():
            yield "call", _refused(event)
        case CallAbandoned():
            yield "call", f"call {event.call} given up: {event.reason}"


def _answered(event: CallAnswered) -> str:
    usage = event.usage
    cached = usage.cache_read_input_tokens
    return "  ".join(
        [
            f"call {event.call} answered",
            event.request_id or "no request id",
            f"{usage.charged_input:,} in" + (f" + {cached:,} cached" if cached else ""),
            f"{usage.output_tokens:,} out",
            f"{event.seconds:.1f} s",
            event.stop_reason or "no stop reason",
        ]
    )


def _refused(event: CallRefused) -> str:
    status = "no response" if event.status is None else str(event.status)
    lost = event.wasted.total + event.in_doubt.total
    return "  ".join(
        [
            f"call {event.call} refused",
            event.request_id or "no request id",
            status,
            event.cause,
            *([f"{lost:,} tokens lost at most"] if lost else []),
        ]
    )


def _ends(event: Any) -> Iterator[tuple[str, str]]:
    match event:
        case RowDone():
            where = f": {event.output}" if event.output else ""
            yield "note", f"done{where}"
        case RowMissing():
            yield "note", f"missing: {event.kind}: {event.reason}"
        case RowRequeued():
            yield "note", "requeued"


def _opening(opening: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("system", "inputs", "prompt"):
        if opening.get(name):
            yield "prompt", str(opening[name])


def _answer(answer: Any) -> Iterator[tuple[str, str]]:
    message = answer.get("message", {}) if isinstance(answer, Mapping) else {}
    for block in message.get("content") or answer or ():
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input"), ensure_ascii=False)
            yield "tool", f"{block.get('name')} {arguments}"
        elif block.get("text"):
            yield "text", str(block["text"])


def _results(results: Any) -> Iterator[tuple[str, str]]:
    for block in results or ():
        content = block.get("content")
        text = content if isinstance(content, str) else json.dumps(content)
        failed = "failed: " if block.get("is_error") else ""
        yield "result", failed + text


def _short(kind: str, text: str) -> str:
    most = PREVIEW_OF_TOOLS if kind in {"tool", "result"} else PREVIEW
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,})"
