"""Which rows were made from which, and so what a late result makes stale.

A row that was given a hole was made without it. When a requeue fills the hole
after the script has gone on, that row no longer says what it should: it is stale,
and so is every row that was made from it in turn.
"""

from collections.abc import Iterable, Iterator

from fanout.words.model import RowId


class Lineage:
    """The inputs of rows, as far as they were results of other rows."""

    def __init__(self) -> None:
        self._made_from: dict[RowId, list[RowId]] = {}
        self._made_without: dict[RowId, list[RowId]] = {}

    def given(
        self, row: RowId, sources: Iterable[RowId], holes: Iterable[RowId]
    ) -> None:
        """Row `row` was given these results; `holes` are those that were missing."""
        for source in sources:
            self._made_from.setdefault(source, []).append(row)
        for hole in holes:
            self._made_without.setdefault(hole, []).append(row)

    def stale_by(self, row: RowId) -> Iterator[tuple[RowId, str]]:
        """Return the rows that a late result of `row` makes stale, and why."""
        seen = {row}
        wave = [(r, f"made without {row}") for r in self._made_without.get(row, ())]
        while wave:
            found, why = wave.pop(0)
            if found in seen:
                continue
            seen.add(found)
            yield found, why
            wave += [(r, f"made from {found}") for r in self._made_from.get(found, ())]
