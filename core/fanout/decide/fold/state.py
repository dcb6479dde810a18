"""What a run amounts to: the fold of its journal, and nothing else.

`apply` is the only writer. It replaces a row's frozen value in the mapping that
`RunState` owns, keeps the counts and the sums as it goes, and never looks at a
clock: the record brings its time. Any process that folds the same records holds
the same state, so a resumed run, a report and a live one cannot disagree.

Usage of answered calls is `useful` while its row may still be done from those
turns: running, or missing for reasons that are not the work's own, since whoever
resumes goes on from them. An end that nobody can go on from makes it `wasted`, and
so does a new life, until it takes the turns over. What was in flight at a kill is
`in_doubt` at its worst case for good.

A row that was dropped keeps its place in the sums: the money was spent.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fanout.decide.fold import batch_facts
from fanout.decide.fold.lifecycle import (
    OPENING,
    IllegalEvent,
    check_dropped,
    check_stale,
    next_status,
)
from fanout.decide.fold.run_state import (
    THROWN_AWAY,
    RunState,
    asked_for,
    at_rest,
    count_move,
    doubted,
    hold,
    in_flight,
    interrupt,
    lay_aside,
    pay,
    put,
    row_of,
    take_up,
)
from fanout.decide.fold.whole_run import WHOLE_RUN
from fanout.decide.money.pricing import BUILT_IN, from_json
from fanout.decide.payload import turns_in
from fanout.words.budgets import Budget
from fanout.words.events import (
    AnswerSentBack,
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    LifeStarted,
    PhaseEntered,
    Record,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    RowsExpected,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import (
    Cause,
    End,
    Flight,
    Row,
    RowSpec,
    Status,
    Tally,
    Wait,
)

__all__ = ["RunState", "apply", "interrupt"]

REFUSALS_429 = frozenset({Cause.LIMIT, Cause.RAMP, Cause.CONCURRENCY, Cause.SERVER})
NOT_STARTED = Wait(Cause.EXPECTED)
FOR_THE_SCRIPT = Wait(Cause.SCRIPT)
CUT = frozenset({"max_tokens", "pause_turn"})
"""Behind such an answer no tools and no check follow: the row asks again."""
_CAUSES = {cause.value: cause for cause in Cause}


def apply(state: RunState, record: Record) -> None:
    """Fold one record; an illegal one raises and changes nothing.

    A fact that this version does not know changes nothing either.
    """
    event = record.event
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        handler(state, record.at, event)
        batch_facts.follow(state, event)
    state.seq = record.seq
    state.at = record.at


def _life_started(state: RunState, at: float, event: LifeStarted) -> None:
    if event.life <= state.life:
        why = f"life {state.life} began before"
        raise IllegalEvent("(run)", f"in life {state.life}", event, why)
    interrupt(state, at)
    state.start = event
    state.started_at = at
    state.fresh = state.fresh or event.fresh
    state.life = event.life
    state.budgets = {
        name: Budget(tokens=given[0], dollars=given[1])
        for name, given in event.budgets.items()
    }
    state.prices = from_json(event.prices) if event.prices else BUILT_IN
    state.phases = dict.fromkeys(state.phases)
    state.paused = False
    state.ceiling = None
    state.stop = state.script_end = state.end = None
    state.again = {}
    state.forecast = state.first_forecast = None
    ledger = state.ledger
    state.spent_before = ledger.useful.usage() + ledger.wasted.usage()
    state.dollars_before = state.spend.dollars(state.prices)


def _phase_entered(state: RunState, _at: float, event: PhaseEntered) -> None:
    if event.allow_missing is not None or event.phase not in state.phases:
        state.phases[event.phase] = event.allow_missing
    if event.tokens is not None or event.dollars is not None:
        state.budgets[event.phase] = Budget(tokens=event.tokens, dollars=event.dollars)


def _row_expected(state: RunState, at: float, event: RowExpected) -> None:
    row = state.rows.get(event.row)
    if row is None:
        _new(state, at, event, None)
        return
    next_status(row, event, state.life)
    if row.life != state.life:
        _reopen(state, at, row, row.spec, NOT_STARTED)


def _rows_expected(state: RunState, at: float, event: RowsExpected) -> None:
    for row in event.rows:
        _row_expected(state, at, RowExpected(row=row))


def _row_scheduled(state: RunState, at: float, event: RowScheduled) -> None:
    row = state.rows.get(event.row)
    if row is None:
        _new(state, at, event, event.spec)
        return
    next_status(row, event, state.life)
    if row.life != state.life:
        _reopen(state, at, row, event.spec, None)
    else:
        state.rows[row.id] = asked_for(row, event.spec)


def _new(
    state: RunState, at: float, event: RowExpected | RowScheduled, spec: RowSpec | None
) -> None:
    status = OPENING[type(event)]
    state.phases.setdefault(event.row.phase, None)
    state.rows[event.row] = Row(
        id=event.row,
        order=state.next_order,
        status=status,
        since=at,
        spec=spec,
        wait=NOT_STARTED if spec is None else None,
        life=state.life,
    )
    state.next_order += 1
    state.by_status[status] += 1


def _reopen(
    state: RunState, at: float, row: Row, spec: RowSpec | None, wait: Wait | None
) -> None:
    """Bring back a row of an earlier life; its conversation starts over."""
    if row.tally.turns:
        state.turns_before[row.id] = row.tally.turns
    state.rows[row.id] = replace(
        row,
        status=Status.QUEUED,
        since=at,
        spec=spec,
        tally=replace(lay_aside(state, row.id, row.tally), turns=0),
        wait=wait,
        end=None,
        life=state.life,
        started_at=None,
    )
    count_move(state, row, Status.QUEUED)


def _turns_kept(state: RunState, at: float, event: TurnsKept) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    tally = row.tally
    if event.source == state.run:
        tally = take_up(state, row.id, tally)
    put(state, row, status, at, replace(tally, turns=turns_in(event.entries)))


def _call_admitted(state: RunState, at: float, event: CallAdmitted) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    at_rest(row, event)
    tally = row.tally
    put(
        state,
        row,
        status,
        at,
        Tally(
            tally.turns,
            tally.attempts + 1,
            tally.refusals_429,
            tally.refusals_529,
            tally.useful,
            tally.wasted,
            tally.in_doubt,
            tally.dollars,
            tally.doubt_dollars,
        ),
        Flight(event.call, event.turn, event.need, at, event.batch),
    )
    if event.call >= state.next_call:
        state.next_call = event.call + 1


def _call_answered(state: RunState, at: float, event: CallAnswered) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    in_flight(row, event)
    tally, wait = row.tally, None
    if row.spec is not None and row.spec.kind == "client":
        # Nothing follows by itself: the script makes the next call, or is done.
        status, wait = Status.QUEUED, FOR_THE_SCRIPT
    elif event.stop_reason in CUT:
        status = Status.QUEUED
    state.ledger.useful.add(event.usage)
    put(
        state,
        row,
        status,
        at,
        Tally(
            tally.turns + 1,
            tally.attempts,
            tally.refusals_429,
            tally.refusals_529,
            tally.useful + event.usage,
            tally.wasted,
            tally.in_doubt,
            pay(state, row, event.usage),
            tally.doubt_dollars,
        ),
        None,
        wait,
    )


def _call_refused(state: RunState, at: float, event: CallRefused) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    in_flight(row, event)
    # A newer version may know more causes; all of them are the service's.
    cause = _CAUSES.get(event.cause, Cause.SERVICE)
    is_429 = int(cause in REFUSALS_429)
    is_529 = int(cause is Cause.OVERLOADED)
    ledger, tally = state.ledger, row.tally
    ledger.refusals_429 += is_429
    ledger.refusals_529 += is_529
    ledger.wasted.add(event.wasted)
    tally = replace(
        doubted(state, row, event.in_doubt),
        refusals_429=tally.refusals_429 + is_429,
        refusals_529=tally.refusals_529 + is_529,
        wasted=tally.wasted + event.wasted,
        dollars=pay(state, row, event.wasted),
    )
    wait = Wait(cause, event.until, event.message)
    if is_429 and row.spec is not None:
        hold(state, row.spec.pool, at, wait)
    put(state, row, status, at, tally, wait=wait)


def _call_abandoned(state: RunState, at: float, event: CallAbandoned) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    in_flight(row, event)
    state.ledger.wasted.add(event.wasted)
    tally = replace(
        doubted(state, row, event.in_doubt),
        wasted=row.tally.wasted + event.wasted,
        dollars=pay(state, row, event.wasted),
    )
    put(state, row, status, at, tally)


def _between_turns(
    state: RunState, at: float, event: ToolsRan | AnswerSentBack
) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    at_rest(row, event)
    put(state, row, status, at, row.tally)


def _row_done(state: RunState, at: float, event: RowDone) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    tally = row.tally
    if event.reused_from is not None:
        state.ledger.reused += 1
    if event.reused_from == state.run:
        tally = take_up(state, row.id, tally)
        turns = state.turns_before.get(row.id, tally.turns)
        tally = replace(tally, turns=turns)
    state.turns_before.pop(row.id, None)
    state.set_aside.pop(row.id, None)
    end = End(
        output=event.output,
        sha256=event.sha256,
        size=event.size,
        reused_from=event.reused_from,
    )
    put(state, row, status, at, tally, end=end)


def _row_missing(state: RunState, at: float, event: RowMissing) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    check_stale(row, event)
    end = End(kind=event.kind, reason=event.reason)
    tally = row.tally
    if event.kind in THROWN_AWAY:
        tally = lay_aside(state, row.id, tally)
    put(state, row, status, at, tally, end=end)


def _row_requeued(state: RunState, at: float, event: RowRequeued) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    if event.fresh:
        tally = replace(lay_aside(state, row.id, row.tally), turns=0)
        state.set_aside.pop(row.id, None)
    else:
        tally = take_up(state, row.id, row.tally)
    # A run that had ended goes on with the row that was reopened.
    state.end = None
    put(state, row, status, at, tally)


def _row_dropped(state: RunState, _at: float, event: RowDropped) -> None:
    row = row_of(state, event.row, event)
    check_dropped(row, event, state.life)
    state.by_status[row.status] -= 1
    state.ledger.reused -= int(row.end is not None and row.end.reused_from is not None)
    state.set_aside.pop(row.id, None)
    state.turns_before.pop(row.id, None)
    del state.rows[row.id]


_HANDLERS: Mapping[type, Callable[[RunState, float, Any], None]] = {
    LifeStarted: _life_started,
    PhaseEntered: _phase_entered,
    RowExpected: _row_expected,
    RowsExpected: _rows_expected,
    RowScheduled: _row_scheduled,
    TurnsKept: _turns_kept,
    CallAdmitted: _call_admitted,
    CallAnswered: _call_answered,
    CallRefused: _call_refused,
    CallAbandoned: _call_abandoned,
    ToolsRan: _between_turns,
    AnswerSentBack: _between_turns,
    RowDone: _row_done,
    RowMissing: _row_missing,
    RowRequeued: _row_requeued,
    RowDropped: _row_dropped,
    **WHOLE_RUN,
    **batch_facts.FOLDS,
}
"""`Noted` and facts of newer versions are for the log alone."""
