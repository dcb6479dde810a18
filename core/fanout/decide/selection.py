"""Which rows may spend when only a few are to be tried: `--only` and `--limit`.

A pattern stands for rows by `PHASE/KEY`, with `*`, `?` and `[…]`, where `*` also
crosses slashes; a pattern that fits a phase's whole name stands for all of it.
A limit is a number of rows of each phase, the first in the order in which they were
expected, so that all of a script is tried on a few; with both, the first of those
that fit. The same choice again names the same rows. Whatever earlier work serves is
no spending and is taken all the same.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fanout.words.model import RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was asked for; by default everything."""

    only: tuple[str, ...] = ()
    """Patterns; none is no restriction."""
    limit: int | None = None

    @property
    def narrows(self) -> bool:
        """Whether any row may be left out."""
        return bool(self.only) or self.limit is not None

    @property
    def words(self) -> str:
        """The options as they were typed: `--only audit/a*`, `--limit 3`."""
        parts = [f"--only {','.join(self.only)}"] if self.only else []
        if self.limit is not None:
            parts.append(f"--limit {self.limit}")
        return " ".join(parts)

    def names(self, row: RowId) -> bool:
        """Whether a pattern stands for the row."""
        return not self.only or any(fits(pattern, row) for pattern in self.only)

    def reason(self, row: RowId) -> str:
        """Why a row that was not chosen is missing."""
        if not self.names(row):
            return "not selected (--only)"
        return f"not selected (--limit {self.limit})"

    def chosen(self, rows: Iterable[RowId]) -> set[RowId]:
        """Return those of all rows, in the order expected, that may spend."""
        taken: Counter[str] = Counter()
        chosen = set()
        for row in rows:
            if not self.names(row):
                continue
            if self.limit is not None and taken[row.phase] >= self.limit:
                continue
            taken[row.phase] += 1
            chosen.add(row)
        return chosen

    def idle(self, rows: Collection[RowId]) -> tuple[str, ...]:
        """Patterns that no row fits."""
        return tuple(p for p in self.only if not any(fits(p, row) for row in rows))


EVERYTHING = Selection()


def fits(pattern: str, row: RowId) -> bool:
    """Whether a pattern stands for a row, or for its whole phase."""
    return fnmatchcase(str(row), pattern) or fnmatchcase(row.phase, pattern)
