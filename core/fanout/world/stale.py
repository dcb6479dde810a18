"""Rows that a late result makes stale: ended as missing, to be redone on a resume."""

from collections.abc import Callable, Sequence

from fanout.decide.lineage import Lineage
from fanout.words.model import MissingKind, RowId, Status
from fanout.words.orders import AgentOrder
from fanout.world.core import Core
from fanout.world.lanes import Lanes
from fanout.world.rows import Rows


class Stale:
    """Watches which rows were given which holes."""

    def __init__(
        self,
        core: Core,
        rows: Rows,
        lanes: Lanes,
        give_up_tools: Callable[[RowId], None],
    ) -> None:
        self._core = core
        self._give_up_tools = give_up_tools
        self._rows = rows
        self._lanes = lanes
        self._lineage = Lineage()
        rows.on_done = self.late

    def note(self, orders: Sequence[AgentOrder]) -> None:
        """Remember what these were given."""
        for order in orders:
            if order.sources:
                self._lineage.given(order.row, order.sources, order.holes)

    def crossed(self, orders: Sequence[AgentOrder]) -> None:
        """End what was ordered without a row that has become done meanwhile."""
        rows = self._core.state.rows
        for hole in dict.fromkeys(h for order in orders for h in order.holes):
            known = rows.get(hole)
            if known is not None and known.status is Status.DONE:
                self.late(hole)

    def late(self, row: RowId) -> None:
        """A row is done; whoever was told that it is missing is stale."""
        for stale, why in self._lineage.stale_by(row):
            known = self._core.state.rows.get(stale)
            if known is None or known.status is Status.MISSING:
                continue
            if not self._lanes.give_up(stale, MissingKind.STALE, why):
                self._give_up_tools(stale)
                self._rows.missing(stale, MissingKind.STALE, why)
