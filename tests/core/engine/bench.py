"""A whole engine over a scripted API, a journal in memory and virtual time."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fanout.decide.admission.account import Account
from fanout.decide.admission.estimate import Estimator
from fanout.decide.ended import ended
from fanout.decide.ending import Tolerance
from fanout.decide.fold.run_state import RunState
from fanout.decide.fold.state import apply
from fanout.decide.models import pool_of
from fanout.decide.money.budget import Purses
from fanout.decide.money.pricing import BUILT_IN
from fanout.decide.selection import EVERYTHING, Selection
from fanout.files.outputs import OutputFolder, digest, restore
from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.scripted_api import ScriptedApi
from fanout.testing.virtual_loop import LoopClock, VirtualLoop, inline
from fanout.words.budgets import Budget
from fanout.words.events import LifeStarted, Record
from fanout.words.model import RowId
from fanout.words.orders import AgentOrder, RowOutcome
from fanout.words.snapshot import RunEnd, RunInfo, Snapshot
from fanout.world import messages as said
from fanout.world.agent.lookup import Lookup
from fanout.world.agent.openings import Defaults
from fanout.world.agent.toolloop import here
from fanout.world.core import Core
from fanout.world.desks import World, build_desks
from fanout.world.engine import Engine
from fanout.world.port import Port
from fanout.world.snapshots import Publisher
from fanout.world.spend.planning import Planning, Script

INFO = RunInfo(
    id="test-1",
    name="test",
    folder="/nowhere/.fanout/test-1",
    script="/nowhere/test.py",
    arguments=(),
    endpoint="simulated:test",
    simulated=True,
    model="claude-sonnet-5",
    life=1,
    started_at=0.0,
)


AT_ONCE = Script()
PLANNING = Planning()
NO_TOLERANCE = Tolerance()
NO_BUDGET = Budget()


def order(key: str, phase: str = "main", **changes: Any) -> AgentOrder:
    given: dict[str, Any] = {
        "row": RowId(phase, key),
        "prompt": f"do {key}",
        "system": None,
        "inputs": "",
        "input_digests": (),
        "schema": None,
        "validate": None,
        "tools": (),
        "output": None,
        "model": None,
        "max_tokens": None,
        "max_turns": None,
    }
    return AgentOrder(**{**given, **changes})


class Bench:
    """One life; `run` it inside the virtual loop."""

    life = 1

    def __init__(
        self,
        api: ScriptedApi,
        out: Path,
        *,
        tolerance: Tolerance = NO_TOLERANCE,
        budget: Budget = NO_BUDGET,
        linger: bool = False,
        earlier: Any = None,
        journal: Any = None,
        state: RunState | None = None,
        chance: Callable[[], float] = lambda: 0.5,
        patience: float | None = None,
        purses: Purses | None = None,
        clock: LoopClock | None = None,
        script: Script = AT_ONCE,
        selection: Selection = EVERYTHING,
        planning: Planning = PLANNING,
        lane: str = "live",
        keep: Callable[[Snapshot], list[str]] | None = None,
    ) -> None:
        self.api = api
        self.clock = clock or LoopClock()
        self.journal = journal or MemoryJournal()
        self.cancelled: list[str] = []
        self.ended: dict[RowId, list[RowOutcome]] = {}
        self.reopened: list[RowId] = []
        self.earlier: Sequence[Record] = ()
        self._ended_at = 0.0
        estimator = Estimator()
        known = tuple(state.limits.values()) if state else ()
        account = Account(chance=chance, estimator=estimator, known=known)
        epoch = self.clock.epoch
        for pool, (at, hold) in (state.held if state else {}).items():
            account.hold_again(pool, hold, at, 0.0, epoch)
        self.core = Core(
            store=self.journal,
            state=state or RunState(),
            account=account,
            estimator=estimator,
            clock=self.clock,
        )
        purses = purses or Purses(budget, BUILT_IN)
        publisher = Publisher(self.core, INFO, purses)
        folder = OutputFolder(out)
        world = World(
            api=api,
            purses=purses,
            publisher=publisher,
            folder=folder,
            lookup=Lookup(
                lambda: earlier,
                digest=digest,
                restore=lambda o, value, mark: restore(
                    folder, o.output, value, mark, o.validate
                ),
            ),
            threads=inline,
            apart=here,
            chance=chance,
            defaults=Defaults(
                model="claude-sonnet-5",
                account="simulated:test",
                pool_of=pool_of,
                lane=lane,
            ),
            tolerance=tolerance,
            cancel_script=self._cancel,
            planning=replace(
                planning, script=script, selection=selection, threads=inline
            ),
        )
        self.engine = Engine(
            self.core,
            build_desks(self.core, world),
            publisher=publisher,
            linger=linger,
            export=lambda _snapshot, paths: [f"wrote {p}" for p in paths],
            threads=inline,
            patience=patience,
            keep=keep,
        )
        self.port = Port(self.core.post)

    @property
    def state(self) -> RunState:
        return self.core.state

    def status(self) -> dict[str, str]:
        return {str(r.id): r.status.value for r in self.state.rows.values()}

    def schedule(self, *orders: AgentOrder) -> None:
        self.port.schedule(orders, self._on_end, self.reopened.append)

    def _on_end(self, outcome: RowOutcome) -> None:
        self.ended.setdefault(outcome.row, []).append(outcome)

    def _cancel(self, reason: str) -> None:
        self.cancelled.append(reason)
        self.core.post(said.ScriptCame(outcome="cancelled", text=reason))

    def returns(self, value: Any = None) -> None:
        """`main` returns now."""
        self.core.post(said.ScriptCame(outcome="returned", value=value))

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something at a virtual second."""
        asyncio.get_running_loop().call_at(seconds, act)

    def run(self, *prepare: Callable[[], None], limit: float = 36_000.0) -> int:
        """Run to the end; returns the exit code. Stops with an error at `limit`."""

        async def live() -> None:
            self.core.record(
                LifeStarted(
                    run=INFO.id,
                    life=self.life,
                    script=INFO.script,
                    arguments=(),
                    endpoint=INFO.endpoint,
                    simulated=True,
                    model=INFO.model,
                    version="0",
                    pid=1,
                )
            )
            for act in prepare:
                act()
            async with asyncio.timeout(limit):
                await self.engine.run()
            self._ended_at = self.clock.now()

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(live())
        self.check()
        assert self.state.end is not None
        return self.state.end.exit_code

    @property
    def end(self) -> RunEnd | None:
        """How it ended, as people are told it."""
        return ended(self.state, INFO)

    def clock_at_end(self) -> float:
        """Virtual second at which the run ended."""
        return self._ended_at

    def check(self) -> None:
        """What holds at the end of every run, however it went."""
        replayed = RunState()
        for record in [*self.earlier, *self.journal.records()]:
            apply(replayed, record)
        assert replayed.rows == self.state.rows
        assert replayed.counts == self.state.counts
        assert replayed.totals == self.state.totals
        assert self.core.account.in_flight == 0
        assert self.engine.desks.calls.in_flight == 0
        assert not self.core.flying
        assert self.state.counts.expected == len(self.state.rows)


def keys(outcomes: Sequence[RowOutcome]) -> list[str]:
    return [outcome.row.key for outcome in outcomes]
