"""The states a run can be in, each as one snapshot."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fanout.decide.forecast.batches import BATCHES
from fanout.words.budgets import Budget, BudgetView, Short
from fanout.words.forecast import Asking, Forecast, PhaseForecast, Range, TokenRange
from fanout.words.model import Cause, Dimension, MissingKind, Row, RowId, Status, Usage
from fanout.words.snapshot import (
    BucketView,
    CeilingView,
    Counts,
    Gate,
    LogLine,
    PoolView,
    RunEnd,
    RunInfo,
    Snapshot,
    Totals,
)
from fanout_tui.scenes.batched import gathers, in_batches
from fanout_tui.scenes.held import away, no_room
from fanout_tui.scenes.overspent import out_of_money, two_at_once
from fanout_tui.scenes.rows import MODEL, NOW, POOL, START, live, missing, row

_RUN = RunInfo(
    id="20270115-audit-7f3a",
    name="audit_modules",
    folder=".fanout/20270115-audit-7f3a",
    script="audit_modules.py",
    arguments=("src",),
    endpoint="simulated:evaluation",
    simulated=True,
    model=MODEL,
    life=1,
    started_at=START,
)
_FINISH = "fanout-tui resume 20270115-audit-7f3a"


def _counted(rows: dict[RowId, Row]) -> Counts:
    every = [row.status for row in rows.values()]
    return Counts(**{status.value: every.count(status) for status in Status})


def _rows(**counts: int) -> dict[RowId, Row]:
    """So many rows of each status, in the order of their numbers."""
    statuses = [Status(name) for name, count in counts.items() for _ in range(count)]
    return {r.id: r for r in (row(n, s) for n, s in enumerate(statuses))}


def _pool(share: float, held: int = 60_000) -> PoolView:
    limit = 400_000
    spent = int(limit * share)
    return PoolView(
        name=POOL,
        models=(MODEL,),
        buckets=(
            BucketView(
                dimension=Dimension.REQUESTS,
                limit=1_000,
                capacity=1_000.0,
                free=759.0,
                spent=int(241 * share),
                held=8,
                forecast=int(228 * share),
            ),
            BucketView(
                dimension=Dimension.INPUT,
                limit=limit,
                capacity=limit * 1.0,
                free=12_000.0,
                spent=spent,
                held=min(held, limit - spent),
                forecast=int(spent * 0.95),
            ),
            BucketView(
                dimension=Dimension.OUTPUT,
                limit=80_000,
                capacity=80_000.0,
                free=45_000.0,
                spent=int(36_000 * share),
                held=6_400,
                forecast=int(34_000 * share),
            ),
        ),
        cached=212_000,
    )


def _log(rows: dict[RowId, Row]) -> tuple[LogLine, ...]:
    ids = list(rows)
    texts = [
        ("info", "call 61 sent, about 18k input tokens", 10),
        ("warning", "429 input tokens per minute, retry-after 7 s", 12),
        ("info", "done: 8 findings", 3),
        ("info", "script: 19 modules read", None),
        ("info", "call 62 sent, about 21k input tokens", 11),
        ("info", "done: 3 findings", 4),
        ("warning", "answer sent back: `line` must be an integer", 9),
        ("info", "done: no findings", 5),
    ]
    return tuple(
        LogLine(
            number=n + 1,
            at=NOW - 16 + 2 * n,
            level=level,
            text=text,
            row=ids[at] if at is not None and at < len(ids) else None,
        )
        for n, (level, text, at) in enumerate(texts)
    )


def _snapshot(rows: dict[RowId, Row], state: str = "running") -> Snapshot:
    counts = _counted(rows)
    # Who was refused stands at the front of the line again.
    line = tuple(
        row.id
        for status in (Status.THROTTLED, Status.QUEUED)
        for row in rows.values()
        if row.status is status
    )
    gate = Gate(
        pool=POOL,
        waiting=line,
        cause=Cause.INPUT if line else None,
        until=NOW + 1.0 if line else None,
        detail="needs 42k, 12k free",
    )
    return Snapshot(
        at=NOW,
        run=_RUN,
        state=state,
        rows=rows,
        counts=counts,
        phases=("audit",),
        live={r.id: live(r.order) for r in rows.values() if r.status is Status.RUNNING},
        pools=(_pool(0.97),),
        gates={POOL: gate},
        ceiling=CeilingView(limit=24, user=None, in_flight=counts.running),
        totals=Totals(
            useful=Usage(1_210_000, 148_000, 2_340_000, 96_000),
            wasted=Usage(14_200, 1_100, 36_000, 0),
            refusals_429=12,
            dollars=1.53,
        ),
        log=_log(rows),
    )


def running() -> Snapshot:
    """In full flight, input tokens the bottleneck."""
    rows = _rows(done=34, running=14, throttled=3, missing=2, queued=47)
    rows = _with_error(rows)
    return replace(_snapshot(rows), left=_left(66))


def _with_error(rows: dict[RowId, Row]) -> dict[RowId, Row]:
    """The first missing row as a rejected one."""
    first = next(r for r in rows.values() if r.status is Status.MISSING)
    text = "400 invalid_request_error: prompt is too long"
    return {**rows, first.id: missing(first, MissingKind.REJECTED, text)}


def starting() -> Snapshot:
    """The script is being loaded."""
    bare = _snapshot({}, "starting")
    return replace(bare, pools=(), gates={}, log=(), totals=Totals(), at=START + 0.4)


def empty() -> Snapshot:
    """It runs and has asked for nothing."""
    return replace(starting(), state="running")


def learning() -> Snapshot:
    """No limits known yet."""
    made = _snapshot(_rows(running=2, queued=38))
    buckets = tuple(
        replace(bucket, limit=None, capacity=None, free=None, spent=0, forecast=0)
        for bucket in _pool(0.0).buckets
    )
    queued = made.gates[POOL].waiting
    gate = Gate(pool=POOL, waiting=queued, cause=Cause.LEARNING, until=None)
    pools = (PoolView(name=POOL, models=(MODEL,), buckets=buckets),)
    return replace(made, pools=pools, gates={POOL: gate}, totals=Totals())


def paused() -> Snapshot:
    """Paused by the user."""
    made = running()
    gate = replace(made.gates[POOL], cause=Cause.PAUSED, until=None, detail="")
    return replace(made, state="paused", gates={POOL: gate})


def overloaded() -> Snapshot:
    """Held by a wall of 529."""
    made = running()
    gate = replace(made.gates[POOL], cause=Cause.BREAKER, until=NOW + 18, detail="")
    return replace(made, gates={POOL: gate}, pools=(_pool(0.41),))


def budget() -> Snapshot:
    """The budget lets nothing more through."""
    made = running()
    gate = replace(
        made.gates[POOL],
        cause=Cause.BUDGET,
        until=None,
        detail="$9.87 of $10.00, worst case of the next call $0.31",
    )
    view = BudgetView(
        budget=Budget(dollars=10.0), tokens=2_210_000, dollars=9.87, held_dollars=0.0
    )
    return replace(
        made,
        gates={POOL: gate},
        pools=(_pool(0.5),),
        budget=view,
        totals=replace(made.totals, dollars=9.87),
    )


def short() -> Snapshot:
    """The same, and somebody is asked."""
    made = budget()
    reason = (
        "budget of $10.00 reached: $9.87 spent, $0.00 in flight, "
        "the next call may take $0.31"
    )
    asked = Short(number=1, reason=reason, tokens=40_000, dollars=0.31)
    return replace(made, shorts=(asked,))


def phase_short() -> Snapshot:
    """A phase's budget is reached; the others go on."""
    return out_of_money(running())


def both_short() -> Snapshot:
    """A phase's, and the run's."""
    return two_at_once(running())


def ceiling() -> Snapshot:
    """Held by the user's ceiling."""
    made = running()
    gate = replace(made.gates[POOL], cause=Cause.CEILING, until=None, detail="")
    view = CeilingView(limit=14, user=14, in_flight=14)
    return replace(made, gates={POOL: gate}, pools=(_pool(0.4),), ceiling=view)


def gathering() -> Snapshot:
    """The batch lane: a wave is on its way together."""
    return gathers(_snapshot(_rows(done=20, queued=40)))


def batched() -> Snapshot:
    """The batch lane: a batch is at the service."""
    seconds = Range(240.0, 1_500.0, 82_000.0)
    left = replace(_left(14), seconds=seconds, binds=BATCHES, limits="")
    return replace(in_batches(_snapshot(_rows(done=40, running=14))), left=left)


def draining() -> Snapshot:
    """Asked to stop; what flies finishes."""
    return replace(running(), state="draining")


def _over(rows: dict[RowId, Row], state: str = "finished", **end: Any) -> Snapshot:
    """At its end, which is incomplete where `end` says nothing else."""
    made = _snapshot(rows, state)
    usual: dict[str, Any] = {
        "at": max(row.since for row in rows.values()),
        "complete": False,
        "accepted": False,
        "finish": _FINISH,
    }
    view = CeilingView(limit=24, user=None, in_flight=0)
    return replace(
        made,
        end=RunEnd(**usual | end),
        gates={},
        live={},
        pools=(_pool(0.6, held=0),),
        ceiling=view,
    )


def finished() -> Snapshot:
    """At its end, with holes."""
    rows = _with_error(_rows(done=94, missing=6))
    return _over(rows, exit_code=3, reason="6 of 100 partitions are missing")


def complete() -> Snapshot:
    """At its end, whole."""
    return _over(
        _rows(done=40),
        exit_code=0,
        complete=True,
        accepted=True,
        word="incomplete, accepted",
        reason="every expected partition is done",
        finish="",
        result="12 findings",
    )


def _left(rows: int) -> Forecast:
    """What is left of a run at some moment."""
    phase = PhaseForecast(
        phase="audit",
        model=MODEL,
        pool=POOL,
        rows=rows,
        learned=12,
        calls=Range(150, 184, 220),
        tokens=TokenRange(
            input=Range(20_000, 24_000, 30_000),
            cache_write=Range(900_000, 1_100_000, 1_300_000),
            cache_read=Range(1_900_000, 2_400_000, 3_000_000),
            output=Range(200_000, 240_000, 290_000),
        ),
        dollars=Range(5.1, 6.2, 7.6),
        seconds=31.0,
    )
    return Forecast(
        phases=(phase,),
        seconds=Range(150.0, 190.0, 240.0),
        binds=Dimension.INPUT.value,
        limits="as the service says",
    )


def asking() -> Snapshot:
    """Much would be spent, and somebody is asked first."""
    rows = _rows(done=12, queued=40)
    waiting = frozenset(r.id for r in rows.values() if r.status is Status.QUEUED)
    left = _left(len(waiting))
    question = Asking(number=1, rows=waiting, left=left, spent=410_000, again=False)
    return replace(_snapshot(rows), gates={}, asking=question)


def raised() -> Snapshot:
    """The script raised."""
    rows = _rows(done=34, missing=66)
    rows = {
        r.id: r
        if r.status is Status.DONE
        else missing(r, MissingKind.SCRIPT, "the script raised before it could end")
        for r in rows.values()
    }
    text = "the script raised KeyError: 'findings' (audit_modules.py, line 31)"
    return _over(rows, exit_code=1, reason=text, word="script raised")


def crashed() -> Snapshot:
    """The engine itself failed; no row stays running."""
    rows = _rows(done=34, missing=66)
    rows = {
        r.id: r
        if r.status is Status.DONE
        else missing(r, MissingKind.INTERRUPTED, "the engine stopped (in doubt)")
        for r in rows.values()
    }
    text = "a defect of fanout-tui: KeyError: 'usage'"
    return _over(rows, "crashed", exit_code=70, reason=text)


SCENES: dict[str, Callable[[], Snapshot]] = {
    made.__name__: made
    for made in (
        running,
        starting,
        empty,
        learning,
        paused,
        overloaded,
        budget,
        short,
        phase_short,
        both_short,
        ceiling,
        gathering,
        batched,
        draining,
        asking,
        finished,
        complete,
        raised,
        crashed,
    )
}
SCENES["offline"] = lambda: away(running())
SCENES["disk"] = lambda: no_room(running())
