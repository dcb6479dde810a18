"""One life of a run, put together: account, place, engine, script.

    Life.start()    engine thread and script thread begin
    life.thread     what screens and signals hold

Everything a life owns is closed in the reverse order of its opening, whichever
way it ends.
"""

import asyncio
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from fanout.access import Access
from fanout.config import Config
from fanout.decide.admission.account import Account
from fanout.decide.admission.estimate import Estimator
from fanout.decide.batching import LIVE
from fanout.decide.fold.run_state import RUN
from fanout.decide.fold.state import RunState
from fanout.decide.models import pool_of
from fanout.decide.money.budget import Purses
from fanout.decide.money.pricing import as_json
from fanout.decide.money.spent import purses_of
from fanout.disk.checkpoints.keeper import Keeper
from fanout.disk.journal import Journal
from fanout.disk.reserve import Reserve
from fanout.disk.reuse import Reuse, find_reusable
from fanout.errors import UsageError
from fanout.files.outputs import (
    OutputFolder,
    Problem,
    Restored,
    digest,
    restore,
)
from fanout.files.safepath import fence_off
from fanout.known import keeper, known_of
from fanout.place import Place
from fanout.script.loading import LoadedScript
from fanout.script.running import ScriptEnd, ScriptOptions, ScriptThread
from fanout.version import VERSION
from fanout.words.batched import BatchGone
from fanout.words.budgets import Budget
from fanout.words.counted import of_them
from fanout.words.events import LifeStarted, Noted
from fanout.words.orders import AgentOrder
from fanout.words.snapshot import RunInfo, Snapshot
from fanout.world import messages as said
from fanout.world.agent.lookup import Lookup
from fanout.world.agent.openings import Defaults
from fanout.world.agent.toolloop import ToolLoop
from fanout.world.clock import Clock
from fanout.world.core import Core
from fanout.world.desks import ApiPort, World, build_desks
from fanout.world.engine import CEILING_MAX, Engine
from fanout.world.keeping import Keep
from fanout.world.port import Port
from fanout.world.sleep import watch_sleep
from fanout.world.snapshots import Publisher
from fanout.world.spend.planning import Asks, Planning, Script
from fanout.world.threads import RunThread
from fanout.world.wire.api import Api
from fanout.world.wire.noapi import NoApi

SCRIPT_QUIET_SECONDS = 0.1
"""How long the first call waits for a script that computes on."""

UNWATCHED_SECONDS = 300.0
"""How long a run that nobody watches waits for what only a person can mend."""

Export = Callable[[Snapshot, tuple[str, ...]], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a life is made of."""

    config: Config
    access: Access
    place: Place
    script: LoadedScript
    clock: Clock
    linger: bool
    """Stay after the end, so that rows can be requeued from a screen."""
    export: Export
    keep: Keep | None = None
    """Writes each end while it stays."""
    attended: bool = True
    """Somebody sees what the run waits for."""
    answers: bool = False
    """Somebody can be asked."""
    raises: bool = False
    """Somebody can be asked to raise a budget, too."""


class Life:
    """One life of a run in this process."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.thread = RunThread(self._build)
        self.may_import = threading.Event()
        """Set once nothing more urgent is to be done, such as a first paint."""
        self.script = ScriptThread(
            setting.script,
            Port(self._post_of_script),
            ScriptOptions(may_begin=self.may_import if setting.attended else None),
            self._script_ended,
        )
        self.script_end: ScriptEnd | None = None
        self._tools = ToolLoop()
        self.thread.closing.append(self._tools.close)
        self.journal_problem = ""
        """Why the end of the journal could not be written; empty when it was."""
        self.before_end: Callable[[], None] = _nothing
        """Called when `main` has ended, before the engine hears of it."""
        self.before_post: Callable[[], None] = _nothing
        """Called before the engine hears what the script does: prints come first."""
        config, place = setting.config, setting.place
        self.out = OutputFolder(place.outputs(config))
        fence_off(str(place.runs))
        self._known = cache(
            lambda: known_of(config, setting.access, place.runs, setting.clock.wall())
        )
        self._lane = _lane(config, place)
        self._budgets = _budgets(config, place)
        self.info = RunInfo(
            id=place.folder.name,
            name=config.script.stem,
            folder=str(place.folder),
            script=str(config.script.absolute()),
            arguments=config.arguments,
            endpoint=setting.access.endpoint,
            simulated=setting.access.simulated,
            model=config.model,
            life=place.life,
            started_at=setting.clock.wall(),
            out=self.out.path,
        )

    def start(self) -> None:
        """Begin; returns at once."""
        self.thread.start()
        self.script.start()

    def _post_of_script(self, message: object) -> None:
        self.before_post()
        self.thread.post(message)

    def _script_ended(self, end: ScriptEnd) -> None:
        self.script_end = end
        self.before_end()
        self.thread.post(
            said.ScriptCame(
                outcome=end.outcome,
                text=end.text,
                value=end.value,
                usage_error=isinstance(end.error, UsageError),
            )
        )

    # -- on the engine's loop ----------------------------------------------

    async def _build(self, thread: RunThread) -> Engine:
        core = self._core(thread)
        self._open_life(core)
        api = self._api(thread)
        self._watch_sleep(thread)
        purses = purses_of(self._budgets.get(RUN, Budget()), core.state)
        publisher = Publisher(core, self.info, purses)
        return Engine(
            core,
            build_desks(core, self._world(api, purses, publisher)),
            publisher=publisher,
            linger=self._setting.linger,
            export=self._setting.export,
            keep=self._setting.keep,
            threads=asyncio.to_thread,
            patience=None if self._setting.attended else UNWATCHED_SECONDS,
        )

    def _api(self, thread: RunThread) -> ApiPort:
        setting = self._setting
        if setting.config.dry:
            return NoApi(self.thread.post)
        api = Api(
            setting.access.credentials,
            setting.clock,
            setting.config.timeouts,
            self.may_import,
        )
        api.start()
        thread.closing.append(api.close)
        return api

    def _watch_sleep(self, thread: RunThread) -> None:
        clock = self._setting.clock
        watch = watch_sleep(clock, lambda slept: thread.post(said.Woke(slept)))
        task = asyncio.create_task(watch, name="watch for sleep")

        async def close() -> None:
            task.cancel()

        thread.closing.append(close)

    def _core(self, thread: RunThread) -> Core:
        place, clock = self._setting.place, self._setting.clock
        checkpoints = Keeper(place.folder, since=place.since, now=clock.now)

        def committed(seq: int) -> None:
            thread.post(said.Committed())
            checkpoints.committed(seq)

        journal = Journal(
            place.folder,
            life=place.life,
            last_seq=place.state.seq,
            on_commit=committed,
            on_error=lambda error: thread.post(said.DiskFailed(words_of(error))),
            reserve=Reserve(place.folder),
        )
        journal.start()

        async def close() -> None:
            await asyncio.to_thread(checkpoints.close)
            try:
                await asyncio.to_thread(journal.close)
            except OSError as error:
                self.journal_problem = error.strerror or str(error)

        thread.closing.append(close)
        now, wall = clock.now(), clock.wall()
        estimator = Estimator()
        account = Account(
            chance=random.random,
            estimator=estimator,
            ceiling_max=CEILING_MAX,
            known=tuple(place.state.limits.values()),
            now=now,
        )
        account.set_user_ceiling(self._setting.config.concurrency)
        for spent in place.recent:
            # A clock set back makes what was spent before look as if it were to come.
            at = now - max(0.0, wall - spent.at)
            account.pool(spent.pool).restore(spent.usage, spent.requests, at, now)
        for pool, (at, hold) in place.state.held.items():
            account.hold_again(pool, hold, at, now, wall)
        return Core(
            store=journal,
            state=place.state,
            account=account,
            estimator=estimator,
            clock=clock,
        )

    def _open_life(self, core: Core) -> None:
        info, config, place = self.info, self._setting.config, self._setting.place
        core.record(
            LifeStarted(
                run=info.id,
                life=info.life,
                script=info.script,
                arguments=info.arguments,
                endpoint=info.endpoint,
                simulated=info.simulated,
                model=info.model,
                version=VERSION,
                pid=os.getpid(),
                lane=self._lane,
                prices=as_json(config.prices),
                budgets={
                    name: [budget.tokens, budget.dollars]
                    for name, budget in self._budgets.items()
                },
                out="" if info.out == os.path.realpath(place.out) else info.out,
                fresh=config.fresh,
            )
        )
        if info.life > 1:
            core.record(Noted(source="log", text=_gone_on(core.state)))
        if info.simulated:
            # It is embedded: what an earlier process had handed in ended with that.
            for number in list(core.state.batches.by_number):
                reason = "its account had ended with the process before"
                core.record(BatchGone(batch=number, reason=reason))
        for text in place.notes:
            core.record(Noted(source="engine", text=text))

    def _world(self, api: ApiPort, purses: Purses, publisher: Publisher) -> World:
        setting = self._setting
        return World(
            api=api,
            purses=purses,
            publisher=publisher,
            folder=self.out,
            lookup=Lookup(self._earlier, digest=digest, restore=self._restore),
            threads=asyncio.to_thread,
            apart=self._tools.run,
            chance=random.random,
            defaults=Defaults(
                model=setting.config.model,
                account=setting.access.endpoint,
                pool_of=pool_of,
                lane=self._lane,
            ),
            lasting=not setting.access.simulated,
            tolerance=setting.config.tolerance,
            cancel_script=self.script.cancel,
            timeouts=setting.config.timeouts,
            planning=self._planning(),
        )

    def _asks(self) -> Asks:
        setting = self._setting
        if setting.access.simulated or setting.config.yes or setting.config.dry:
            return Asks.NEVER
        return Asks.SOMEBODY if setting.answers else Asks.REFUSES

    def _planning(self) -> Planning:
        setting = self._setting
        config, access, runs = setting.config, setting.access, setting.place.runs
        return Planning(
            script=Script(
                ask_quiet=self.script.idling.ask, patience=SCRIPT_QUIET_SECONDS
            ),
            selection=config.selection,
            known=self._known,
            asks=self._asks(),
            budget=self._budgets.get(RUN, Budget()),
            phase_budgets={n: b for n, b in self._budgets.items() if n != RUN},
            raises=setting.raises,
            counts=True,
            dry=config.dry,
            keep=keeper(access, runs),
        )

    def _earlier(self) -> Reuse:
        self._known()  # in this thread: the engine's loop has better things to do
        place, access = self._setting.place, self._setting.access
        reuse = find_reusable(
            place.runs,
            script=self.info.script,
            endpoint=access.endpoint,
            simulated=access.simulated,
            current=place.folder if self.info.life > 1 else None,
            begun=place.folder,
            # What a fresh run ignores it may learn from.
            own=place.state.fresh,
        )
        return reuse.forgotten() if self._setting.config.fresh else reuse

    def _restore(
        self, order: AgentOrder, value: object, sha256: str | None
    ) -> Restored | Problem:
        assert order.output is not None
        return restore(self.out, order.output, value, sha256, order.validate)


def _lane(config: Config, place: Place) -> str:
    before = place.state.start
    if config.lane is None and config.resume is not None and before is not None:
        return before.lane
    return config.lane or LIVE


def _budgets(config: Config, place: Place) -> dict[str, Budget]:
    """Return the run's budget and those that options give phases.

    Whoever resumes a run without naming a budget did not mean to lift it.
    """
    given = {RUN: config.budget, **config.phase_budgets}
    if config.resume is not None:
        for name, known in place.state.budgets.items():
            given[name] = given.get(name, Budget()).over(known)
    return {name: budget for name, budget in given.items() if not budget.is_none}


def _gone_on(state: RunState) -> str:
    """Say what this life goes on from."""
    counts = state.counts
    fresh = "; it began afresh: earlier runs are not reused" if state.fresh else ""
    return (
        f"goes on with this run, life {state.life}: "
        f"{of_them(counts.done, counts.expected, 'row')} done before; "
        f"finished turns are kept{fresh}"
    )


def words_of(error: Exception) -> str:
    """What a disk said, without its number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _nothing() -> None:
    pass
