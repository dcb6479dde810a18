"""The two ways out: a call of its own, or in a batch.

Agents, stops and stale rows speak to this; which lane a row is in, its pool says.
"""

from fanout.decide.batching import POOL
from fanout.words.model import MissingKind, RowId
from fanout.world.batch.batches import Batches
from fanout.world.calls import Calls
from fanout.world.request import Request


class Lanes:
    """Calls and batches as one."""

    def __init__(self, calls: Calls, batches: Batches) -> None:
        self._calls = calls
        self.batches = batches

    @property
    def in_flight(self) -> int:
        """Calls admitted and not yet ended, of both lanes."""
        return self._calls.in_flight + self.batches.in_flight

    def ask(self, request: Request) -> None:
        """Ask for a call; one that was left in a batch is taken up first."""
        if not self.batches.claim(request):
            self.again(request)

    def waits(self, row: RowId) -> bool:
        """The row's call is in a line."""
        return self._calls.waits(row) or self.batches.waits(row)

    def again(self, request: Request) -> None:
        """Put a call into its line."""
        if request.pool == POOL:
            self.batches.gather(request)
        else:
            self._calls.ask(request)

    def give_up(self, row: RowId, kind: MissingKind, reason: str) -> bool:
        """Take a row's call back; says whether one is under way."""
        in_batch = self.batches.give_up(row, kind, reason)
        return self._calls.give_up(row, kind, reason) or in_batch

    def stop(self, kind: MissingKind, reason: str, *, at_once: bool) -> None:
        """Begin to stop; at once: also what was sent is given up."""
        self._calls.give_up_all(kind, reason, unsent_only=not at_once)
        self.batches.stop(kind, reason, at_once=at_once)

    def leave_batches(self, kind: MissingKind, reason: str) -> None:
        """A run that stops waits for no batch."""
        self.batches.leave_all(kind, reason)
