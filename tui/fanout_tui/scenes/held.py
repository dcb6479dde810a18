"""What only the world can mend, in an invented run: no network, no room."""

from dataclasses import replace

from fanout.words.model import Cause, Status, Wait
from fanout.words.snapshot import Counts, Gate, Snapshot
from fanout_tui.scenes.rows import NOW, POOL

AWAY = "no connection: api.anthropic.com cannot be looked up"
FULL = "No space left on device"


def away(made: Snapshot) -> Snapshot:
    """The service is not reached: what flew waits, one call asks for a connection."""
    rows, live = dict(made.rows), {}
    flying = [r for r in rows.values() if r.status is Status.RUNNING]
    for number, row in enumerate(flying):
        if number == 0:
            rows[row.id] = replace(row, since=NOW - 2.0)
            live[row.id] = replace(made.live[row.id], cause=Cause.SENT, note="")
            continue
        wait = Wait(Cause.NETWORK, NOW + 7.0, "api.anthropic.com cannot be looked up")
        rows[row.id] = replace(
            row, status=Status.THROTTLED, flight=None, wait=wait, since=NOW - 40.0
        )
    every = [row.status for row in rows.values()]
    waiting = (Status.THROTTLED, Status.QUEUED)
    gate = Gate(
        pool=POOL,
        waiting=tuple(r.id for s in waiting for r in rows.values() if r.status is s),
        cause=Cause.OFFLINE,
        until=NOW + 7.0,
        detail=AWAY,
    )
    return replace(
        made,
        rows=rows,
        live=live,
        counts=Counts(**{s.value: every.count(s) for s in Status}),
        gates={POOL: gate},
        ceiling=replace(made.ceiling, in_flight=1),
    )


def no_room(made: Snapshot) -> Snapshot:
    """The disk refuses: what flies is kept in memory, nothing new is sent."""
    gate = replace(made.gates[POOL], cause=Cause.DISK, until=None, detail="")
    return replace(made, gates={POOL: gate}, disk=FULL)
