"""What a script gets back: `Done`, `Missing`, and `Results` that know their holes.

A hole cannot be read as a result: its `value` raises `Incomplete`. What is
taken from `Results` (a slice, `.done`, a single element) remembers the whole it
came from (`Scope`), so that whoever is given a part is told of the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, NoReturn, TypeVar, overload

from fanout.errors import Incomplete
from fanout.words.model import NO_USAGE, MissingKind, RowId, Usage

T_co = TypeVar("T_co", covariant=True)

NAMES_SHOWN = 3
"""Holes that a message for people names before it only counts: each is a row, and
stands in the report by itself."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A whole: how many were expected, and which of them are missing."""

    expected: int
    missing: tuple[RowId, ...]

    def statement(self, shown: int | None = None) -> str:
        """`31 of 40 done; missing: …`; at most `shown` names, all by default."""
        head = f"{self.expected - len(self.missing)} of {self.expected} done"
        if not self.missing:
            return head
        return f"{head}; missing: {listed(self.missing, shown)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    key: str
    phase: str = "main"
    usage: Usage = NO_USAGE
    attempts: int = 0
    """Tries at its calls in all: one for each turn where nothing was refused or cut."""
    scope: Scope | None = field(default=None, repr=False, compare=False)
    """The whole it is a part of, when it came out of a `Results`."""

    @property
    def row(self) -> RowId:
        """Its name in the report: `phase/key`."""
        return RowId(self.phase, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(_Item, Generic[T_co]):
    """A partition that is there, whole and valid."""

    value: T_co
    """The schema's object, or the answer's text."""
    path: Path | None = None
    """The output file, when one was asked for."""
    reused: bool = False
    """Taken over from earlier work; nothing was spent."""

    @property
    def ok(self) -> Literal[True]:
        """True: this is no hole."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(_Item):
    """A partition that is not there, and why."""

    kind: MissingKind
    reason: str
    kept: Any = None
    """What it produced nevertheless, for instance a text that was cut."""

    @property
    def ok(self) -> Literal[False]:
        """False: this is a hole."""
        return False

    @property
    def value(self) -> NoReturn:
        """There is none: raises `Incomplete`."""
        raise Incomplete(
            f"{self.row} is missing: {self.because}", missing=[str(self.row)]
        )

    @property
    def because(self) -> str:
        """Kind and reason in one line."""
        return f"{self.kind}: {self.reason}" if self.reason else str(self.kind)


class Results(Sequence["Done[T_co] | Missing"], Generic[T_co]):
    """`Done` and `Missing` in call order; the whole they are of is never lost."""

    __slots__ = ("_items", "_scope")

    def __init__(
        self, items: Iterable["Done[T_co] | Missing"], *, scope: Scope | None = None
    ) -> None:
        given = tuple(items)
        self._scope = scope or Scope(
            len(given), tuple(item.row for item in given if isinstance(item, Missing))
        )
        self._items = tuple(replace(item, scope=self._scope) for item in given)

    @overload
    def __getitem__(self, index: int) -> "Done[T_co] | Missing": ...
    @overload
    def __getitem__(self, index: slice) -> "Results[T_co]": ...
    def __getitem__(self, index: int | slice) -> "Done[T_co] | Missing | Results[T_co]":
        if isinstance(index, slice):
            return Results(self._items[index], scope=self._scope)
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator["Done[T_co] | Missing"]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        return self._items == other._items and self._scope == other._scope

    def __hash__(self) -> int:
        return hash((self._scope, len(self._items)))

    def __repr__(self) -> str:
        return f"<Results: {self.statement(NAMES_SHOWN)}>"

    @property
    def scope(self) -> Scope:
        """The whole these are of."""
        return self._scope

    @property
    def complete(self) -> bool:
        """Nothing is missing, neither here nor in the whole these are of."""
        return not self._scope.missing

    @property
    def done(self) -> "Results[T_co]":
        """What is there; it still says what of the whole is not."""
        return Results(_done(self._items), scope=self._scope)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The holes among these, each with its reason."""
        return tuple(item for item in self._items if isinstance(item, Missing))

    def values(self) -> list[T_co]:
        """All values; raises `Incomplete` when one of these is missing."""
        if holes := self.missing:
            names = tuple(hole.row for hole in holes)
            raise Incomplete(
                f"{len(holes)} of {len(self)} are missing: "
                f"{listed(names, NAMES_SHOWN)}",
                missing=[str(name) for name in names],
            )
        return [item.value for item in _done(self._items)]

    def statement(self, shown: int | None = None) -> str:
        """What is done and missing of the whole, and how much of it this is."""
        text = self._scope.statement(shown)
        there = self._scope.expected - len(self._scope.missing)
        here = sum(1 for _ in _done(self._items))
        return text if here == there else f"{text}; {here} of the done ones are here"


def listed(rows: Sequence[RowId], shown: int | None = None) -> str:
    """`audit/a, audit/b`; with more than `shown`, how many more there are."""
    head = ", ".join(str(row) for row in rows[:shown])
    more = 0 if shown is None else len(rows) - shown
    return f"{head} and {more} more" if more > 0 else head


def _done(items: Iterable["Done[T_co] | Missing"]) -> Iterator["Done[T_co]"]:
    return (item for item in items if isinstance(item, Done))
