"""The waiting line of a pool: tickets, sorted so that the first goes first.

A sorted list with bisect: at 10,000 rows an insertion moves 80 kB (microseconds)
and the head is index 0. Nothing here looks at all rows but a change of the order
(`sort`) and the tuple of rows for the screen, which is kept until the line changes.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanout.decide.admission.order import LARGE, Rank, place
from fanout.decide.admission.paths import Paths
from fanout.words.model import Need, RowId

# The order is looked over this often, a long line less often: what lies ahead of a
# call changes with every answer, but not by much.
LOOK_OVER_SECONDS = 0.5
LOOK_OVER_SHARE = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is known about a call before it is sent; `Estimator` makes a need of it."""

    model: str
    phase: str
    turn: int = 1
    """From 1."""
    new_bytes: int
    """Bytes of the request that no earlier call of the conversation had."""
    known_input: int = 0
    """Tokens of the conversation so far, as the last call's usage told them."""
    cached: int = 0
    """Tokens that are expected to be read from the prompt cache."""
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One waiting call."""

    row: RowId
    pool: str
    need: Need
    priority: tuple[Any, ...]
    """A `Rank`, from `fanout.decide.admission.order.priority`."""
    ask: Ask | None = None
    """With it the need is estimated anew when the ticket is at the head."""
    prefix: str | None = None
    """Names a prompt prefix worth warming; None where it is not."""
    ready: float = 0.0
    """Monotonic second before which it stays out of line (its own backoff)."""


class Line:
    """Tickets by priority; one a row."""

    __slots__ = (
        "_keys",
        "_paths",
        "_rows",
        "_seq",
        "_sorted",
        "_tickets",
        "_waiting",
        "input",
        "roomy",
    )

    def __init__(self, paths: Paths | None = None) -> None:
        self._paths = paths or Paths()
        self._sorted: tuple[float, int] = (-math.inf, 0)
        """When the order was last looked over, and by what knowledge."""
        self._keys: list[tuple[tuple[Any, ...], int]] = []
        self._tickets: dict[int, Ticket] = {}
        self._rows: dict[RowId, tuple[tuple[Any, ...], int]] = {}
        self._seq = 0
        self._waiting: tuple[RowId, ...] | None = ()
        self.input = 0
        """Input tokens of all tickets together."""
        self.roomy = False

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
        self.input += ticket.need.input
        self._tickets[self._seq] = ticket
        key = self._key(ticket, self._seq)
        insort(self._keys, key)
        self._rows[ticket.row] = key
        self._waiting = None

    def remove(self, row: RowId) -> Ticket | None:
        """Take a row's ticket out of the line."""
        key = self._rows.pop(row, None)
        if key is None:
            return None
        del self._keys[bisect_left(self._keys, key)]
        self._waiting = None
        ticket = self._tickets.pop(key[1])
        self.input -= ticket.need.input
        return ticket

    def sort(self, now: float, *, roomy: bool) -> None:
        """Put the line into the order that holds now.

        That costs a sort, so it is done when the order is another one, and now and
        then while what is expected to lie ahead decides and more was learned.
        """
        at, learned = self._sorted
        if roomy == self.roomy:
            rest = max(LOOK_OVER_SECONDS, LOOK_OVER_SHARE * len(self._tickets))
            if roomy or learned == self._paths.learned or now < at + rest:
                return
        self.roomy = roomy
        self._sorted = now, self._paths.learned
        self._keys = sorted(self._key(t, seq) for seq, t in self._tickets.items())
        self._rows = {self._tickets[key[1]].row: key for key in self._keys}
        self._waiting = None

    @property
    def waiting(self) -> tuple[RowId, ...]:
        """All rows in order."""
        if self._waiting is None:
            self._waiting = tuple(self._tickets[seq].row for _, seq in self._keys)
        return self._waiting

    def tickets(self) -> Sequence[Ticket]:
        """All tickets in order."""
        return [self._tickets[seq] for _, seq in self._keys]

    def _key(self, ticket: Ticket, seq: int) -> tuple[tuple[Any, ...], int]:
        large = ticket.need.input * len(self._tickets) > LARGE * self.input
        rank, ahead = ticket.priority, 0.0
        if not self.roomy and isinstance(rank, Rank) and rank.past is not None:
            ahead = self._paths.ahead(rank.past)
        where = place(rank, roomy=self.roomy, large=large, arrival=seq, ahead=ahead)
        return where, seq
