"""What one run's journal holds that may serve again: results and conversations.

Results are what rows ended with as done. A conversation is what a row that did
not end so was told, answered and given by its tools, in order: entries exactly
as `fanout.words.events.TurnsKept.entries` holds them:

    {"kind": "answer", "content": [...], "stop_reason": "...", "usage": {...}}
    {"kind": "results", "content": [...]}
    {"kind": "correction", "problem": "..."}

Here stands only where in the journal each of them is; the facts themselves stay
on disk until somebody takes what they belong to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fanout.decide.again import parts_of
from fanout.decide.forecast.outlook import TEACHING, Outlook
from fanout.decide.payload import turns_in
from fanout.disk.reading import Where
from fanout.errors import FanoutError
from fanout.words.events import (
    AnswerSentBack,
    CallAnswered,
    Event,
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


class Source(Protocol):
    """What `fanout.disk.payloads.Payloads` offers."""

    def event(self, where: Where) -> Event:
        """Return the fact that stands there; raises `FanoutError`."""
        ...

    def value(self, payload: Any) -> Any:
        """Return a payload's value; raises `FanoutError`."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class Reusable:
    """A finished result; it serves one row. What is on disk raises `FanoutError`."""

    run: str
    """Id of the run that paid for it."""
    row: RowId
    fingerprint: str
    usage: Usage
    """What its answers cost in that run."""
    where: Where
    source: Source
    _end: RowDone | None = None

    @property
    def end(self) -> RowDone:
        """How the row ended."""
        if self._end is None:
            event = self.source.event(self.where)
            if not isinstance(event, RowDone):
                raise FanoutError(f"the journal of {self.run} has changed")
            self._end = event
        return self._end

    def load_value(self) -> Any:
        """Return the value."""
        return self.source.value(self.end.value)

    @property
    def output(self) -> str | None:
        """Relative path of its output."""
        return self.end.output

    @property
    def sha256(self) -> str | None:
        """Digest of its output."""
        return self.end.sha256

    @property
    def size(self) -> int | None:
        """Bytes of its output."""
        return self.end.size

    @property
    def files_read(self) -> Mapping[str, str]:
        """Absolute path to sha256, as read."""
        return self.end.files_read

    @property
    def files_written(self) -> Mapping[str, str]:
        """Absolute path to sha256, as written."""
        return self.end.files_written


Base = tuple[str, str, str]
"""Run, fingerprint and key of a conversation."""


@dataclass(slots=True, kw_only=True, eq=False)
class Partial:
    """The finished turns of a row that is not done; it serves one row."""

    run: str
    row: RowId
    fingerprint: str
    source: Source
    steps: list[Where] = field(default_factory=list)
    """Where the facts stand that its entries come from."""
    turns: int = 0
    """Answers among the entries."""
    base: Base | None = None
    """The conversation of another run that it goes on with."""
    files_read: dict[str, str] = field(default_factory=dict)
    files_written: dict[str, str] = field(default_factory=dict)
    usage: Usage = NO_USAGE

    @property
    def entries(self) -> tuple[Any, ...]:
        """The conversation's entries, oldest first."""
        return self.load_entries()

    def load_entries(self) -> tuple[Any, ...]:
        """Return the entries; raises `FanoutError` where one was damaged since."""
        found: list[Any] = []
        for where in self.steps:
            found += self._entries_of(self.source.event(where))
        return tuple(found)

    def go_on_from(self, other: "Partial") -> None:
        """Take over which files the earlier turns have seen."""
        self.files_read = other.files_read | self.files_read
        self.files_written = other.files_written | self.files_written

    def _entries_of(self, event: Event) -> Iterable[Any]:
        value = self.source.value
        match event:
            case CallAnswered():
                return [
                    {
                        "kind": "answer",
                        "content": value(event.answer),
                        "stop_reason": event.stop_reason,
                        "usage": event.usage.as_dict(),
                    }
                ]
            case ToolsRan():
                return [{"kind": "results", "content": value(event.results)}]
            case AnswerSentBack():
                return [{"kind": "correction", "problem": event.problem}]
            case TurnsKept():
                kept: Iterable[Any] = value(event.entries)
                return kept
            case _:
                raise FanoutError(f"the journal of {self.run} has changed")


@dataclass(slots=True, kw_only=True, eq=False)
class Asked:
    """What was last asked for under a row's name, and how that ended."""

    fingerprint: str
    where: Where
    source: Source
    kind: MissingKind | None = None

    def parts(self) -> Mapping[str, int]:
        """The marks of the opening's parts; none where it is damaged."""
        try:
            event = self.source.event(self.where)
            if isinstance(event, RowScheduled):
                return parts_of(self.source.value(event.opening))
        except FanoutError:
            pass
        return {}


class Harvest:
    """Takes in one run's records, then tells what may serve again."""

    def __init__(self, run: str, source: Source) -> None:
        """`source` is where the records stand."""
        self.run = run
        self._names = {run}
        """What it was called in any life: its folder may have been renamed."""
        self.inherited: list[Base] = []
        """What other runs had kept and this one has gone on with."""
        self.results: dict[RowId, list[Reusable]] = {}
        """By row, the oldest first; rows in the order first asked for."""
        self.asked: dict[RowId, Asked] = {}
        """By row; what the newest life still asks for is not in it."""
        self.asking: dict[RowId, Asked] = {}
        """What the newest life still asks for."""
        self.outlook = Outlook()
        """What its agents have used."""
        self.open: dict[RowId, Partial] = {}
        """Rows of this life that have not ended as done."""
        self.left: dict[tuple[RowId, str], Partial] = {}
        """Conversations of earlier lives that were not gone on with."""
        self.source = source
        self._by_content: dict[tuple[str, str], Partial] = {}
        self._handlers: dict[type, Callable[[Any, Where], None]] = {
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

    def known_as(self, run: str) -> None:
        """Its folder has had this name, too."""
        self._names.add(run)

    def take_in(self, record: Record, where: Where) -> None:
        """Learn from one record, which stands there."""
        kind = type(record.event)
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(record.event, where)
        if handler is not None or kind in TEACHING:
            self.outlook.take_in(record)

    def finished(self) -> Iterator[Reusable]:
        """Results, in the order in which their rows were asked for.

        Of several for one row the newest comes first.
        """
        for results in self.results.values():
            yield from reversed(results)

    def partials(self) -> list[Partial]:
        """Conversations with at least one entry, of rows that are not done."""
        for row in list(self.open):
            self._leave(row)
        return list(self.left.values())

    def partial_of(self, fingerprint: str, key: str) -> Partial | None:
        """Return the conversation kept under a fingerprint and key, if any."""
        if not self._by_content:
            self._by_content = {(p.fingerprint, p.row.key): p for p in self.partials()}
        return self._by_content.get((fingerprint, key))

    def killed(self) -> None:
        """No life goes on with what is open."""
        for row in list(self.asking):
            self._ended(row, MissingKind.INTERRUPTED)

    def _ended(self, row: RowId, kind: MissingKind | None) -> None:
        asked = self.asking.pop(row, None) or self.asked.get(row)
        if asked is not None:
            asked.kind = kind
            self.asked[row] = asked

    def _life(self, event: LifeStarted, _where: Where) -> None:
        self.killed()
        self.known_as(event.run)
        for row in list(self.open):
            self._leave(row)
        if event.fresh:
            # Refused once for all: no later life brings it back.
            self.results.clear()
            self.asked.clear()
            self.left.clear()
            self._by_content.clear()
            self.inherited.clear()

    def _leave(self, row: RowId) -> None:
        partial = self.open.pop(row)
        slot = (row, partial.fingerprint)
        before = self.left.get(slot)
        if partial.steps and (before is None or partial.turns >= before.turns):
            self.left[slot] = partial

    def _scheduled(self, event: RowScheduled, where: Where) -> None:
        if event.row in self.open:
            self._leave(event.row)
        self.results.setdefault(event.row, [])
        self.asking[event.row] = Asked(
            fingerprint=event.spec.fingerprint, where=where, source=self.source
        )
        self.open[event.row] = Partial(
            run=self.run,
            row=event.row,
            fingerprint=event.spec.fingerprint,
            source=self.source,
        )

    def _kept(self, event: TurnsKept, where: Where) -> None:
        partial = self.open.get(event.row)
        if partial is None:
            return
        partial.steps = [where]
        partial.turns = turns_in(event.entries)
        if event.source not in self._names:
            partial.base = (event.source, partial.fingerprint, event.row.key)
            self.inherited.append(partial.base)
            return
        before = self.left.get((event.row, partial.fingerprint))
        if before is not None:
            partial.base = before.base
            partial.usage = before.usage
            partial.files_read = dict(before.files_read)
            partial.files_written = dict(before.files_written)

    def _add(self, row: RowId, where: Where) -> Partial | None:
        partial = self.open.get(row)
        if partial is not None:
            partial.steps.append(where)
        return partial

    def _answered(self, event: CallAnswered, where: Where) -> None:
        partial = self._add(event.row, where)
        if partial is not None:
            partial.turns += 1
            partial.usage = partial.usage + event.usage

    def _ran(self, event: ToolsRan, where: Where) -> None:
        partial = self._add(event.row, where)
        if partial is not None:
            partial.files_read.update(event.files_read)
            partial.files_written.update(event.files_written)

    def _sent_back(self, event: AnswerSentBack, where: Where) -> None:
        self._add(event.row, where)

    def _done(self, event: RowDone, where: Where) -> None:
        self._ended(event.row, None)
        partial = self.open.pop(event.row, None)
        if partial is None:
            return
        self.left.pop((event.row, partial.fingerprint), None)
        if event.reused_from in self._names:
            return
        self.results[event.row].append(
            Reusable(
                run=event.reused_from or self.run,
                row=event.row,
                fingerprint=partial.fingerprint,
                usage=partial.usage,
                where=where,
                source=self.source,
            )
        )

    def _missing(self, event: RowMissing, _where: Where) -> None:
        self._ended(event.row, event.kind)
        results = self.results.get(event.row)
        if event.kind is MissingKind.STALE and results:
            results.pop()  # it answers a question that is no longer asked

    def _requeued(self, event: RowRequeued, _where: Where) -> None:
        partial = self.open.get(event.row)
        if partial is None or not event.fresh:
            return
        self.left.pop((event.row, partial.fingerprint), None)
        self.open[event.row] = Partial(
            run=self.run,
            row=event.row,
            fingerprint=partial.fingerprint,
            source=self.source,
        )
