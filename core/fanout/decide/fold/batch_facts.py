"""What facts about batches make of run state; `fanout.decide.fold.state` calls this.

`FOLDS` are the facts that are about batches themselves. `follow` is told of every
other fact of a call or a row after it was folded, and keeps the open batches.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fanout.decide.fold.lifecycle import IllegalEvent, next_status
from fanout.decide.fold.open_batches import Member
from fanout.decide.fold.run_state import (
    RunState,
    at_rest,
    cleared,
    cost_of,
    plus,
    put,
    row_of,
    spend_of,
)
from fanout.decide.sums import minus
from fanout.words.batched import (
    BatchEnded,
    BatchGone,
    BatchOpened,
    BatchPlanned,
    CallSettled,
    CallTakenUp,
)
from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    RowDone,
    RowDropped,
    RowMissing,
)
from fanout.words.model import NO_USAGE, Flight


def _planned(state: RunState, at: float, event: BatchPlanned) -> None:
    batch = state.batches.by_number.get(event.batch)
    # One that turned out not to be there is planned once more.
    if batch is None or batch.id:
        raise IllegalEvent("(batch)", f"number {event.batch}", event)
    batch.planned_at, batch.size, batch.run = at, event.count, state.run


def _opened(state: RunState, _at: float, event: BatchOpened) -> None:
    batch = state.batches.by_number.get(event.batch)
    # All its calls may have been given up meanwhile, with nothing in doubt.
    if batch is not None:
        batch.id, batch.seconds = event.id, event.seconds


def _ended(state: RunState, _at: float, event: BatchEnded) -> None:
    batch = state.batches.by_number.get(event.batch)
    if batch is not None:
        batch.ended = True


def _gone(state: RunState, _at: float, event: BatchGone) -> None:
    batch = state.batches.by_number.get(event.batch)
    if batch is not None:
        state.batches.drop(batch)


def _taken_up(state: RunState, at: float, event: CallTakenUp) -> None:
    row = row_of(state, event.row, event)
    status = next_status(row, event, state.life)
    at_rest(row, event)
    batch, member = state.batches.batch_of(event.call), state.batches.member(event.call)
    if batch is None or member is None or not member.left or member.row != row.id:
        raise IllegalEvent(row.id, row.status.value, event, "nobody had left it")
    tally = row.tally
    state.ledger.in_doubt.take(member.doubt)
    state.ledger.wasted.take(member.wasted)
    if not member.dropped:
        tally = replace(
            cleared(state, tally, member.model, member.doubt),
            wasted=minus(tally.wasted, member.wasted),
            dollars=plus(tally.dollars, -(member.cost or 0.0)),
        )
    spend_of(state, row.id).take(member.model, member.wasted, member.cost)
    state.batches.take_up(member)
    flight = Flight(member.call, member.turn, member.need, at, batch.number)
    put(state, row, status, at, tally, flight)


def _settled(state: RunState, _at: float, event: CallSettled) -> None:
    member = state.batches.member(event.call)
    if member is None or not member.left:
        raise IllegalEvent(event.row, "in no batch", event, "nobody had left it")
    state.ledger.in_doubt.take(member.doubt)
    state.ledger.wasted.add(event.wasted)
    cost = cost_of(state, member.model, event.wasted, in_batch=True)
    row = state.rows.get(event.row)
    if row is not None and not member.dropped:
        tally = replace(
            cleared(state, row.tally, member.model, member.doubt),
            wasted=row.tally.wasted + event.wasted,
            dollars=plus(row.tally.dollars, cost),
        )
        state.rows[row.id] = replace(row, tally=tally)
    spend_of(state, event.row).add(member.model, event.wasted, cost)
    member.doubt, member.wasted, member.cost = NO_USAGE, event.wasted, cost
    if not event.answered:
        state.batches.remove(event.call)


FOLDS: Mapping[type, Callable[[RunState, float, Any], None]] = {
    BatchPlanned: _planned,
    BatchOpened: _opened,
    BatchEnded: _ended,
    BatchGone: _gone,
    CallTakenUp: _taken_up,
    CallSettled: _settled,
}


def follow(state: RunState, event: object) -> None:
    """Keep the open batches, once a fact of a call or a row was folded."""
    if isinstance(event, CallAdmitted):
        if event.batch is not None:
            _join(state, event, event.batch)
    elif state.batches.by_number:
        _keep(state, event)


def _keep(state: RunState, event: object) -> None:
    match event:
        case CallAnswered() | CallRefused():
            state.batches.remove(event.call)
        case CallAbandoned():
            state.batches.leave(event.call, event.in_doubt)
        case RowDone() | RowMissing():
            state.batches.row_ended(event.row)
        case RowDropped():
            state.batches.lose_row(event.row)


def _join(state: RunState, event: CallAdmitted, batch: int) -> None:
    spec = state.rows[event.row].spec
    member = Member(
        row=event.row,
        call=event.call,
        turn=event.turn,
        need=event.need,
        model="" if spec is None else spec.model,
        digest=event.digest,
    )
    state.batches.join(batch, member)
