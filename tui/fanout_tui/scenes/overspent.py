"""Budgets of phases that are reached, in an invented run."""

from dataclasses import replace

from fanout.words.budgets import Budget, BudgetView, Short, gate_of
from fanout.words.forecast import Forecast
from fanout.words.model import Cause, RowId, Status
from fanout.words.snapshot import Gate, Snapshot

PHASE = "verify"


def out_of_money(made: Snapshot) -> Snapshot:
    """What is queued belongs to a phase whose budget is reached; the rest goes on."""
    rows = {}
    for row in made.rows.values():
        waits = row.status is Status.QUEUED
        name = RowId(PHASE, row.id.key) if waits else row.id
        rows[name] = replace(row, id=name)
    waiting = tuple(name for name in rows if name.phase == PHASE)
    text = (
        "the phase's budget of $2.00 reached: $1.92 spent, $0.00 in flight, "
        "the next call may take $0.14"
    )
    gate = Gate(
        pool=gate_of(PHASE),
        waiting=waiting,
        cause=Cause.BUDGET,
        until=None,
        detail=text,
    )
    left = made.left or Forecast()
    theirs = tuple(replace(one, phase=PHASE, rows=len(waiting)) for one in left.phases)
    return replace(
        made,
        rows=rows,
        phases=(*made.phases, PHASE),
        gates={gate.pool: gate},
        left=replace(left, phases=theirs),
        phase_budgets={
            PHASE: BudgetView(budget=Budget(dollars=2.0), tokens=420_000, dollars=1.92)
        },
        shorts=(
            Short(number=1, phase=PHASE, reason=text, tokens=30_000, dollars=0.14),
        ),
    )


def two_at_once(made: Snapshot) -> Snapshot:
    """The run's budget is reached, too."""
    text = (
        "budget of 2,500,000 tokens reached: 2,481,000 spent, 0 in flight, "
        "the next call may take 38,000"
    )
    phase = out_of_money(made)
    return replace(
        phase,
        budget=BudgetView(budget=Budget(tokens=2_500_000), tokens=2_481_000),
        shorts=(
            *phase.shorts,
            Short(number=2, reason=text, tokens=38_000, dollars=None),
        ),
    )
