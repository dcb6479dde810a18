"""How a run comes to its end: asked to stop, or with nothing left to do.

A stop never returns control to the script: `main` is cancelled. `drain` lets
what flies finish (an answer that is paid for is kept and checked), `now` gives
it up and says what is in doubt. When nothing flies any more, every row that is
still open ends with the stop as its cause. A run whose script returned ends when
its last row does.

With a screen the engine lingers after that: a missing row may be requeued, and
the run then ends once more.
"""

from collections.abc import Callable, Iterable

from fanout.decide.ending import (
    COMPLETE,
    SIGNALS,
    Ending,
    Tolerance,
    exit_code,
    is_accepted,
    script_said,
    shortfall,
    stop_said,
)
from fanout.decide.selection import Selection
from fanout.words.commands import Stop
from fanout.words.events import Noted, RowDropped, RunEnded, ScriptEnded, StopAsked
from fanout.words.model import MissingKind, Status
from fanout.world.core import Core
from fanout.world.lanes import Lanes
from fanout.world.messages import Close, ScriptCame
from fanout.world.rows import Rows

DISK_SECONDS_MAX = 3.0
"""How long a stop at once waits for a disk that does not answer."""
MAIN_ENDED = frozenset({"returned", "incomplete"})
"""Ends of a script that was heard to its end."""
NOTHING_ASKED = (
    "the script asked for nothing: calls of a client of its own are neither paced nor "
    "kept; `fanout.client()` makes rows of them"
)
STOP_KINDS = {
    "budget": MissingKind.BUDGET,
    "account": MissingKind.ACCOUNT,
    "unreachable": MissingKind.TIMEOUT,
}


class Stopping:
    """Stops and ends a run."""

    def __init__(
        self,
        core: Core,
        *,
        tolerance: Tolerance,
        selection: Selection,
        cancel_script: Callable[[str], None],
    ) -> None:
        self._core = core
        self._tolerance = tolerance
        self._selection = selection
        self._cancel_script = cancel_script
        self._usage_error = False
        self._begun: set[str] = set()
        """Phases that have asked for something."""
        self.rows: Rows
        self.lanes: Lanes
        self._finish_clients: Callable[[], None]
        self._stop_tools: Callable[[MissingKind, str], None]
        self._before_end: tuple[Callable[[], None], ...]

    def connect(
        self,
        rows: Rows,
        lanes: Lanes,
        *,
        finish_clients: Callable[[], None],
        stop_tools: Callable[[MissingKind, str], None],
        before_end: tuple[Callable[[], None], ...],
    ) -> None:
        """Name what this desk needs of the others."""
        self.rows = rows
        self.lanes = lanes
        self._finish_clients = finish_clients
        self._stop_tools = stop_tools
        self._before_end = before_end

    @property
    def asked(self) -> bool:
        """A stop was asked for."""
        return self._core.state.stop is not None

    @property
    def over(self) -> bool:
        """The run has ended, for now."""
        return self._core.state.end is not None

    def cause(self) -> tuple[MissingKind, str] | None:
        """Return how open rows end because of the stop; None while none holds."""
        state = self._core.state
        if state.stop is not None:
            kind = STOP_KINDS.get(state.stop.cause, MissingKind.STOPPED)
            return kind, stop_said(state.stop.cause, state.stop.reason)
        script = state.script_end
        if script is not None and script.outcome != "returned":
            return MissingKind.SCRIPT, script_said(script.outcome, script.text)
        return None

    def stop(self, message: Stop) -> None:
        """Begin to stop, or stop harder; a run that has ended is left."""
        if self.over:
            self._core.put(Close())
            return
        known = self._core.state.stop
        asked = message if known is None else _harder(known, message)
        if asked is None:
            return
        cause, reason = asked.cause, stop_said(asked.cause, asked.reason)
        self._core.record(StopAsked(mode=asked.mode, cause=cause, reason=asked.reason))
        self._cancel_script(reason)
        kind = STOP_KINDS.get(cause, MissingKind.STOPPED)
        now = asked.mode == "now"
        self.lanes.stop(kind, reason, at_once=now)
        if now:
            self._stop_tools(kind, reason)
            core = self._core
            core.at(core.clock.now() + DISK_SECONDS_MAX, core.give_disk_up)

    def account_refuses(self, reason: str) -> None:
        """Nothing can succeed on this account: stop, and keep what flies."""
        self.stop(Stop("drain", "account", reason))

    def hold_to_tolerance(self, phases: Iterable[str]) -> None:
        """Stop before a phase spends when an earlier one fell short.

        Only where a tolerance was stated: with none, the next phase is told of
        the holes and goes on.
        """
        fresh = [phase for phase in phases if phase not in self._begun]
        if not fresh:
            return
        self._begun.update(fresh)
        by_phase = self._by_phase()
        if self._tolerance.overall is None and not by_phase:
            return
        said = shortfall(
            self._ended_phases(), overall=self._tolerance.overall, by_phase=by_phase
        )
        if said:
            self.stop(Stop("drain", "tolerance", said))

    def _ended_phases(self) -> dict[str, tuple[int, int]]:
        figures: dict[str, tuple[int, int]] = {}
        still_open = set()
        for row in self._core.state.rows.values():
            phase, status = row.id.phase, row.status
            if status not in (Status.DONE, Status.MISSING):
                still_open.add(phase)
            expected, missing = figures.get(phase, (0, 0))
            is_missing = int(status is Status.MISSING)
            figures[phase] = (expected + 1, missing + is_missing)
        return {p: f for p, f in figures.items() if p not in still_open}

    def script_came(self, message: ScriptCame) -> None:
        """`main` came to its end."""
        self._usage_error = message.usage_error
        self._core.record(
            ScriptEnded(outcome=message.outcome, text=message.text, value=message.value)
        )

    def settle(self) -> None:
        """End what has nothing left to wait for; called after every batch."""
        core = self._core
        cause = self.cause()
        if cause is not None and not self.over:
            self.lanes.leave_batches(*cause)
        if core.flying or core.unsettled or self.over:
            return
        script = core.state.script_end
        if script is not None:
            self._finish_clients()
        if cause is not None:
            for row in self.rows.open_rows():
                self.lanes.give_up(row, *cause)
                self.rows.missing(row, *cause)
        if script is not None and not core.unsettled:
            self._wind_up(script, cause)

    def _wind_up(
        self, script: ScriptEnded, cause: tuple[MissingKind, str] | None
    ) -> None:
        """`main` has ended: so does the run, with its last row."""
        if script.outcome == "returned" and cause is None:
            self._end_unstarted()
        if not self.rows.open_rows() and not self._core.unsettled:
            self._finish()

    def _end_unstarted(self) -> None:
        """Rows nobody will schedule any more are missing, and said to be."""
        for row in self.rows.open_rows():
            if row not in self.rows.works and not self.rows.is_client(row):
                reason = "expected, and the script never started it"
                self.rows.missing(row, MissingKind.NEVER_STARTED, reason)

    def _finish(self) -> None:
        core = self._core
        state = core.state
        script = state.script_end
        assert script is not None
        for say in self._before_end:
            say()
        self._hold_to_selection(script.outcome)
        if script.outcome == "returned" and state.stop is None:
            for row in list(state.rows.values()):
                if row.life != state.life:
                    core.record(RowDropped(row=row.id))
        ending = self._ending(script.outcome)
        holes = sum(ending.missing.values())
        accepted = is_accepted(
            ending, overall=self._tolerance.overall, by_phase=self._by_phase()
        )
        code = exit_code(ending, accepted=accepted)
        complete = not holes and script.outcome == "returned"
        event = RunEnded(
            exit_code=code,
            complete=complete,
            accepted=bool(holes) and accepted and code == COMPLETE,
        )
        if not state.rows and script.outcome == "returned":
            core.record(Noted(source="engine", text=NOTHING_ASKED))
        for phase in self._tolerance.by_phase:
            if phase not in state.phases:
                where = self._tolerance.said_in
                text = f"{where} names the phase {phase}, which there was not"
                core.record(Noted(source="engine", text=text))
        core.record(event)

    def _hold_to_selection(self, outcome: str) -> None:
        """Say which patterns stood for nothing; none that did is a mistake."""
        core, only = self._core, self._selection.only
        idle = self._selection.idle(core.state.rows)
        for pattern in idle:
            text = f"--only names {pattern}, and no row is called so"
            core.record(Noted(source="engine", text=text))
        if only and len(idle) == len(only) and outcome in MAIN_ENDED:
            self._usage_error = True

    def _by_phase(self) -> dict[str, str]:
        stated = {p: a for p, a in self._core.state.phases.items() if a is not None}
        return {**stated, **self._tolerance.by_phase}

    def _ending(self, script: str) -> Ending:
        expected: dict[str, int] = {}
        missing: dict[str, int] = {}
        for row in self._core.state.rows.values():
            phase = row.id.phase
            expected[phase] = expected.get(phase, 0) + 1
            if row.status is not Status.DONE:
                missing[phase] = missing.get(phase, 0) + 1
        stop = self._core.state.stop
        return Ending(
            expected=expected,
            missing=missing,
            over_budget=any(
                row.end is not None and row.end.kind is MissingKind.BUDGET
                for row in self._core.state.rows.values()
            ),
            stop=stop.cause if stop is not None else None,
            script=script,
            usage_error=self._usage_error,
        )


def _harder(known: StopAsked, message: Stop) -> Stop | None:
    """Return the stop that both amount to; None when the second adds nothing.

    The first cause stands, for a second signal only hurries what the first began;
    but a signal goes over what the run had found itself.
    """
    person = message.cause in SIGNALS and known.cause not in SIGNALS
    now = known.mode == "now" or message.mode == "now"
    if not person and (known.mode == "now" or not now):
        return None
    first: Stop | StopAsked = message if person else known
    return Stop("now" if now else "drain", first.cause, first.reason)
