"""Which row is picked, and how the list keeps still around it.

The cursor is a row's identity, not a position. When the list is re-ordered the
picked row stays where it is on the screen; with `follow` it moves and the screen
moves with it. Until the user first moves, the cursor stays on the top row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from fanout.words.model import Row, RowId
from fanout_tui.view.order import BY_KEY, Listing, held_in_place, listed, reason_words

NO_ROW = "no row is listed"
"""What a key says that would do something to a row."""


class Picking:
    """The list of rows as one user goes through it."""

    def __init__(self) -> None:
        self.listing = Listing()
        self.order: list[RowId] = []
        self.follow = False
        self.marks: set[RowId] = set()
        self._index = 0
        self._cursor: RowId | None = None
        self._touched = False

    @property
    def cursor(self) -> RowId | None:
        """The picked row; None where no row is listed: nothing can be seen of it."""
        return self._cursor if self.order else None

    @property
    def index(self) -> int:
        """Its place in the list."""
        return self._index

    def reorder(
        self,
        rows: Mapping[RowId, Row],
        now: float,
        *,
        over: bool,
        line: Iterable[RowId] = (),
        reason: Callable[[Row], str] = reason_words,
    ) -> None:
        """List the rows anew, the picked one where it was."""
        order = listed(rows, self.listing, now, over=over, line=line, reason=reason)
        cursor = self._cursor if self._touched else None
        if cursor is not None and not self.follow:
            order = held_in_place(order, cursor, self._index)
        self.order = order
        self.marks &= rows.keys()
        if cursor is not None and (found := self._find(cursor)) is not None:
            self._index = found
        else:
            self._index = min(self._index, max(0, len(order) - 1))
        self._cursor = order[self._index] if order else cursor

    def _find(self, row: RowId) -> int | None:
        at = self._index
        if at < len(self.order) and self.order[at] == row:
            return at
        try:
            return self.order.index(row)
        except ValueError:
            return None

    def move(self, by: int) -> None:
        """Pick the row that many places further."""
        self.go(self._index + by)

    def go(self, index: int) -> None:
        """Pick the row at a place."""
        self._touched = True
        if self.order:
            self._index = max(0, min(index, len(self.order) - 1))
            self._cursor = self.order[self._index]

    def pick(self, row: RowId) -> bool:
        """Pick a row by what it is; False where it is not listed."""
        found = self._find(row)
        if found is not None:
            self.go(found)
        return found is not None

    def narrow(self, listing: Listing) -> None:
        """List other rows; the picked one stays picked if it is among them."""
        self.listing = listing

    def narrowed(self, whole: int) -> str:
        """`12 of 100: auth`, when not all rows are listed; `3 marked`, when any are."""
        marked = f"{len(self.marks)} marked" if self.marks else ""
        if not self.listing.narrowed:
            return marked
        words = [status.value for status in BY_KEY if status in self.listing.statuses]
        if self.listing.filter:
            words.append(self.listing.filter)
        parts = [marked, f"{len(self.order)} of {whole}: {' '.join(words)}"]
        return ", ".join(part for part in parts if part)

    def mark(self) -> None:
        """Mark the picked row, or take its mark away."""
        if self.cursor is not None:
            self.marks ^= {self.cursor}

    def chosen(self, rows: Mapping[RowId, Row]) -> Sequence[Row]:
        """The marked rows, else the picked one."""
        if self.marks:
            return [rows[row] for row in rows if row in self.marks]
        if self.cursor is not None and self.cursor in rows:
            return [rows[self.cursor]]
        return []

    def place(self) -> str:
        """`row 2 of 17`."""
        if not self.order:
            return NO_ROW
        return f"row {self._index + 1} of {len(self.order)}"
