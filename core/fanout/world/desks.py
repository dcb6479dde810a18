"""The engine's desks, put together: who needs whom, said once.

Tests build the same desks over a scripted API, a journal in memory and a
virtual clock; nothing here knows the difference.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fanout.decide.ended import finish_command
from fanout.decide.ending import Tolerance
from fanout.decide.money.budget import Purses
from fanout.files.outputs import OutputFolder
from fanout.words.outcome import Broken, Outcome, Refused
from fanout.words.timeouts import Timeouts
from fanout.world.agent.agents import Agents
from fanout.world.agent.lookup import Lookup
from fanout.world.agent.openings import Defaults
from fanout.world.agent.performers import Apart, Performers, Threads
from fanout.world.batch.batches import Batches
from fanout.world.batch.line import BatchLine
from fanout.world.calls import Calls
from fanout.world.clients import Clients
from fanout.world.core import Core
from fanout.world.lanes import Lanes
from fanout.world.pacing import CountPace
from fanout.world.requeues import Requeues
from fanout.world.rows import Rows
from fanout.world.snapshots import Publisher
from fanout.world.spend.budgets import Budgets
from fanout.world.spend.counting import Counting
from fanout.world.spend.planning import Planning
from fanout.world.spend.question import Question
from fanout.world.spend.waves import Waves
from fanout.world.stale import Stale
from fanout.world.stopping import Stopping


class ApiPort(Protocol):
    """The Messages API as desks need it."""

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Send one call and see it to its end."""
        ...

    async def ready(self) -> None:
        """Return once something could be sent."""
        ...

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Pass a request through."""
        ...

    async def lines(
        self, path: str, take: Callable[[str], bool]
    ) -> Refused | Broken | None:
        """Read a response line by line."""
        ...

    async def renew(self, text: str) -> None:
        """Cut what is under way, for this reason, and connect anew."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the desks act on."""

    api: ApiPort
    purses: Purses
    publisher: Publisher
    folder: OutputFolder
    lookup: Lookup
    threads: Threads
    apart: Apart
    chance: Callable[[], float]
    defaults: Defaults
    tolerance: Tolerance
    cancel_script: Callable[[str], None]
    timeouts: Timeouts = Timeouts()
    planning: Planning = Planning()
    lasting: bool = True
    """The account outlives this process, and so do batches in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desks:
    """Who knows what to do with which message."""

    rows: Rows
    budgets: Budgets
    calls: Calls
    batches: Batches
    lanes: Lanes
    agents: Agents
    clients: Clients
    stopping: Stopping
    stale: Stale
    waves: Waves
    question: Question
    counting: Counting
    requeues: Requeues


def _stopping(core: Core, world: World) -> Stopping:
    return Stopping(
        core,
        tolerance=world.tolerance,
        selection=world.planning.selection,
        cancel_script=world.cancel_script,
    )


def _calls(core: Core, world: World, stopping: Stopping, budgets: Budgets) -> Calls:
    return Calls(
        core,
        world.api,
        budgets=budgets,
        chance=world.chance,
        on_account=stopping.account_refuses,
        timeouts=world.timeouts,
    )


def _batches(
    core: Core, world: World, calls: Calls, stopping: Stopping, budgets: Budgets
) -> Batches:
    return Batches(
        core,
        BatchLine(world.api, core.clock.wall),
        calls=calls,
        budgets=budgets,
        chance=world.chance,
        on_account=stopping.account_refuses,
        default=world.defaults.lane,
        lasting=world.lasting,
        resume=finish_command(world.publisher.info),
    )


def _budgets(core: Core, world: World, stopping: Stopping) -> Budgets:
    budgets = Budgets(core, world.purses, raises=world.planning.raises)
    budgets.given(dict(world.planning.phase_budgets))
    budgets.stop = stopping.stop
    return budgets


def _performers(core: Core, world: World) -> Performers:
    return Performers(
        core,
        folder=world.folder,
        lookup=world.lookup,
        threads=world.threads,
        apart=world.apart,
    )


def _counting(core: Core, world: World, rows: Rows, pace: CountPace) -> Counting:
    return Counting(core, world.api, rows=rows, pace=pace, planning=world.planning)


def _clients(  # noqa: PLR0917  one after the other, as they are
    core: Core,
    world: World,
    rows: Rows,
    calls: Calls,
    seeker: Performers,
    waves: Waves,
    pace: CountPace,
) -> Clients:
    return Clients(
        core,
        rows=rows,
        calls=calls,
        api=world.api,
        seeker=seeker,
        waves=waves,
        defaults=world.defaults,
        pace=pace,
    )


def build_desks(core: Core, world: World) -> Desks:
    """Return the desks of one life."""
    stopping = _stopping(core, world)
    rows = Rows(core, lambda output: str(Path(world.folder.path, output)))
    budgets = _budgets(core, world, stopping)
    calls = _calls(core, world, stopping, budgets)
    lanes = Lanes(calls, _batches(core, world, calls, stopping, budgets))
    budgets.again, budgets.waits = lanes.again, lanes.waits
    performers = _performers(core, world)
    question = Question(core, world.planning, world.purses)
    pace = CountPace()
    counting = _counting(core, world, rows, pace)
    waves = Waves(core, world.planning, question, counting)
    agents = Agents(
        core,
        rows=rows,
        lanes=lanes,
        performers=performers,
        defaults=world.defaults,
        waves=waves,
        budgets=budgets,
        stopping=stopping.cause,
    )
    clients = _clients(core, world, rows, calls, performers, waves, pace)
    stopping.connect(
        rows,
        lanes,
        finish_clients=clients.finish,
        stop_tools=agents.stop_tools,
        before_end=(waves.finish, budgets.finish),
    )
    return Desks(
        rows=rows,
        budgets=budgets,
        calls=calls,
        batches=lanes.batches,
        lanes=lanes,
        agents=agents,
        clients=clients,
        stopping=stopping,
        stale=Stale(core, rows, lanes, agents.give_up_tools),
        waves=waves,
        question=question,
        counting=counting,
        requeues=Requeues(core, agents, performers, waves),
    )
