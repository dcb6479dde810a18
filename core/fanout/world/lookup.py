"""Earlier work that serves a row: asked before anything is spent.

Runs in a thread, since it reads journals, outputs and the files that tools once
read. A finished result is taken only while those files are as the row saw them
and its output can be put where this run expects it; a half-done conversation is
gone on with; anything else is said, so that a second payment never comes as a
surprise.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fanout.words.model import RowId
from fanout.words.orders import AgentOrder
from fanout.world.messages import Found


class Reusable(Protocol):
    """A finished result of an earlier life or run."""

    run: str
    output: str | None
    sha256: str | None
    size: int | None
    files_read: Mapping[str, str]
    files_written: Mapping[str, str]

    def load_value(self) -> Any:
        """Return the value, from the journal."""
        ...


class Partial(Protocol):
    """The turns of a row that did not end as done."""

    run: str
    entries: Sequence[Any]
    files_read: Mapping[str, str]
    files_written: Mapping[str, str]


class Earlier(Protocol):
    """What `fanout.disk.reuse.Reuse` offers."""

    def take(self, fingerprint: str, key: str) -> Any:
        """Return a result nobody has taken yet, or None."""
        ...

    def partial(self, fingerprint: str, key: str) -> Any:
        """Return a half-done conversation, or None."""
        ...

    def changed(self, key: str) -> bool:
        """Say whether the key is known under another fingerprint."""
        ...


class Lookup:
    """Finds earlier work for rows."""

    def __init__(
        self,
        earlier: Earlier | None,
        *,
        digest: Callable[[str], str | None],
        restore: Callable[[str, Any, str | None, str], bool],
    ) -> None:
        self._earlier = earlier
        self._digest = digest
        self._restore = restore
        # One result must not serve two rows, whichever thread asks.
        self._lock = threading.Lock()

    def find(self, wanted: Sequence[tuple[AgentOrder, str]]) -> list[Found]:
        """Return what there is for each order and fingerprint, in order."""
        with self._lock:
            return [self._one(order, mark) for order, mark in wanted]

    def _one(self, order: AgentOrder, mark: str) -> Found:
        row = order.row
        if self._earlier is None:
            return Found(row=row)
        done = self._earlier.take(mark, row.key)
        if done is not None:
            return self._finished(order, done)
        partial = self._earlier.partial(mark, row.key)
        if partial is not None:
            return self._half_done(row, partial)
        if self._earlier.changed(row.key):
            return Found(row=row, note="starts over: what determines it has changed")
        return Found(row=row)

    def _finished(self, order: AgentOrder, done: Any) -> Found:
        row = order.row
        moved = self._moved(done.files_read, done.files_written)
        if moved:
            return Found(row=row, note=f"starts over: {moved} has changed since")
        value = done.load_value()
        note = ""
        if order.output is not None and not self._restore(
            order.output, value, done.sha256, done.run
        ):
            note = (
                f"{order.output} was edited since it was written; it is left as it is"
            )
        return Found(
            row=row,
            source=done.run,
            done=True,
            value=value,
            output=order.output,
            sha256=done.sha256,
            size=done.size,
            files_read=done.files_read,
            files_written=done.files_written,
            note=note,
        )

    def _half_done(self, row: RowId, partial: Any) -> Found:
        moved = self._moved(partial.files_read, partial.files_written)
        if moved:
            return Found(row=row, note=f"starts over: {moved} has changed since")
        return Found(
            row=row,
            source=partial.run,
            entries=tuple(partial.entries),
            files_read=partial.files_read,
            files_written=partial.files_written,
        )

    def _moved(self, read: Mapping[str, str], written: Mapping[str, str]) -> str:
        """Name a file that is not as the row left it; empty when all are."""
        for path, digest in {**read, **written}.items():
            if self._digest(path) != digest:
                return path
        return ""
