"""What one run's journal holds that may serve again: results and conversations.

Results are what rows ended with as done. A conversation is what a row that did
not end so was told, answered and given by its tools, in order: entries exactly
as `fanout.words.events.TurnsKept.entries` holds them:

    {"kind": "answer", "content": [...], "stop_reason": "...", "usage": {...}}
    {"kind": "results", "content": [...]}
    {"kind": "correction", "problem": "..."}

Large payloads stay on disk until somebody takes what they belong to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanout.decide.again import parts_of
from fanout.decide.forecast.outlook import Outlook
from fanout.decide.payload import BlobRef, turns_in
from fanout.disk.blobs import Blobs
from fanout.errors import FanoutError
from fanout.words.events import (
    AnswerSentBack,
    CallAnswered,
    LifeStarted,
    Record,
    RowDone,
    RowMissing,
    RowRequeued,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import NO_USAGE, MissingKind, RowId, Usage


@dataclass(slots=True, kw_only=True, eq=False)
class Reusable:
    """A finished result; it serves one row."""

    run: str
    """Id of the run that paid for it."""
    row: RowId
    fingerprint: str
    payload: Any
    blobs: Blobs
    output: str | None
    sha256: str | None
    size: int | None
    files_read: Mapping[str, str]
    files_written: Mapping[str, str]
    usage: Usage
    """What its answers cost in that run."""

    def load_value(self) -> Any:
        """Return the value; raises `FanoutError` if it was damaged since."""
        return self.blobs.value(self.payload)


@dataclass(slots=True, kw_only=True, eq=False)
class Partial:
    """The finished turns of a row that is not done; it serves one row."""

    run: str
    row: RowId
    fingerprint: str
    blobs: Blobs
    steps: tuple[Mapping[str, Any], ...] = ()
    """The entries, with payloads as the journal holds them."""
    files_read: dict[str, str] = field(default_factory=dict)
    files_written: dict[str, str] = field(default_factory=dict)
    usage: Usage = NO_USAGE

    @property
    def turns(self) -> int:
        """Answers among the entries."""
        kept = (turns_in(s["kept"]) for s in self.steps if "kept" in s)
        return turns_in(self.steps) + sum(kept)

    @property
    def entries(self) -> tuple[Any, ...]:
        """The conversation's entries, oldest first."""
        return self.load_entries()

    def load_entries(self) -> tuple[Any, ...]:
        """Return the entries; raises `FanoutError` where one was damaged since."""
        found: list[Any] = []
        for step in self.steps:
            kept = step.get("kept")
            if kept is not None:
                found += self.blobs.value(kept)
            else:
                content = {n: self.blobs.value(v) for n, v in step.items()}
                found.append(content)
        return tuple(found)


@dataclass(slots=True)
class Asked:
    """What was last asked for under a row's name, and how that ended."""

    fingerprint: str
    opening: Mapping[str, int] | BlobRef
    """The marks of its parts; a large one is read when somebody asks."""
    blobs: Blobs
    kind: MissingKind | None = None

    def parts(self) -> Mapping[str, int]:
        """The marks of the opening's parts; none where it is damaged."""
        if isinstance(self.opening, BlobRef):
            try:
                self.opening = parts_of(self.blobs.value(self.opening))
            except FanoutError:
                self.opening = {}
        return self.opening


class Harvest:
    """Takes in one run's records, then tells what may serve again."""

    def __init__(
        self, run: str, blobs: Blobs, source: Callable[[TurnsKept, str], Partial | None]
    ) -> None:
        """`source` finds what another run had kept under a fingerprint."""
        self.run = run
        self.results: list[Reusable] = []
        self.superseded: list[Partial] = []
        """What other runs had kept and this one has gone on with."""
        self.asked: dict[RowId, Asked] = {}
        """By row; what the newest life still asks for is not in it."""
        self._asked: dict[RowId, Asked] = {}
        self.outlook = Outlook()
        """What its agents have used."""
        self._blobs = blobs
        self._source = source
        self._order: dict[RowId, int] = {}
        self._open: dict[RowId, Partial] = {}
        self._left: dict[tuple[RowId, str], Partial] = {}
        """Conversations of earlier lives that were not gone on with."""
        self._by_content: dict[tuple[str, str], Partial] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            LifeStarted: self._life,
            RowScheduled: self._scheduled,
            TurnsKept: self._kept,
            CallAnswered: self._answered,
            ToolsRan: self._ran,
            AnswerSentBack: self._sent_back,
            RowDone: self._done,
            RowMissing: self._missing,
            RowRequeued: self._requeued,
        }

    def take_in(self, record: Record) -> None:
        """Learn from one record."""
        handler = self._handlers.get(type(record.event))
        if handler is not None:
            handler(record.event)
            self.outlook.take_in(record)

    def finished(self) -> list[Reusable]:
        """Results, in the order in which their rows were asked for.

        Of several for one row the newest comes first.
        """
        newest_first = self.results[::-1]
        return sorted(newest_first, key=lambda r: self._order[r.row])

    def partials(self) -> list[Partial]:
        """Conversations with at least one entry, of rows that are not done."""
        for row in list(self._open):
            self._leave(row)
        return list(self._left.values())

    def partial_of(self, fingerprint: str, key: str) -> Partial | None:
        """Return the conversation kept under a fingerprint and key, if any."""
        if not self._by_content:
            self._by_content = {(p.fingerprint, p.row.key): p for p in self.partials()}
        return self._by_content.get((fingerprint, key))

    def killed(self) -> None:
        """No life goes on with what is open."""
        for row in list(self._asked):
            self._ended(row, MissingKind.INTERRUPTED)

    def _ended(self, row: RowId, kind: MissingKind | None) -> None:
        asked = self._asked.pop(row, None) or self.asked.get(row)
        if asked is not None:
            asked.kind = kind
            self.asked[row] = asked

    def _life(self, _event: LifeStarted) -> None:
        self.killed()
        for row in list(self._open):
            self._leave(row)

    def _leave(self, row: RowId) -> None:
        partial = self._open.pop(row)
        slot = (row, partial.fingerprint)
        before = self._left.get(slot)
        if partial.steps and (before is None or partial.turns >= before.turns):
            self._left[slot] = partial

    def _scheduled(self, event: RowScheduled) -> None:
        if event.row in self._open:
            self._leave(event.row)
        self._order.setdefault(event.row, len(self._order))
        opening = event.opening
        known = opening if isinstance(opening, BlobRef) else parts_of(opening)
        self._asked[event.row] = Asked(event.spec.fingerprint, known, self._blobs)
        self._open[event.row] = Partial(
            run=self.run,
            row=event.row,
            fingerprint=event.spec.fingerprint,
            blobs=self._blobs,
        )

    def _kept(self, event: TurnsKept) -> None:
        partial = self._open.get(event.row)
        if partial is None:
            return
        partial.steps = ({"kept": event.entries},)
        source = self._left.get((event.row, partial.fingerprint))
        if event.source != self.run:
            source = self._source(event, partial.fingerprint)
            if source is not None:
                self.superseded.append(source)
        elif source is not None:
            partial.usage = source.usage
        if source is not None:
            partial.files_read = dict(source.files_read)
            partial.files_written = dict(source.files_written)

    def _add(self, row: RowId, **entry: Any) -> Partial | None:
        partial = self._open.get(row)
        if partial is not None:
            partial.steps = (*partial.steps, entry)
        return partial

    def _answered(self, event: CallAnswered) -> None:
        partial = self._add(
            event.row,
            kind="answer",
            content=event.answer,
            stop_reason=event.stop_reason,
            usage=event.usage.as_dict(),
        )
        if partial is not None:
            partial.usage = partial.usage + event.usage

    def _ran(self, event: ToolsRan) -> None:
        partial = self._add(event.row, kind="results", content=event.results)
        if partial is not None:
            partial.files_read.update(event.files_read)
            partial.files_written.update(event.files_written)

    def _sent_back(self, event: AnswerSentBack) -> None:
        self._add(event.row, kind="correction", problem=event.problem)

    def _done(self, event: RowDone) -> None:
        self._ended(event.row, None)
        partial = self._open.pop(event.row, None)
        if partial is None:
            return
        self._left.pop((event.row, partial.fingerprint), None)
        if event.reused_from == self.run:
            return
        self.results.append(
            Reusable(
                run=event.reused_from or self.run,
                row=event.row,
                fingerprint=partial.fingerprint,
                payload=event.value,
                blobs=self._blobs,
                output=event.output,
                sha256=event.sha256,
                size=event.size,
                files_read=event.files_read,
                files_written=event.files_written,
                usage=partial.usage,
            )
        )

    def _missing(self, event: RowMissing) -> None:
        self._ended(event.row, event.kind)
        if event.kind is not MissingKind.STALE:
            return
        # It answers a question that is no longer asked.
        for result in reversed(self.results):
            if result.row == event.row:
                self.results.remove(result)
                return

    def _requeued(self, event: RowRequeued) -> None:
        partial = self._open.get(event.row)
        if partial is None or not event.fresh:
            return
        self._left.pop((event.row, partial.fingerprint), None)
        partial.steps = ()
        partial.usage = NO_USAGE
        partial.files_read = {}
        partial.files_written = {}
