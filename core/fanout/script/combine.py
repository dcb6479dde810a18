"""`parallel()`: many agents at once, all of them accounted for.

All orders go to the engine in one go, in call order. A missing one does not
raise: it stands in the `Results` with its reason. A row that is reopened while
others are awaited is waited for again.

With `prove=N` the first N are a rehearsal of the prompt: when none of them is
done and at least one failed by the work itself, the rest is not sent.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from fanout.errors import UsageError
from fanout.script.agents import Agent
from fanout.script.awaiting import Once
from fanout.script.phases import current_phase
from fanout.script.results import Results
from fanout.script.session import CANCELLED, Session, current
from fanout.script.tickets import Ticket
from fanout.words.counted import plural
from fanout.words.model import MissingKind
from fanout.words.orders import AgentOrder, RowOutcome

T = TypeVar("T")

WORK_ITSELF = frozenset(
    {
        MissingKind.REJECTED,
        MissingKind.REFUSED,
        MissingKind.INVALID,
        MissingKind.NO_OUTPUT,
        MissingKind.TRUNCATED,
    }
)
"""Ends that the next agents would meet too; a stop or a time-out proves nothing."""


class Parallel(Once[Results[T]]):
    """Awaiting it runs its agents and gives their `Results`, always the same."""

    def __init__(self, agents: Sequence[Agent[T]], prove: int) -> None:
        super().__init__()
        self._agents = agents
        self._prove = prove

    def __repr__(self) -> str:
        return f"<parallel of {plural(len(self._agents), 'agent')}>"

    @property
    def agents(self) -> Sequence[Agent[T]]:
        """Its agents, in call order."""
        return self._agents

    async def _make(self) -> Results[T]:
        outcomes = await self._outcomes(current())
        return Results(
            agent.ended(outcome)
            for agent, outcome in zip(self._agents, outcomes, strict=True)
        )

    async def _outcomes(self, session: Session) -> list[RowOutcome]:
        session.proceed()
        orders = self._claimed(session)
        tickets = [_ticket(agent) for agent in self._agents]
        if not self._prove:
            session.send(orders)
            return await session.collect(tickets)
        first = tickets[: self._prove]
        early = {ticket.row for ticket in first}
        rest = [order for order in orders if order.row not in early]
        session.send([order for order in orders if order.row in early])
        if rest and await self._proved(session, first, rest):
            session.send(rest)
        return await session.collect(tickets)

    def _claimed(self, session: Session) -> list[AgentOrder]:
        """Take the rows of all agents that have none yet; all or nothing."""
        phase = current_phase()
        new = [agent for agent in dict.fromkeys(self._agents) if agent.ticket is None]
        orders = [agent.order(phase) for agent in new]
        for agent, ticket in zip(new, session.claim(orders), strict=True):
            agent.start(session, ticket)
        return orders

    async def _proved(
        self, session: Session, first: list[Ticket], rest: list[AgentOrder]
    ) -> bool:
        """Whether the rest may go; the rows that may not have ended by then."""
        rows = [order.row for order in rest]
        session.expect(rows)
        try:
            ended = await session.collect(first)
        except BaseException:
            if not session.ending:
                session.skip(rows, MissingKind.CANCELLED, CANCELLED)
            raise
        blame = [outcome for outcome in ended if outcome.kind in WORK_ITSELF]
        if not blame or any(outcome.done for outcome in ended):
            return True
        reason = (
            f"none of the first {len(first)} is done: "
            f"{blame[0].row} is missing: {blame[0].kind}: {blame[0].reason}"
        )
        session.skip(rows, MissingKind.UNPROVEN, reason)
        return False


def parallel(agents: Iterable[Agent[T]], prove: int = 0) -> Parallel[T]:
    """Run all agents; `await` gives their `Results` in call order.

    Never raises for a missing one. With `prove=N` the first N go first, and the
    rest only if one of them is done, or none failed by the work itself.
    """
    if not isinstance(prove, int) or isinstance(prove, bool) or prove < 0:
        raise UsageError(
            f"prove={prove!r} is not a number of agents", hint="write `prove=3`"
        )
    if not isinstance(agents, Iterable) or isinstance(agents, Agent):
        raise UsageError(
            f"parallel() takes agents, not {type(agents).__name__}",
            hint="write `fanout.parallel(fanout.agent(…) for item in items)`",
        )
    return Parallel(tuple(_checked(agent) for agent in agents), prove)


def _checked(agent: Any) -> Agent[Any]:
    if not isinstance(agent, Agent):
        raise UsageError(
            f"parallel() was given a {type(agent).__name__} among its agents",
            hint="give what fanout.agent(…) returns, without awaiting it",
        )
    return agent


def _ticket(agent: Agent[Any]) -> Ticket:
    assert agent.ticket is not None
    return agent.ticket
