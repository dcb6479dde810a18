"""Batches that the service has, or may have, and the calls in them.

A call in a batch outlives the process that sent it. While a row waits for it, it
is that row's flight like any other. When nobody waits (the process was killed, the
run was stopped, the row was cancelled), the call is *left*: what it may cost is in
doubt, until somebody takes it up again or its result has told.

    planned ──▶ opened ──▶ ended        a batch
    in flight ──▶ answered              a call
       │ ▲
       ▼ │ taken up
      left ──▶ settled                  its cost is known, its answer still there
"""

from dataclasses import dataclass, field

from fanout.words.model import NO_USAGE, Flight, Need, RowId, Usage

__all__ = ["Member", "OpenBatch", "OpenBatches"]


@dataclass(slots=True, kw_only=True)
class Member:
    """One call in a batch."""

    row: RowId
    call: int
    turn: int
    need: Need
    model: str
    digest: str
    """Names the request: what has the same one asks for the same answer."""
    left: bool = False
    """Nobody waits for it."""
    doubt: Usage = NO_USAGE
    """What it counts for as in doubt, while it is left."""
    wasted: Usage = NO_USAGE
    """What it counts for as wasted, once it is left and settled."""
    cost: float | None = 0.0
    """What that cost; None: a price was unknown."""
    dropped: bool = False
    """Its row was dropped since: only the sums know of it."""


@dataclass(slots=True, kw_only=True)
class OpenBatch:
    """One batch of which something is still to come."""

    number: int
    planned_at: float | None = None
    """Wall-clock second; None: it is not complete, and was not handed in."""
    id: str = ""
    """The service's; empty while it is not known."""
    seconds: float | None = None
    ended: bool = False
    size: int = 0
    """Requests it was planned with."""
    run: str = ""
    """What the run was called then: its requests have their names by that."""
    members: dict[int, Member] = field(default_factory=dict)
    """Those without an answer yet, by call."""


class OpenBatches:
    """All open batches of a run; changed by the fold alone."""

    def __init__(self) -> None:
        self.by_number: dict[int, OpenBatch] = {}
        self.next_number = 1
        self._of_call: dict[int, int] = {}
        self._left: dict[RowId, list[int]] = {}
        self._waited: dict[RowId, int] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenBatches) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return id(self)

    # -- what the desk asks -------------------------------------------------

    def batch_of(self, call: int) -> OpenBatch | None:
        """The batch a call is in; None for one that is in none, or has ended."""
        number = self._of_call.get(call)
        return None if number is None else self.by_number[number]

    def member(self, call: int) -> Member | None:
        """The call in its batch; None for one that is in none, or has ended."""
        batch = self.batch_of(call)
        return None if batch is None else batch.members[call]

    def left_of(self, row: RowId) -> list[Member]:
        """Calls of a row that nobody waits for, the newest first."""
        calls = self._left.get(row, ())
        return [m for call in reversed(calls) if (m := self.member(call)) is not None]

    def ids(self) -> set[str]:
        """The service's names of all open batches."""
        return {batch.id for batch in self.by_number.values() if batch.id}

    # -- what the fold does -------------------------------------------------

    def join(self, batch: int, member: Member) -> None:
        """A call was admitted for a batch."""
        held = self.by_number.setdefault(batch, OpenBatch(number=batch))
        held.members[member.call] = member
        self._of_call[member.call] = batch
        self._waited[member.row] = member.call
        self.next_number = max(self.next_number, batch + 1)

    def interrupt(self, flight: Flight) -> tuple[Usage, str]:
        """A dead life left this call: what is in doubt for it, and why."""
        batch = self.batch_of(flight.call)
        assert batch is not None, f"call {flight.call} is in no batch"
        if batch.planned_at is None:
            return NO_USAGE, "the process ended before its batch was handed in"
        member = batch.members[flight.call]
        worst = flight.need.worst
        self._leave(member, worst)
        if batch.id:
            return worst, f"the process ended; batch {batch.id} goes on without it"
        return worst, (
            f"in doubt: a batch of {batch.size} was being handed in, "
            f"at most {worst.total:,} tokens"
        )

    def forget_unplanned(self) -> None:
        """Batches that a dead life had not completed were never handed in."""
        for batch in list(self.by_number.values()):
            if batch.planned_at is None:
                self.drop(batch)

    def leave(self, call: int, doubt: Usage) -> None:
        """A call was given up; with nothing in doubt, it is over."""
        member = self.member(call)
        if member is None:
            return
        if doubt.total:
            self._leave(member, doubt)
        else:
            self.remove(call)

    def row_ended(self, row: RowId) -> None:
        """A row ended with its call in flight: nothing more is known of the call."""
        call = self._waited.get(row)
        if call is not None:
            self.remove(call)

    def _leave(self, member: Member, doubt: Usage) -> None:
        del self._waited[member.row]
        member.left, member.doubt = True, doubt
        self._left.setdefault(member.row, []).append(member.call)

    def _forget(self, member: Member) -> None:
        if not member.left:
            self._waited.pop(member.row, None)
        else:
            calls = self._left[member.row]
            calls.remove(member.call)
            if not calls:
                del self._left[member.row]

    def take_up(self, member: Member) -> None:
        """Somebody waits for a call again."""
        self._forget(member)
        self._waited[member.row] = member.call
        member.left = member.dropped = False
        member.doubt = member.wasted = NO_USAGE
        member.cost = 0.0

    def remove(self, call: int) -> None:
        """A call is over; so is its batch with the last of them."""
        number = self._of_call.pop(call, None)
        if number is None:
            return
        batch = self.by_number[number]
        self._forget(batch.members.pop(call))
        if not batch.members:
            del self.by_number[number]

    def drop(self, batch: OpenBatch) -> None:
        """A batch is no more, with all that is in it."""
        for call, member in batch.members.items():
            self._forget(member)
            del self._of_call[call]
        del self.by_number[batch.number]

    def lose_row(self, row: RowId) -> None:
        """A row was dropped: its calls count in the sums alone."""
        for member in self.left_of(row):
            member.dropped = True
