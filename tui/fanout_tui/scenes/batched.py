"""Scenes of the batch lane; see `states`."""

from dataclasses import replace

from fanout.words.model import Cause, Status
from fanout.words.snapshot import CeilingView, Gate, Live, Snapshot
from fanout_tui.scenes.rows import NOW

BATCH = "msgbatch_01hkcyfwx2qzvge2nmk4t1bs"
LANE = "batches"
OPEN_FOR = 3_140.0


def in_batches(made: Snapshot) -> Snapshot:
    """Every row that runs waits for one batch."""
    note = f"batch 0/14 · {BATCH}"
    live = Live(cause=Cause.BATCH, note=note, active_at=NOW - 8)
    waiting = {r.id: live for r in made.rows.values() if r.status is Status.RUNNING}
    rows = {
        r.id: replace(r, since=NOW - OPEN_FOR) if r.id in waiting else r
        for r in made.rows.values()
    }
    return _batched(replace(made, rows=rows, live=waiting))


def gathers(made: Snapshot) -> Snapshot:
    """Rows that wait for their group to be complete."""
    rows = {
        r.id: replace(r, spec=replace(r.spec, pool=LANE)) if r.spec else r
        for r in made.rows.values()
    }
    queued = tuple(r.id for r in rows.values() if r.status is Status.QUEUED)
    gate = Gate(
        pool=LANE,
        waiting=queued,
        cause=Cause.GATHERING,
        until=NOW + 2,
        detail=f"{len(queued)} so far",
    )
    return replace(_batched(replace(made, rows=rows)), gates={LANE: gate})


def _batched(made: Snapshot) -> Snapshot:
    """No call of its own flies, and no limit is known."""
    ceiling = CeilingView(limit=8, user=None, in_flight=0)
    return replace(made, pools=(), gates={}, ceiling=ceiling)
