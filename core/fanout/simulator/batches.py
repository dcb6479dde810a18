"""Message batches: what was handed in, when each request is due, how it ended.

Time is an argument, and the work itself is somebody else's (`Perform`): here are
the queue, the statuses and what a client is told. A request is done once it is
due and somebody looks (`settle`), a bounded number at a time, so that a batch of
100,000 holds nobody up. What ended is kept; a cancelled batch has the results of
what had been got to by then.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fanout.simulator import chance, errors
from fanout.simulator.errors import Refusal
from fanout.simulator.profile import BatchTable

CUSTOM_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
PAGE = 20
PAGE_MAX = 1_000
_MINUTE = 60.0

Result = dict[str, Any]
"""`{"type": "succeeded", "message": …}` and its siblings."""


@dataclass(slots=True, kw_only=True)
class Item:
    """One request of a batch."""

    custom_id: str
    params: Any
    due: float
    """Epoch second at which it is got to."""
    version: str
    result: Result | None = None


@dataclass(slots=True, kw_only=True)
class Batch:
    """One batch; its items stand in the order in which they are due."""

    id: str
    created_at: float
    expires_at: float
    items: list[Item]
    cancelled_at: float | None = None
    closes_at: float
    """When what is left ends: at its expiry, or soon after it was cancelled."""
    ended_at: float | None = None
    done: int = 0
    """Items that have ended; they come first."""
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def status(self) -> str:
        """in_progress, canceling or ended."""
        if self.ended_at is not None:
            return "ended"
        return "in_progress" if self.cancelled_at is None else "canceling"


Perform = Callable[[Item, float, str | None], Result]
"""Answers one request and charges it, or says why not; told `canceled` or
`expired`, it enters into the books that the request was never got to."""


class BatchOffice:
    """All batches of an account, the oldest first."""

    def __init__(
        self,
        table: Callable[[], BatchTable],
        seed: int,
        perform: Perform,
        expires: Callable[[Item], bool],
    ) -> None:
        """`expires` tells which requests are never got to."""
        self._table = table
        self._seed = seed
        self._perform = perform
        self._expires = expires
        self._batches: dict[str, Batch] = {}
        self._open: dict[str, Batch] = {}
        self.created = 0

    def create(self, body: Any, version: str, now: float) -> Batch | Refusal:
        """Take a batch in, or say why not."""
        table = self._table()
        refusal = _shape(body, table.per_batch)
        if refusal is not None:
            return refusal
        waiting = sum(len(b.items) - b.done for b in self._open.values())
        if waiting + len(body["requests"]) > table.queued:
            return errors.batch_limit(
                limit=table.queued,
                unit="requests queued in batches",
                retry_after=max(1, round(table.seconds_per_hour)),
            )
        self.created += 1
        name = "msgbatch_" + chance.letters(24, "batch", self._seed, self.created)
        expires_at = now + table.expiry_hours * table.seconds_per_hour
        items = [self._item(name, one, version, now) for one in body["requests"]]
        for item in items:
            if self._expires(item):
                item.due = expires_at
        batch = Batch(
            id=name,
            created_at=now,
            expires_at=expires_at,
            closes_at=expires_at,
            items=sorted(items, key=lambda item: item.due),
        )
        self._batches[name] = self._open[name] = batch
        return batch

    def _item(self, batch: str, asked: Any, version: str, now: float) -> Item:
        table = self._table()
        name = asked["custom_id"]
        hours = chance.between(
            table.hours.min, table.hours.max, "due", self._seed, batch, name
        )
        return Item(
            custom_id=name,
            params=asked["params"],
            due=now + hours * table.seconds_per_hour,
            version=version,
        )

    def settle(self, now: float, most: int = 500) -> None:
        """Do what is due, `most` requests at a time; the rest is done later."""
        for batch in list(self._open.values()):
            while most > 0 and batch.done < len(batch.items):
                item = batch.items[batch.done]
                if item.due < batch.closes_at and item.due <= now:
                    item.result = self._perform(item, item.due, None)
                elif batch.closes_at <= now:
                    gone = "expired" if batch.cancelled_at is None else "canceled"
                    item.result = self._perform(item, now, gone)
                else:
                    break
                most -= 1
                batch.done += 1
                batch.counts[item.result["type"]] += 1
            if batch.done == len(batch.items):
                batch.ended_at = now
                del self._open[batch.id]

    def find(self, name: str) -> Batch | Refusal:
        """The batch of that id."""
        found = self._batches.get(name)
        return found or errors.not_found(f"Message batch {name} not found.")

    def listed(self, query: dict[str, str]) -> dict[str, Any] | Refusal:
        """One page of batches, the newest first."""
        text = query.get("limit", str(PAGE))
        limit = int(text) if text.isdigit() else 0
        if not 1 <= limit <= PAGE_MAX:
            return errors.invalid(f"limit: Input should be from 1 to {PAGE_MAX}")
        newest = list(reversed(self._batches))
        if (after := query.get("after_id")) in self._batches:
            newest = newest[newest.index(str(after)) + 1 :]
        elif (before := query.get("before_id")) in self._batches:
            newest = newest[: newest.index(str(before))][-limit:]
        page = newest[:limit]
        return {
            "data": [self._batches[name] for name in page],
            "has_more": len(newest) > len(page),
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None,
        }

    def cancel(self, batch: Batch, now: float) -> Refusal | None:
        """Stop what has not been got to; what is being worked on may still end."""
        if batch.status == "ended":
            return errors.invalid(f"Message batch {batch.id} has already ended.")
        if batch.cancelled_at is None:
            table = self._table()
            batch.cancelled_at = now
            wait = table.cancel_hours * table.seconds_per_hour
            batch.closes_at = min(batch.closes_at, now + wait)
        return None

    def delete(self, batch: Batch) -> Refusal | None:
        """Forget a batch that has ended."""
        if batch.status != "ended":
            return errors.invalid(
                f"Message batch {batch.id} cannot be deleted while it is "
                f"{batch.status}; cancel it first."
            )
        del self._batches[batch.id]
        return None

    def state(self) -> list[dict[str, Any]]:
        """The truth about each batch, for the control path."""
        return [
            {
                "id": batch.id,
                "status": batch.status,
                "created_at": batch.created_at,
                "ended_at": batch.ended_at,
                "requests": len(batch.items),
                "done": batch.done,
                "counts": dict(batch.counts),
                "custom_ids": sorted(item.custom_id for item in batch.items[:200]),
            }
            for batch in self._batches.values()
        ]


def told(batch: Batch, origin: str) -> dict[str, Any]:
    """A batch as clients see it; counts stay at `processing` until it has ended."""
    ended = batch.status == "ended"
    names = ("succeeded", "errored", "canceled", "expired")
    counts = {name: batch.counts[name] if ended else 0 for name in names}
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": batch.status,
        "request_counts": {"processing": 0 if ended else len(batch.items)} | counts,
        "created_at": _stamp(batch.created_at),
        "expires_at": _stamp(batch.expires_at),
        "ended_at": _stamp(batch.ended_at),
        "cancel_initiated_at": _stamp(batch.cancelled_at),
        "archived_at": None,
        "results_url": (
            f"{origin}/v1/messages/batches/{batch.id}/results" if ended else None
        ),
    }


def results(batch: Batch, seed: int) -> list[dict[str, Any]]:
    """The results of an ended batch, in no order that means anything."""
    shuffled = sorted(
        batch.items,
        key=lambda item: chance.unit("order", seed, batch.id, item.custom_id),
    )
    return [{"custom_id": item.custom_id, "result": item.result} for item in shuffled]


def _stamp(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _shape(body: Any, most: int) -> Refusal | None:
    asked = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(asked, list):
        return errors.invalid("requests: Field required")
    if not 1 <= len(asked) <= most:
        return errors.invalid(f"requests: List should have from 1 to {most} items")
    seen: set[str] = set()
    for at, one in enumerate(asked):
        wrong = _misshapen(one if isinstance(one, dict) else {}, seen)
        if wrong:
            return errors.invalid(f"requests.{at}.{wrong}")
        seen.add(one["custom_id"])
    return None


def _misshapen(one: dict[str, Any], seen: set[str]) -> str:
    name = one.get("custom_id")
    if not isinstance(name, str) or not CUSTOM_ID.match(name):
        return f"custom_id: String should match pattern '{CUSTOM_ID.pattern}'"
    if name in seen:
        return f"custom_id: must be unique within a batch; {name} is not"
    return "" if isinstance(one.get("params"), dict) else "params: Field required"
