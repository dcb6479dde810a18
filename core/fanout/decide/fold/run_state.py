"""Run state: the rows, their counts and sums, and how one row is replaced.

`RunState` is changed by `fanout.decide.fold.state.apply` alone; the functions below
are its strokes. Each replaces a row's frozen value and keeps what is derived
from it, so that counts and sums never have to be worked out again.
"""

from dataclasses import fields, replace

from fanout.decide.batching import POOL, PRICE
from fanout.decide.fold.lifecycle import IllegalEvent
from fanout.decide.fold.open_batches import OpenBatches
from fanout.decide.forecast.say import dollars as said
from fanout.decide.money.pricing import BUILT_IN, dollars
from fanout.decide.money.spending import Spend
from fanout.decide.sums import Ledger, minus
from fanout.words.ahead import Forecasted, Foreseen
from fanout.words.budgets import Budget, Raised
from fanout.words.events import (
    CallAbandoned,
    CallAnswered,
    CallRefused,
    LifeStarted,
    LimitsLearned,
    RunEnded,
    ScriptEnded,
    StopAsked,
)
from fanout.words.model import (
    NO_USAGE,
    End,
    Flight,
    MissingKind,
    Row,
    RowId,
    RowSpec,
    Status,
    Tally,
    Usage,
    Wait,
)
from fanout.words.snapshot import Counts, Totals

RUN = ""
"""Stands among phases for the run as a whole."""


class RunState:
    """A run as its journal tells it; changed by `apply` alone."""

    raised: tuple[Raised, ...] = ()  # Budgets set anew in any life, in order.

    def __init__(self) -> None:
        self.rows: dict[RowId, Row] = {}
        """In the order in which they were first expected."""
        self.phases: dict[str, str | None] = {}
        """Phases in the order entered, with the tolerance this life stated."""
        self.limits: dict[str, LimitsLearned] = {}
        """The newest limits of each pool, of any life."""
        self.held: dict[str, tuple[float, Wait]] = {}
        """When each pool was told to wait, and until when: the latest end of any."""
        self.start: LifeStarted | None = None
        """How the newest life began."""
        self.started_at = 0.0
        self.fresh = False  # A life began so: earlier runs serve none of those since.
        self.life = 0
        self.seq = 0
        """Number of the record folded last."""
        self.at = 0.0
        """Its time."""
        self.paused = False
        self.ceiling: int | None = None
        self.stop: StopAsked | None = None
        self.script_end: ScriptEnded | None = None
        self.end: RunEnded | None = None
        self.ended_at = 0.0  # What it took is counted up to here.
        self.next_call = 1
        self.next_order = 0
        self.ledger = Ledger()
        self.by_status: dict[Status, int] = dict.fromkeys(Status, 0)
        self.set_aside: dict[RowId, Usage] = {}
        """Wasted usage, by row, that becomes useful if its turns are taken up."""
        self.turns_before: dict[RowId, int] = {}  # Until they are taken up again.
        self.batches = OpenBatches()
        """Batches of which something is still to come, of any life."""
        self.again: dict[RowId, str] = {}
        """Rows of this life that run again although they are known, and why."""
        self.forecast: Forecasted | None = None
        """What this life was last expected to take."""
        self.first_forecast: Forecasted | None = None
        """What it was expected to take before anything was spent."""
        self.forecast_at = 0.0
        """When that was said."""
        self.spent_before = NO_USAGE
        """What earlier lives had used, useful or not."""
        self.dollars_before: float | None = 0.0
        """The same in dollars; None where a price is unknown."""
        self.budgets: dict[str, Budget] = {}
        """Of the phases that have one, in the newest life; the run's at ``""``."""
        self.prices = BUILT_IN
        """What the newest life reckons with."""
        self.spent: dict[str, Spend] = {}
        """What was used over all lives, useful or not, by phase."""

    @property
    def run(self) -> str:
        """Id of the run; empty before its first life."""
        return "" if self.start is None else self.start.run

    @property
    def foreseen(self) -> Foreseen | None:
        """What this life was said to take; None before anything was said."""
        if self.forecast is None:
            return None
        return Foreseen(
            first=self.first_forecast or self.forecast,
            last=self.forecast,
            at=self.forecast_at,
            before=self.spent_before,
            dollars_before=self.dollars_before,
        )

    @property
    def counts(self) -> Counts:
        """Rows by status."""
        return Counts(**{status.value: n for status, n in self.by_status.items()})

    @property
    def totals(self) -> Totals:
        """Sums over all rows and lives."""
        ledger = self.ledger
        return Totals(
            useful=ledger.useful.usage(),
            wasted=ledger.wasted.usage(),
            in_doubt=ledger.in_doubt.usage(),
            refusals_429=ledger.refusals_429,
            refusals_529=ledger.refusals_529,
            reused=ledger.reused,
            dollars=self.spend.dollars(self.prices),
        )

    @property
    def spend(self) -> Spend:
        """What all phases have used together, over all lives."""
        whole = Spend()
        for spend in self.spent.values():
            whole.join(spend)
        return whole

    def copy_rows(self) -> dict[RowId, Row]:
        """The rows as they are now, for a snapshot: a shallow copy."""
        return self.rows.copy()


def standing(state: RunState) -> str:
    """Return the word for how a run stands, as `Snapshot.state` has it."""
    if state.end is not None:
        return "finished"
    if state.stop is not None:
        return "draining" if state.stop.mode == "drain" else "stopping"
    if state.script_end is not None and state.script_end.outcome != "returned":
        return "draining"
    if not state.rows:
        return "starting"
    return "paused" if state.paused else "running"


THROWN_AWAY = frozenset(
    {
        MissingKind.REFUSED,
        MissingKind.TRUNCATED,
        MissingKind.INVALID,
        MissingKind.NO_OUTPUT,
        MissingKind.STALE,
    }
)
"""Ends whose turns nobody goes on from; what they cost is wasted."""


def interrupt(state: RunState, at: float) -> None:
    """End what a dead life left open, as `missing: interrupted`."""
    for row in list(state.rows.values()):
        if row.status in {Status.DONE, Status.MISSING}:
            continue
        flight, tally = row.flight, row.tally
        reason = "the process ended first"
        if flight is not None and flight.batch is not None:
            doubt, reason = state.batches.interrupt(flight)
            tally = doubted(state, row, doubt)
        elif flight is not None:
            worst = flight.need.worst
            tally = doubted(state, row, worst)
            reason = (
                f"in doubt: call {flight.call} was in flight, "
                f"at most {worst.total:,} tokens{_price(state, row, worst)}"
            )
        end = End(kind=MissingKind.INTERRUPTED, reason=reason)
        # Its turns are kept: whoever resumes goes on from them.
        # Until its last fact: how long it worked on before it died, nobody knows.
        known = replace(row, worked=worked(row, state.at), since=at)
        put(state, known, Status.MISSING, at, tally, end=end)
    state.batches.forget_unplanned()


def interrupted(counts: Counts) -> Counts:
    """Return what `interrupt` makes of these, where the rows are not at hand."""
    return Counts(done=counts.done, missing=counts.expected - counts.done)


def _price(state: RunState, row: Row, usage: Usage) -> str:
    _, cost = _flown(state, row, usage)
    return "" if cost is None else f", {said(cost)}"


def cost_of(
    state: RunState, model: str, usage: Usage, *, in_batch: bool
) -> float | None:
    """Return what a call cost; None when the price is unknown."""
    if not usage.total:
        return 0.0
    cost = dollars(model, usage, state.prices)
    return cost if cost is None or not in_batch else cost * PRICE


def pay(state: RunState, row: Row, usage: Usage) -> float | None:
    """Count what the row's call in flight has used; returns the row's new dollars."""
    if not usage.total:
        return row.tally.dollars
    model, cost = _flown(state, row, usage)
    spend_of(state, row.id).add(model, usage, cost)
    return plus(row.tally.dollars, cost)


def doubted(state: RunState, row: Row, usage: Usage) -> Tally:
    """Count what the call in flight may have used; returns the row's new tally."""
    tally = row.tally
    if not usage.total:
        return tally
    state.ledger.in_doubt.add(usage)
    _, cost = _flown(state, row, usage)
    return replace(
        tally,
        in_doubt=tally.in_doubt + usage,
        doubt_dollars=plus(tally.doubt_dollars, cost),
    )


def cleared(state: RunState, tally: Tally, model: str, usage: Usage) -> Tally:
    """Return a tally without what was in doubt of a call in a batch."""
    in_doubt = minus(tally.in_doubt, usage)
    cost = cost_of(state, model, usage, in_batch=True)
    rest = plus(tally.doubt_dollars, -(cost or 0.0)) if in_doubt.total else 0.0
    return replace(tally, in_doubt=in_doubt, doubt_dollars=rest)


def _flown(state: RunState, row: Row, usage: Usage) -> tuple[str, float | None]:
    """The model of the row's call in flight, and what that costs in its lane."""
    model = "" if row.spec is None else row.spec.model
    in_batch = row.flight is not None and row.flight.batch is not None
    return model, cost_of(state, model, usage, in_batch=in_batch)


def spend_of(state: RunState, row: RowId) -> Spend:
    """What the phase of a row has used."""
    spend = state.spent.get(row.phase)
    if spend is None:
        spend = state.spent[row.phase] = Spend()
    return spend


def plus(known: float | None, more: float | None) -> float | None:
    """Add dollars; unknown ones make the sum unknown."""
    return None if known is None or more is None else known + more


def hold(state: RunState, pool: str, at: float, wait: Wait) -> None:
    """Remember until when a pool was told to wait, for a life that begins sooner."""
    known = state.held.get(pool)
    if known is None or (known[1].until or 0.0) < (wait.until or 0.0):
        state.held[pool] = at, wait


_new = object.__new__
_SETTERS = tuple(vars(Row)[f.name].__set__ for f in fields(Row))


def put(  # noqa: PLR0917  positional where a million calls make it matter
    state: RunState,
    row: Row,
    status: Status,
    at: float,
    tally: Tally,
    flight: Flight | None = None,
    wait: Wait | None = None,
    end: End | None = None,
) -> None:
    """Replace a row, keeping its counts; what is not named is none."""
    before, begun, worked = row.status, row.started_at, row.worked
    if before is Status.RUNNING and status is not before:
        worked += _work(row, at)
    # A frozen class's own way takes twice as long, and nearly every fact comes here.
    id_of, order_of, status_of, since, spec, used = _SETTERS[:6]
    call, waits, ends, life, started, work = _SETTERS[6:]
    made = _new(Row)
    id_of(made, row.id)
    order_of(made, row.order)
    status_of(made, status)
    since(made, row.since if status is before else at)
    spec(made, row.spec)
    used(made, tally)
    call(made, flight)
    waits(made, wait)
    ends(made, end)
    life(made, row.life)
    started(made, at if flight is not None and begun is None else begun)
    work(made, worked)
    state.rows[row.id] = made
    if status is not before:
        count_move(state, row, status)


def asked_for(row: Row, spec: RowSpec) -> Row:
    """Return a row that had been declared ahead, now that it is asked for."""
    return Row(
        id=row.id,
        order=row.order,
        status=row.status,
        since=row.since,
        spec=spec,
        tally=row.tally,
        flight=row.flight,
        end=row.end,
        life=row.life,
        started_at=row.started_at,
        worked=row.worked,
    )


def _work(row: Row, at: float) -> float:
    """Seconds since the row began to run."""
    in_batches = row.spec is not None and row.spec.pool == POOL
    return 0.0 if in_batches else max(0.0, at - row.since)


def worked(row: Row, at: float) -> float:
    """Return how long a row has worked by the wall-clock second `at`."""
    return row.worked + (_work(row, at) if row.status is Status.RUNNING else 0.0)


def count_move(state: RunState, row: Row, status: Status) -> None:
    """Move a row from its status to `status` in the counts."""
    state.by_status[row.status] -= 1
    state.by_status[status] += 1
    if row.end is not None and row.end.reused_from is not None:
        state.ledger.reused -= 1


def row_of(state: RunState, row_id: RowId, event: object) -> Row:
    """The row a fact speaks of, which must be known."""
    row = state.rows.get(row_id)
    if row is None:
        raise IllegalEvent(row_id, "unknown", event)
    return row


def at_rest(row: Row, event: object) -> None:
    """Refuse a fact that cannot be while a call is in flight."""
    if row.flight is not None:
        why = f"call {row.flight.call} is in flight"
        raise IllegalEvent(row.id, row.status.value, event, why)


def in_flight(row: Row, event: CallAnswered | CallRefused | CallAbandoned) -> None:
    """Refuse the end of a call that is not the one in flight."""
    if row.flight is None or row.flight.call != event.call:
        why = f"call {event.call} is not in flight"
        raise IllegalEvent(row.id, row.status.value, event, why)


def lay_aside(state: RunState, row_id: RowId, tally: Tally) -> Tally:
    """Count a row's useful usage as wasted until its turns are taken up again."""
    useful = tally.useful
    if useful == NO_USAGE:
        return tally
    state.set_aside[row_id] = useful
    state.ledger.useful.take(useful)
    state.ledger.wasted.add(useful)
    return replace(tally, useful=NO_USAGE, wasted=tally.wasted + useful)


def take_up(state: RunState, row_id: RowId, tally: Tally) -> Tally:
    """Count as useful again what had been set aside for the row."""
    useful = state.set_aside.pop(row_id, NO_USAGE)
    if useful == NO_USAGE:
        return tally
    state.ledger.wasted.take(useful)
    state.ledger.useful.add(useful)
    return replace(
        tally, useful=tally.useful + useful, wasted=minus(tally.wasted, useful)
    )
