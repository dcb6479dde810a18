"""The engine as the script's thread sees it: every call posts one message."""

from collections.abc import Callable, Sequence

from fanout.words.budgets import Budget
from fanout.words.commands import Note
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import AgentOrder, ClientOrder, ClientReply, RowOutcome
from fanout.world import messages as said

NO_BUDGET = Budget()
ORDERS_A_TURN = 200
"""The engine reads answers and takes keys between them."""
ROWS_A_TURN = 2_000
"""Of those that are only declared; it takes as long."""
Post = Callable[[object], None]


class Port:
    """An `EnginePort` over the engine's inbox; thread-safe."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def enter_phase(
        self, phase: str, allow_missing: str | None, budget: Budget = NO_BUDGET
    ) -> None:
        """Declare a phase."""
        self._post(said.PhaseCame(phase, allow_missing, budget))

    def expect(self, rows: Sequence[RowId]) -> None:
        """Declare rows ahead; many come in several messages, one a turn."""
        for first in range(0, len(rows), ROWS_A_TURN):
            some = tuple(rows[first : first + ROWS_A_TURN])
            self._post(said.ExpectCame(some))

    def schedule(
        self,
        orders: Sequence[AgentOrder],
        on_end: Callable[[RowOutcome], None],
        on_reopen: Callable[[RowId], None],
    ) -> None:
        """Work on these rows; many come in several messages, one a turn.

        Those are declared ahead: all of them count, and are shown, before the
        first of them is worked on.
        """
        if len(orders) > ORDERS_A_TURN:
            self.expect([order.row for order in orders])
        for first in range(0, len(orders), ORDERS_A_TURN):
            some = tuple(orders[first : first + ORDERS_A_TURN])
            self._post(said.AgentsCame(some, on_end, on_reopen))

    def call(self, order: ClientOrder, on_reply: Callable[[ClientReply], None]) -> None:
        """Send one request of `client()`."""
        self._post(said.ClientCame(order, on_reply))

    def cancel_call(self, order: ClientOrder) -> None:
        """The script no longer waits for this request."""
        self._post(said.ClientGone(order))

    def finish_missing(self, row: RowId, kind: MissingKind, reason: str) -> None:
        """End a row that will not be scheduled."""
        self._post(said.FinishMissing(row, kind, reason))

    def withdraw(self, rows: Sequence[RowId]) -> None:
        """Take back rows that will not come."""
        self._post(said.WithdrawCame(tuple(rows)))

    def note(self, source: str, text: str) -> None:
        """Put a line into the log."""
        self._post(Note(source, text))

    def quiet(self, number: int) -> None:
        """The script waits."""
        self._post(said.Quiet(number))
