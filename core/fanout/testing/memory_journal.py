"""The journal in memory: the same interface, committed as soon as it is due."""

from collections.abc import Iterable, Iterator
from typing import Any

from fanout.disk.codec import decode, encode
from fanout.disk.harvest import Harvest
from fanout.disk.port import OnCommit, OnError, is_durable
from fanout.disk.reading import Where
from fanout.words.events import Event, Record


def _ignore_commit(_seq: int) -> None:
    pass


def _ignore_error(_exc: Exception) -> None:
    pass


class MemoryJournal:
    """Keeps encoded lines, as a disk would; a test may make it fail.

    Callbacks are called from within `append`, before it returns.
    """

    def __init__(
        self,
        *,
        life: int = 1,
        last_seq: int = 0,
        on_commit: OnCommit = _ignore_commit,
        on_error: OnError = _ignore_error,
    ) -> None:
        self.lines: list[bytes] = []
        """What a disk would hold; for the next life, pass it on."""
        self.events: list[Event] = []
        self.failing: OSError | None = None
        """Set it to have every write fail with it until `retry` finds it None."""
        self.short = False
        """Set it to have the disk look full although everything is written."""
        self._life = life
        self._seq = last_seq
        self._on_commit = on_commit
        self._on_error = on_error
        self._waiting: list[Record] = []
        self._told = False
        self._closed = False
        self._committed = last_seq

    @property
    def committed(self) -> int:
        """Number up to which all records are durable."""
        return self._committed

    @property
    def failure(self) -> Exception | None:
        """What the disk said, while nothing is written until `retry`."""
        return (self.failing or OSError("it failed")) if self._told else None

    def start(self) -> None:
        """Nothing to start: there is no thread."""

    def append(self, event: Event, at: float) -> Record:
        """Number a fact, and commit if it is one that the world waits for."""
        if self._closed:
            raise RuntimeError("the journal is closed")
        self._seq += 1
        record = Record(self._seq, self._life, at, event)
        self.events.append(event)
        self._waiting.append(record)
        if is_durable(event):
            self._commit()
        return record

    def retry(self) -> None:
        """Try again after an error."""
        self._told = False
        self._commit()

    def close(self) -> None:
        """Commit what waits; raises what a failing disk would."""
        self._closed = True
        if self.failing is not None:
            raise self.failing
        self._commit()

    def records(self) -> Iterator[Record]:
        """Everything committed, read back from its lines."""
        for line in self.lines:
            record = decode(line)
            assert isinstance(record, Record)
            yield record

    def _commit(self) -> None:
        if self.failing is not None:
            if not self._told:
                self._told = True
                self._on_error(self.failing)
            return
        if not self._waiting or self._told:
            return
        self.lines += [encode(record) for record in self._waiting]
        seq = self._waiting[-1].seq
        self._waiting.clear()
        self._committed = seq
        self._on_commit(seq)


class InMemory:
    """Records as a harvest looks them up; a place's offset is its number in line."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._events = [record.event for record in records]

    def event(self, where: Where) -> Event:
        """Return the fact that stands there."""
        return self._events[where.offset]

    def value(self, payload: Any) -> Any:
        """Return the payload: none is ever put aside."""
        return payload


def harvest_of(run: str, records: Iterable[Record]) -> Harvest:
    """Return what records of a run hold that may serve again."""
    records = list(records)
    harvest = Harvest(run, InMemory(records))
    for number, record in enumerate(records):
        harvest.take_in(record, Where(1, number, 1))
    return harvest
