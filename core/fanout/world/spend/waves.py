"""Waves: rows that may not spend yet, gathered until the script has no more to ask.

    looked up ─▶ admits? ─▶ parked ─▶ the script is quiet ─▶ forecast, said ─▶ released

What a run will take can be said before it is spent only where it is known what is
to run. So a row's first step waits until every look-up for earlier work has come
back and the script waits too: then the rows that came together are one wave, what
they will take is worked out and said, and all of them go. That costs a hop between
two threads. A script that cannot be asked, or that computes on, is not waited for
longer than `patience`.
"""

from collections import deque
from collections.abc import Callable, Mapping

from fanout.decide.forecast.announce import Announcer
from fanout.decide.forecast.duration import Limit, Limits
from fanout.decide.forecast.forecast import beyond, forecast
from fanout.words.ahead import RunsAgain
from fanout.words.commands import Answer, Stop
from fanout.words.counted import plural
from fanout.words.events import Noted
from fanout.words.forecast import Forecast, Plan
from fanout.words.model import Dimension, MissingKind, RowId
from fanout.words.snapshot import PoolView
from fanout.world.core import Core
from fanout.world.messages import Found, LookedUp, Quiet
from fanout.world.spend.counting import Counting
from fanout.world.spend.planning import DRY, DRY_SECONDS, Known, Planning
from fanout.world.spend.question import Question

Go = Callable[[RowId], None]
Parked = dict[RowId, Go]
"""Rows that wait, and how each goes on."""

TOLD = "as the service says"
RELEASED_A_TURN = 300
"""The engine reads answers and takes keys between them."""
PATIENCE_MAX = 5
"""A script that asks for more and more holds its first row up for so many times
its patience."""


class Waves:
    """Rows on their way to their first call."""

    def __init__(
        self, core: Core, planning: Planning, question: Question, counting: Counting
    ) -> None:
        self._core = core
        self._counting = counting
        self._question = question
        self._planning = planning
        self._script = planning.script
        self._selection = planning.selection
        self._refused: set[RowId] = set()
        self._held: set[RowId] = set()
        """Rows of a dry run that would spend."""
        self.end: Callable[[RowId, MissingKind, str], None]
        """Ends a row that may not spend; set by whoever can."""
        self.stop: Callable[[Stop], None]
        """Ends the run; set by whoever can."""
        self.plan = Plan()
        """What a dry run has found."""
        self._announcer = Announcer()
        self._released: set[RowId] = set()
        self._again: dict[RowId, RunsAgain] = {}
        """Of rows that may yet be not selected."""
        self._parked: Parked = {}
        self._going: Parked = {}
        """Rows that may go, and have not had their turn."""
        self._line: deque[RowId] = deque()
        """They, in order, and some that need no turn any more."""
        self._looking = 0
        self._stirs = 0
        self._stirred_at = 0.0
        self._parked_at = 0.0
        self._asked = -1
        self._quiet = -1
        self._until = 0
        """Number of the record that must be on disk: a script told of it may go on."""

    # -- what comes --------------------------------------------------------

    def stir(self) -> None:
        """The script asked for something, or is told something it may act on."""
        self._stirs += 1
        self._stirred_at = self._core.clock.now()

    def sought(self, rows: int) -> None:
        """So many rows are being looked up."""
        self._looking += rows
        self.stir()

    def looked_up(self, message: LookedUp) -> None:
        """Look-ups came back."""
        self._looking -= len(message.found)
        if message.experience is not None:
            self._core.outlook.earlier = message.experience
        tally = self._announcer.tally
        tally.held = message.held or tally.held
        tally.elsewhere = message.elsewhere or tally.elsewhere
        self.stir()

    def found(self, found: Found, *, kept: bool = False) -> None:
        """What earlier work there was for a row, and whether its turns are kept."""
        row, why = found.row, found.again
        self._announcer.found(row, done=found.done, kept=kept, again=why)
        if found.done:
            self._until = self._core.durable_seq
        elif why and not kept:
            self._again[row] = RunsAgain(row=row, why=why, detail=found.detail)
            if row in self._released:
                self._run_again(row)

    def _run_again(self, row: RowId) -> None:
        """It is known by now that the row is to run: say why it does so again."""
        if (said := self._again.pop(row, None)) is not None:
            self._core.record(said)

    def quiet(self, message: Quiet) -> None:
        """The script waits."""
        self._quiet = message.number

    # -- what goes ---------------------------------------------------------

    def admits(self, row: RowId, go: Go) -> bool:
        """Whether the row may spend; else it is parked, and `go` called later."""
        if row in self._released:
            return True
        if row in self._going:
            self._going[row] = go
            return False
        if not self._parked:
            self._parked_at = self._core.clock.now()
        self._parked[row] = go
        return False

    def release(self, row: RowId) -> None:
        """A row that was reopened by hand needs no wave, and is selected by that."""
        self._released.add(row)
        self._refused.discard(row)
        self._parked.pop(row, None)
        self._going.pop(row, None)

    def selects(self, row: RowId) -> bool:
        """Whether the row may be reopened with all others."""
        return row not in self._refused

    def settle(self) -> None:
        """Close the wave if all of it is here; called after every batch."""
        self._go_on()
        if not self._parked and not self._announcer.unsaid:
            return
        if self._looking or not self._told() or not self._is_quiet():
            return
        if not self._counting.holds(self._parked):
            self._close()

    def _told(self) -> bool:
        core = self._core
        return core.store.committed >= self._until or bool(core.trouble)

    def _is_quiet(self) -> bool:
        core, script = self._core, self._script
        now = core.clock.now()
        if core.state.script_end is not None or self._quiet == self._stirs:
            return True
        longest = self._parked_at + PATIENCE_MAX * script.patience
        if now >= self._stirred_at + script.patience:
            return True
        if self._parked and now >= longest:
            return True
        if self._asked != self._stirs:
            self._asked = self._stirs
            script.ask_quiet(self._stirs)
            core.at(min(now + script.patience, longest), lambda: None)
        return False

    def _close(self) -> None:
        core = self._core
        parked, self._parked = self._parked, {}
        parked = self._selected(parked)
        for row in parked:
            self._run_again(row)
        limits = limits_of(core, self._planning.known())
        whole = forecast(core.outlook, limits, core.clock.wall())
        wave = forecast(core.outlook.only(parked), limits)
        said = self._announcer.wave(wave, whole, core.clock.now())
        if said is not None:
            core.record(said)
        if self._planning.dry:
            self._stay(parked, whole)
            return
        if parked and self._question.holds(parked, whole):
            return
        self._go(parked)

    def answered(self, message: Answer) -> None:
        """Somebody answered the question that rows wait for."""
        self._go(self._question.answered(message))

    def _go(self, rows: Parked) -> None:
        """Let these rows go; many do so over several turns of the loop."""
        self._going.update(rows)
        self._line.extend(rows)
        self._go_on()

    def _go_on(self) -> None:
        for _ in range(min(RELEASED_A_TURN, len(self._line))):
            row = self._line.popleft()
            go = self._going.pop(row, None)
            if go is not None:
                self._released.add(row)
                go(row)
        if self._line:
            self._core.turn_again()

    def _stay(self, parked: Parked, whole: Forecast) -> None:
        """Send nothing; end once the script has had time for more to ask."""
        core = self._core
        self._held.update(parked)
        if not self._held:
            return
        self.plan = Plan(forecast=whole, beyond=beyond(core.outlook), waits=True)
        stirs = self._stirs

        def end() -> None:
            if self._stirs == stirs and not self._looking:
                self.stop(Stop("now", DRY, "a dry run sends nothing"))

        core.at(core.clock.now() + DRY_SECONDS, end)

    def _selected(self, parked: Parked) -> Parked:
        """End what is not to be tried; returns the rest."""
        if not self._selection.narrows:
            return parked
        state = self._core.state
        life = state.life
        chosen = self._selection.chosen(
            row.id for row in state.rows.values() if row.life == life
        )
        refused = [row for row in parked if row not in chosen]
        for row in refused:
            self._refused.add(row)
            self._announcer.withdrawn(row)
            self.end(row, MissingKind.STOPPED, self._selection.reason(row))
        if refused:
            text = (
                f"{plural(len(refused), 'row is', 'rows are')} not selected "
                f"({self._selection.words}): missing at the end; "
                "resume the run for the whole"
            )
            self._core.record(Noted(source="log", text=text))
        return {row: go for row, go in parked.items() if row in chosen}

    def finish(self) -> None:
        """Say what was not worth a line by itself; the run ends."""
        said = self._announcer.last()
        if said is not None:
            self._core.record(said)

    def outlook(self) -> Forecast:
        """What is left to do now."""
        core = self._core
        limits = limits_of(core, self._planning.known())
        return forecast(core.outlook, limits, core.clock.wall())

    def learned(self) -> None:
        """Limits became known, or changed: keep them for the next run's forecast."""
        core = self._core
        # The next run begins with full buckets.
        pools, wall = _pools(core, full=True), core.clock.wall()
        if pools:
            core.spawn(self._keep(pools, wall), "keep the limits")

    async def _keep(
        self, pools: Mapping[str, Mapping[Dimension, Limit]], wall: float
    ) -> None:
        await self._planning.threads(self._planning.keep, pools, wall)


def _pools(core: Core, *, full: bool = False) -> dict[str, Mapping[Dimension, Limit]]:
    views = core.account.views(core.clock.now())
    return {view.name: found for view in views if (found := _pool(view, full=full))}


def limits_of(core: Core, known: Known) -> Limits:
    """The account's limits as far as they are known, with what their buckets hold."""
    pools = _pools(core)
    sources = {TOLD} if pools else set()
    for name, group in core.outlook.groups.items():
        if group.pool not in pools and (found := known.of(group.pool, name.model)):
            pools[group.pool] = found
            sources.add(known.source)
    return Limits(
        pools=pools,
        slots=core.account.ceiling.user,
        source=", ".join(sorted(sources)),
    )


def _pool(view: PoolView, *, full: bool) -> dict[Dimension, Limit]:
    found: dict[Dimension, Limit] = {}
    for bucket in view.buckets:
        if bucket.limit:
            held = bucket.capacity if full or bucket.free is None else bucket.free
            found[bucket.dimension] = Limit(per_minute=bucket.limit, ready=held or 0.0)
    return found
