"""The run as JSON, one object a line, for programs that follow it.

Every object has `v` (this form's version), `t` (wall-clock seconds) and `event`.
Events of a row have `phase`, `key` and `status`. Within a version, fields are
added and never change their meaning. The stream is ASCII, so no encoding of
stdout can break it.
"""

import json
from collections.abc import Callable
from typing import Any

from fanout.words.budgets import BudgetView
from fanout.words.snapshot import Snapshot
from fanout_tui.view.changes import Change, changes

VERSION = 1
STATUS_EVERY_S = 10.0


class JsonLines:
    """Writes what changed since it was last shown a snapshot."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._write = write
        self._clock = clock
        self._seen: Snapshot | None = None
        self._status_at = 0.0
        self._broken = False

    def update(self, snapshot: Snapshot) -> None:
        """Write what is new."""
        news = list(changes(self._seen, snapshot))
        self._seen = snapshot
        ended = [change for change in news if change.event == "end"]
        for change in news:
            if change.event != "end":
                self._put(as_object(change))
        now = self._clock()
        if ended or now >= self._status_at:
            self._status_at = now + STATUS_EVERY_S
            self._put(status_object(snapshot))
        for change in ended:
            self._put(as_object(change))

    def every_wait(self, snapshot: Snapshot) -> None:
        """Nothing to add: why rows wait stands in their events."""

    def close(self, snapshot: Snapshot) -> None:
        """Write what is left to say; `end` is the last line."""
        self.update(snapshot)

    def _put(self, data: dict[str, Any]) -> None:
        if self._broken:
            return
        try:
            self._write(json.dumps(data, ensure_ascii=True, separators=(",", ":")))
        except OSError:
            self._broken = True


def as_object(change: Change) -> dict[str, Any]:
    """One change as it is written."""
    data: dict[str, Any] = {"v": VERSION, "t": round(change.at, 3)}
    data["event"] = change.event
    if change.row is not None:
        data["phase"], data["key"] = change.row.id
        data["status"] = change.row.status.value
        data["attempts"] = change.row.tally.attempts
        if change.row.end is not None:
            data["usage"] = change.row.tally.useful.as_dict()
    return {**data, **change.data}


def status_object(snapshot: Snapshot) -> dict[str, Any]:
    """Counts, limits and cost at one moment."""
    counts = snapshot.counts
    return {
        "v": VERSION,
        "t": round(snapshot.at, 3),
        "event": "status",
        "state": snapshot.state,
        "expected": counts.expected,
        "queued": counts.queued,
        "running": counts.running,
        "throttled": counts.throttled,
        "done": counts.done,
        "missing": counts.missing,
        "in_flight": snapshot.ceiling.in_flight,
        "ceiling": snapshot.ceiling.limit,
        "usage": {
            "useful": snapshot.totals.useful.as_dict(),
            "wasted": snapshot.totals.wasted.as_dict(),
            "in_doubt": snapshot.totals.in_doubt.as_dict(),
            "overhead": snapshot.totals.overhead.as_dict(),
        },
        "throttles": {
            "429": snapshot.totals.refusals_429,
            "529": snapshot.totals.refusals_529,
        },
        "dollars": snapshot.totals.dollars,
        "budget": _budget(snapshot.budget),
        "left": None if snapshot.left is None else snapshot.left.as_dict(),
    }


def _budget(view: BudgetView) -> dict[str, Any]:
    """Ceilings, null where there is none, and what counts towards them."""
    return {
        "max_tokens_total": view.budget.tokens,
        "max_usd": view.budget.dollars,
        "tokens": view.tokens,
        "dollars": view.dollars,
        "held_tokens": view.held_tokens,
        "held_dollars": view.held_dollars,
    }
