"""Missing rows that are reopened: by a person, while the run lives.

A row goes on from its last turn, unless its conversation could only end as it did.
One that was never recorded, or whose look-up had come too late, begins from there.
"""

from fanout.decide.conversation import Check, End, next_step
from fanout.words.events import RowRequeued
from fanout.words.model import RowId, Status
from fanout.world.agent.agents import Agents
from fanout.world.agent.performers import Performers
from fanout.world.core import Core
from fanout.world.rows import Work
from fanout.world.spend.waves import Waves


class Requeues:
    """Reopens rows."""

    def __init__(
        self, core: Core, agents: Agents, performers: Performers, waves: Waves
    ) -> None:
        self._core = core
        self._rows = agents.rows
        self._agents = agents
        self._performers = performers
        self._waves = waves
        self._stopping = agents.stopping

    def requeue(self, row: RowId) -> bool:
        """Reopen a missing row; says whether it could be."""
        work = self._rows.works.get(row)
        known = self._core.state.rows.get(row)
        if work is None or known is None or known.status is not Status.MISSING:
            return False
        if work.order.upstream is not None or self._stopping() is not None:
            return False
        if self._is_outdated(work):
            return False
        fresh = _must_start_over(work)
        if fresh:
            work.start_over()
        self._core.record(RowRequeued(row=row, fresh=fresh))
        self._waves.release(row)
        work.on_reopen(row)
        self._go_on_reopened(work)
        return True

    def _is_outdated(self, work: Work) -> bool:
        """A hole among its inputs was filled since: only the script can ask anew."""
        rows = self._core.state.rows
        holes = (rows.get(hole) for hole in work.order.holes)
        return any(hole and hole.status is Status.DONE for hole in holes)

    def _go_on_reopened(self, work: Work) -> None:
        found, work.found = work.found, None
        if not work.recorded:
            work.recorded = True
            self._agents.record(work)
            self._agents.look_up([work])
        elif found is not None and found.problem:
            work.sought = True
            self._waves.sought(1)
            self._performers.restore(work, found)
        elif found is not None:
            self._agents.begin(work, found)
        elif not work.sought:
            # Else what is being looked up decides how it begins.
            self._agents.advance(work.order.row)


def _must_start_over(work: Work) -> bool:
    """A conversation whose next step is its end would only end again."""
    step = next_step(work.conversation)
    return isinstance(step, End) or (isinstance(step, Check) and work.judged)
