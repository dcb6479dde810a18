"""What happened between two snapshots, for plain lines and for JSON.

The journal has every fact; this has what a person or a program that follows a
run from outside needs to hear. Rows that did not change are the same objects in
both snapshots, so ten thousand of them are compared in half a millisecond.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fanout.words.ahead import Forecasted
from fanout.words.model import Row, Status
from fanout.words.snapshot import PoolView, Snapshot
from fanout_tui.text import plural


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened."""

    event: str
    at: float
    row: Row | None = None
    data: dict[str, Any] = field(default_factory=dict)
    """Plain values, by the names the JSON output has."""


def changes(before: Snapshot | None, after: Snapshot) -> Iterator[Change]:
    """What is new in `after`, roughly in the order in which it happened."""
    if before is None:
        yield _started(after)
    yield from _told(before, after)
    yield from _limits(before, after)
    said = None if after.foreseen is None else after.foreseen.last
    known = None if before is None or before.foreseen is None else before.foreseen.last
    if said is not None and said is not known:
        yield _forecast(said, after.at)
    yield from _rows(before, after)
    if before is not None and before.ceiling.user != after.ceiling.user:
        data = {"ceiling": after.ceiling.user, "holds": after.ceiling.limit}
        yield Change("ceiling", after.at, data=data)
    if before is None or before.state != after.state:
        at = after.at if after.end is None else after.end.at
        yield Change("state", at, data={"state": after.state})
    if after.end is not None and (before is None or before.end is None):
        yield _ended(after)


def _started(after: Snapshot) -> Change:
    run = after.run
    data = {
        "run": run.id,
        "script": run.script,
        "folder": run.folder,
        "endpoint": run.endpoint,
        "simulated": run.simulated,
        "model": run.model,
        "life": run.life,
    }
    return Change("run", run.started_at, data=data)


def _forecast(said: Forecasted, at: float) -> Change:
    data = {
        "text": said.text,
        "reused": said.reused,
        "kept": said.kept,
        "again": dict(said.again),
        **said.figures,
    }
    return Change("forecast", at, data=data)


def _ended(after: Snapshot) -> Change:
    end = after.end
    assert end is not None
    data = {
        "exit_code": end.exit_code,
        "complete": end.complete,
        "accepted": end.accepted,
        "word": end.word,
        "reason": end.reason,
        "finish": end.finish,
        "done": after.counts.done,
        "missing": after.counts.missing,
        "expected": after.counts.expected,
    }
    return Change("end", end.at, data=data)


def _told(before: Snapshot | None, after: Snapshot) -> Iterator[Change]:
    """What the script and the engine said, and the phases entered, in their order.

    Other facts are told by themselves.
    """
    last = before.log[-1].number if before and before.log else 0
    if after.log and (lost := after.log[0].number - last - 1) > 0:
        yield from _lost(before, after, lost)
    for entry in after.log:
        if entry.number <= last:
            continue
        if entry.phase is not None:
            yield Change("phase", entry.at, data={"phase": entry.phase})
        if entry.said:
            data = {"level": entry.level, "text": entry.text}
            if entry.row is not None:
                data["row"] = str(entry.row)
            yield Change("note", entry.at, data=data)


def _lost(before: Snapshot | None, after: Snapshot, lost: int) -> Iterator[Change]:
    """Lines that are held no longer, and the phases that were entered in them."""
    text = f"{plural(lost, 'line')} of the log came before these: the journal has them"
    at = after.log[0].at
    yield Change("note", at, data={"level": "info", "text": text})
    known = {*(before.phases if before else ()), *(e.phase for e in after.log)}
    for phase in after.phases:
        if phase not in known:
            yield Change("phase", at, data={"phase": phase})


def _limits(before: Snapshot | None, after: Snapshot) -> Iterator[Change]:
    known = {pool.name: _limits_of(pool) for pool in before.pools} if before else {}
    for pool in after.pools:
        limits = _limits_of(pool)
        if any(limits.values()) and known.get(pool.name) != limits:
            data: dict[str, Any] = {"pool": pool.name, "limits": limits}
            yield Change("limits", after.at, data=data)


def _limits_of(pool: PoolView) -> dict[str, int | None]:
    return {bucket.dimension.value: bucket.limit for bucket in pool.buckets}


def _rows(before: Snapshot | None, after: Snapshot) -> Iterator[Change]:
    known = before.rows if before is not None else {}
    for id_, row in after.rows.items():
        was = known.get(id_)
        if row.life < after.run.life:
            # What an earlier life left is no news; the script has yet to ask.
            continue
        if was is not None and was.life < row.life:
            was = None
        if was is not row:
            # Whoever looks later is told when it was; who follows, when it is news.
            yield from _row(was, row, row.since if before is None else after.at)


def _row(was: Row | None, row: Row, at: float) -> Iterator[Change]:
    refused = _refusals(row) - (_refusals(was) if was else 0)
    if refused > 0 or (
        row.status is Status.THROTTLED
        and (was is None or was.status is not Status.THROTTLED)
    ):
        yield Change("throttled", at, row, _wait(row))
    if was is not None and was.status is row.status:
        return
    if was is not None and was.status is Status.MISSING:
        yield Change("requeued", at, row)
    if row.status is Status.DONE:
        reused = row.end.reused_from if row.end else None
        output = row.end.output if row.end else None
        yield Change("done", at, row, {"output": output, "reused_from": reused})
    elif row.status is Status.MISSING:
        yield Change("missing", at, row, _end(row))
    elif row.status is Status.RUNNING:
        yield Change("running", at, row, {"attempts": row.tally.attempts})


def _refusals(row: Row) -> int:
    return row.tally.refusals_429 + row.tally.refusals_529


def _wait(row: Row) -> dict[str, Any]:
    if row.wait is None:
        return {"cause": None, "until": None, "detail": ""}
    wait = row.wait
    return {"cause": wait.cause.value, "until": wait.until, "detail": wait.detail}


def _end(row: Row) -> dict[str, Any]:
    kind = row.end.kind.value if row.end and row.end.kind else None
    return {"kind": kind, "reason": row.end.reason if row.end else ""}
