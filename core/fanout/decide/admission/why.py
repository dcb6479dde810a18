"""One row's reason and time, read off the decision that made it wait.

Nothing is calculated a second time: a row that waits is the head of its pool's
gate, and has the gate's own cause and time, or stands behind it. The position
comes from an index that is built once per gate and kept with it.
"""

from fanout.words.budgets import gate_of
from fanout.words.model import Cause, Row, RowId, Status, Wait
from fanout.words.snapshot import Gate, Snapshot

# The newest of each pool: one of 50,000 rows takes 5 MB, and changes with every start.
LINES_KEPT = 64

RUN_STATES = {
    "paused": Cause.PAUSED,
    "draining": Cause.STOPPING,
    "stopping": Cause.STOPPING,
}


def why(snapshot: Snapshot, row: Row) -> Wait | None:
    """What the row waits for or is doing; None once it has ended."""
    if row.status in {Status.DONE, Status.MISSING}:
        return None
    if row.status is Status.RUNNING:
        return _doing(snapshot, row)
    pool = None if row.spec is None else row.spec.pool
    gate = None if pool is None else snapshot.gates.get(pool)
    place = None if gate is None else _INDEX.places(gate).get(row.id)
    if row.status is Status.THROTTLED and row.wait is not None:
        return _throttled(row.wait, gate, place)
    if gate is None or place is None:
        aside = snapshot.gates.get(gate_of(row.id.phase))
        if aside is not None and row.id in _INDEX.places(aside):
            return Wait(Cause.BUDGET, None, aside.detail)
        return _elsewhere(snapshot, row)
    return _in_line(gate, place)


def _doing(snapshot: Snapshot, row: Row) -> Wait:
    live = snapshot.live.get(row.id)
    if live is None:
        return Wait(Cause.SENT)
    detail = live.note
    if not detail and live.output_tokens:
        detail = f"{live.output_tokens} tokens"
    return Wait(live.cause, None, detail)


def _throttled(wait: Wait, gate: Gate | None, place: int | None) -> Wait:
    """A throttled row keeps its cause; what it waits for in line is the gate's."""
    if gate is None or place is None or gate.cause in {None, wait.cause}:
        until = wait.until if gate is None else gate.until or wait.until
        return Wait(wait.cause, until, wait.detail)
    ahead = _in_line(gate, place)
    if ahead.until is not None:
        return Wait(wait.cause, ahead.until, wait.detail)
    # Its own time may be over, and still it is not sent: by what, it says.
    what = ahead.cause.value
    if ahead.cause is Cause.BEHIND:
        what += f" {ahead.detail}"
    return Wait(wait.cause, None, what)


def _elsewhere(snapshot: Snapshot, row: Row) -> Wait:
    if snapshot.asking is not None and row.id in snapshot.asking.rows:
        return Wait(Cause.ANSWER)
    if row.wait is not None:
        return row.wait
    closed = RUN_STATES.get(snapshot.state)
    if closed is not None:
        return Wait(closed)
    return Wait(Cause.EXPECTED if row.spec is None else Cause.BEHIND)


def _in_line(gate: Gate, place: int) -> Wait:
    cause = gate.cause
    if cause is None:
        return Wait(Cause.SPACING)
    if place == 0 or cause not in {Cause.REQUESTS, Cause.INPUT, Cause.OUTPUT}:
        return Wait(cause, gate.until, gate.detail)
    return Wait(Cause.BEHIND, None, f"{place} for {cause}")


class _Index:
    """Positions in the lines seen last; a line is a tuple and known by identity."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[tuple[RowId, ...], dict[RowId, int]]] = {}

    def places(self, gate: Gate) -> dict[RowId, int]:
        """Each row's place in the line of a gate."""
        waiting = gate.waiting
        known = self._lines.get(gate.pool)
        if known is not None and known[0] is waiting:
            return known[1]
        if len(self._lines) >= LINES_KEPT:
            self._lines.clear()
        places = {row: place for place, row in enumerate(waiting)}
        self._lines[gate.pool] = (waiting, places)
        return places


_INDEX = _Index()
