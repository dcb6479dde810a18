"""The waiting line of a pool: tickets, sorted so that the first goes first.

A sorted list with bisect: at 10,000 rows an insertion moves 80 kB (microseconds)
and the head is index 0. Nothing here scans all rows, but `smallest`, which is
asked once per unknown pool, and the tuple of rows for the screen, which is kept
until the line changes.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanout.words.model import Need, RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One waiting call."""

    row: RowId
    pool: str
    need: Need
    priority: tuple[Any, ...]
    """From `fanout.decide.order`; the smallest goes first."""
    prefix: str | None = None
    """Names a prompt prefix worth warming; None where it is not."""
    ready: float = 0.0
    """Monotonic second before which it stays out of line (its own backoff)."""


class Line:
    """Tickets by priority; one a row."""

    __slots__ = ("_keys", "_rows", "_seq", "_tickets", "_waiting")

    def __init__(self) -> None:
        self._keys: list[tuple[tuple[Any, ...], int]] = []
        self._tickets: dict[int, Ticket] = {}
        self._rows: dict[RowId, tuple[tuple[Any, ...], int]] = {}
        self._seq = 0
        self._waiting: tuple[RowId, ...] | None = ()

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, row: RowId) -> bool:
        return row in self._rows

    def at(self, index: int) -> Ticket:
        """The ticket at this place in the line."""
        return self._tickets[self._keys[index][1]]

    def add(self, ticket: Ticket) -> None:
        """Put a ticket in its place, behind those of the same priority."""
        self.remove(ticket.row)
        self._seq += 1
        key = (ticket.priority, self._seq)
        insort(self._keys, key)
        self._tickets[self._seq] = ticket
        self._rows[ticket.row] = key
        self._waiting = None

    def remove(self, row: RowId) -> Ticket | None:
        """Take a row's ticket out of the line."""
        key = self._rows.pop(row, None)
        if key is None:
            return None
        del self._keys[bisect_left(self._keys, key)]
        self._waiting = None
        return self._tickets.pop(key[1])

    def smallest(self) -> Ticket:
        """The ticket with the smallest input; the line must not be empty."""
        return min(self._tickets.values(), key=lambda ticket: ticket.need.input)

    @property
    def waiting(self) -> tuple[RowId, ...]:
        """All rows in order."""
        if self._waiting is None:
            self._waiting = tuple(self._tickets[seq].row for _, seq in self._keys)
        return self._waiting

    def tickets(self) -> Sequence[Ticket]:
        """All tickets in order."""
        return [self._tickets[seq] for _, seq in self._keys]
