"""Phases, rows declared ahead, and lines for the log.

The phase is a context variable: tasks inherit it where they are created, and
concurrent tasks do not see each other's. Nested ones are `outer/inner`; entering
a name again is the same phase; outside of any it is `main`.
"""

from collections.abc import Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fanout.errors import UsageError
from fanout.script.naming import (
    checked_budget,
    checked_key,
    checked_phase,
    checked_tolerance,
)
from fanout.script.session import Session, current, current_or_none
from fanout.words.model import RowId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fanout.script.parts.partition import Partitions, Source
    from fanout.script.parts.records import Key

MAIN = "main"
SKIPPED_SHOWN = 20

_stack: ContextVar[tuple[str, ...]] = ContextVar("fanout_phases", default=())
"""Full names, the innermost last. A stack and not tokens: one `phase` object may
be entered by several tasks at once."""


def current_phase() -> str:
    """The phase in which an agent that is awaited now would be scheduled."""
    return (_stack.get() or (MAIN,))[-1]


@contextmanager
def within(phase: str) -> "Iterator[None]":
    """Be in `phase`, named in full."""
    outer = _stack.get()
    _stack.set((*outer, phase))
    try:
        yield
    finally:
        _stack.set(outer)


class phase:  # noqa: N801  a verb to the scripts that use it
    """`async with fanout.phase("audit"):` groups the rows scheduled within.

    `allow_missing` is how many holes the phase may have: a number, or `"5%"`.
    Falling short of it stops the run before the next phase spends.
    `max_tokens_total` and `max_usd` bound what its agents spend, over all lives of
    the run: what no longer fits is `missing: budget`, and the run goes on. A plain
    `with` serves too.
    """

    def __init__(
        self,
        name: str,
        allow_missing: int | str | None = None,
        *,
        max_tokens_total: int | None = None,
        max_usd: float | None = None,
    ) -> None:
        self.name = checked_phase(name)
        self.allow_missing = checked_tolerance(allow_missing)
        self.budget = checked_budget(max_tokens_total, max_usd)

    def __enter__(self) -> Self:
        outer = _stack.get()
        full = checked_phase(f"{outer[-1]}/{self.name}" if outer else self.name)
        current().enter(full, self.allow_missing, self.budget)
        _stack.set((*outer, full))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _stack.set(_stack.get()[:-1])

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)


def expect(keys: Iterable[str], phase: str | None = None) -> None:
    """Declare partitions ahead: they are in the report whatever happens.

    Without `phase` they belong to the current one; else it is named in full
    (`outer/inner`). Call it before the agents are made.
    """
    if isinstance(keys, str):
        raise UsageError(
            f"expect() takes several keys, not the one text `{keys}`",
            hint=f'write `fanout.expect(["{keys}"])`',
        )
    session = current()
    name = current_phase() if phase is None else checked_phase(phase)
    rows = [RowId(name, checked_key(key)) for key in keys]
    session.enter(name)
    session.expect(rows)


def log(text: object) -> None:
    """Write a line to the event log."""
    current().port.note("log", str(text))


def partition(
    source: "Source",
    pattern: str | None = None,
    *,
    max_tokens: int,
    containing: "str | Sequence[str] | None" = None,
    key: "Key" = None,
) -> "Partitions":
    """Return files, records or items as partitions by estimated tokens.

    `source`: a folder, with a `pattern` of file names; a `.jsonl` or `.csv` file; or
    any iterable. `containing`: regular expressions, one of which must match.
    `key`: the field or function that names a record or an item. Boundaries stay
    where they are when something else changes: see `fanout.script.parts.partition`.
    Within a run, what was split or left out is said in the log.
    """
    from fanout.script.parts import partition as maker  # noqa: PLC0415  reads files

    made = maker.partition(
        source, pattern, max_tokens=max_tokens, containing=containing, key=key
    )
    if (session := current_or_none()) is not None:
        _tell(session, made)
    return made


def _tell(session: Session, made: "Partitions") -> None:
    session.port.note("log", f"{made!r}"[1:-1])
    for line in made.plan[len(made) :]:
        session.port.note("log", line)
    for left in made.skipped[:SKIPPED_SHOWN]:
        session.port.note("log", f"not in a partition: {left.path}: {left.reason}")
    if (more := len(made.skipped) - SKIPPED_SHOWN) > 0:
        session.port.note("log", f"not in a partition: {more} more")
