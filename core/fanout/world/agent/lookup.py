"""Earlier work that serves a row: asked before anything is spent.

Runs in a thread, since it reads journals, outputs and the files that tools once
read. A finished result is taken only while those files are as the row saw them
and its output can be put where this run expects it; a half-done conversation is
gone on with; anything else is said, so that a second payment never comes as a
surprise.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fanout.decide.again import CHANGED_FILE
from fanout.decide.forecast.outlook import Experience
from fanout.errors import FanoutError
from fanout.files.outputs import Problem, Restored
from fanout.words.model import MissingKind, RowId, RowSpec
from fanout.world.messages import Found


class Order(Protocol):
    """What of an order matters here; a client's row has no output."""

    @property
    def row(self) -> RowId:
        """The row that asks."""
        ...

    @property
    def output(self) -> str | None:
        """Where this run expects its output."""
        ...


Restore = Callable[[Any, Any, str | None], Restored | Problem]
"""`fanout.files.outputs.restore`, for an order, its value and its output's digest."""

CHANGED_OUTPUT = (
    "changed since it was done; delete it and resume: it is written again at no cost"
)
AGENTS = ("not json", "misfit")
"""Problems of what a file holds; the others are of the file."""


class Earlier(Protocol):
    """What `fanout.disk.reuse.Reuse` offers."""

    def take(self, fingerprint: str, key: str) -> Any:
        """Return a result nobody has taken yet, or None."""
        ...

    def partial(self, fingerprint: str, key: str) -> Any:
        """Return a half-done conversation, or None."""
        ...

    def again(self, row: RowId, fingerprint: str, opening: Any) -> str:
        """Say why a row runs again although it is known; empty when it is not."""
        ...

    @property
    def held(self) -> Mapping[str, int]:
        """Rows with results that nobody has taken yet, by phase."""
        ...

    @property
    def elsewhere(self) -> Mapping[str, int]:
        """Runs of the same script on other accounts, by account."""
        ...

    @property
    def experience(self) -> Experience:
        """What agents of earlier runs have used."""
        ...


class Sought(Protocol):
    """A row that looks for earlier work."""

    @property
    def order(self) -> Any:
        """An `Order`."""
        ...

    @property
    def spec(self) -> RowSpec:
        """Its spec; the fingerprint is in it."""
        ...

    @property
    def opening(self) -> Any:
        """What its first request is made of."""
        ...


class Lookup:
    """Finds earlier work for rows."""

    def __init__(
        self,
        load: Callable[[], Earlier | None],
        *,
        digest: Callable[[str], str | None],
        restore: Restore,
    ) -> None:
        """`load` reads the index when it is first needed; None is none."""
        self._load = load
        self._loaded = False
        self._earlier: Earlier | None = None
        self._digest = digest
        self._restore = restore
        self.held: Mapping[str, int] = {}
        """Rows with results, before anybody took one, by phase."""
        self.elsewhere: Mapping[str, int] = {}
        """Runs of the same script on other accounts."""
        self.experience: Experience | None = None
        """What agents of earlier runs have used."""
        # One result must not serve two rows, whichever thread asks.
        self._lock = threading.Lock()

    def find(self, wanted: Sequence[Sought]) -> list[Found]:
        """Return what there is for each row, in order."""
        with self._lock:
            if not self._loaded:
                self._earlier = self._load()
                self._loaded = True
                if self._earlier is not None:
                    self.held = self._earlier.held
                    self.elsewhere = self._earlier.elsewhere
                    self.experience = self._earlier.experience
            return [self._one(one) for one in wanted]

    def _one(self, sought: Sought) -> Found:
        order, mark = sought.order, sought.spec.fingerprint
        row: RowId = order.row
        if self._earlier is None:
            return Found(row=row)
        done = self._earlier.take(mark, row.key)
        if done is not None:
            return self._finished(order, done)
        partial = self._earlier.partial(mark, row.key)
        why = self._earlier.again(row, mark, sought.opening)
        if partial is not None:
            return self._half_done(row, partial, why)
        return Found(row=row, again=why)

    def _finished(self, order: Order, done: Any) -> Found:
        row = order.row
        moved = self._moved(done.files_read, done.files_written)
        if moved:
            return Found(row=row, again=CHANGED_FILE, detail=moved)
        found = Found(
            row=row,
            source=done.run,
            done=True,
            value=done.load_value(),
            output=order.output,
            sha256=done.sha256,
            size=done.size,
            files_read=done.files_read,
            files_written=done.files_written,
        )
        return self.restored(order, found)

    def restored(self, order: Order, found: Found) -> Found:
        """See that a finished row's output is in its place; says what is not.

        One that was edited is what the row is done with, where it still counts.
        """
        if not order.output:
            return found
        try:
            there = self._restore(order, found.value, found.sha256)
        except (FanoutError, OSError) as error:
            problem = f"it is done, and its output cannot be written again: {error}"
            return replace(found, problem=problem, kind=MissingKind.NO_OUTPUT)
        if isinstance(there, Problem):
            kind = MissingKind.INVALID if there.kind in AGENTS else None
            problem = f"{there.text} ({CHANGED_OUTPUT})"
            kind = kind or MissingKind.NO_OUTPUT
            return replace(found, problem=problem, kind=kind)
        note = ""
        if there.edited:
            note = f"{order.output} was edited since it was written; "
            note += "it is left as it is, and taken for what it holds now"
        return replace(
            found,
            value=there.value,
            sha256=there.sha256,
            size=there.size,
            note=note,
            problem="",
        )

    def _half_done(self, row: RowId, partial: Any, why: str) -> Found:
        moved = self._moved(partial.files_read, partial.files_written)
        if moved:
            return Found(row=row, again=CHANGED_FILE, detail=moved)
        return Found(
            row=row,
            again=why,
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
