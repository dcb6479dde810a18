"""The batch endpoints over the wire: what was asked, and what is known afterwards.

Handing a batch in twice pays for it twice, and the service has no key that would
stop that. So there are three answers to a hand-in: it is there, it is certainly
not there, or nobody knows (`Broken`); then the list of batches is searched.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from aiolimiter import AsyncLimiter

from fanout.decide.admission.headers import read_limits, read_retry_after
from fanout.decide.batching import ENDED, Seen, may_be, read_batch
from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.words.outcome import Broken, Limits, Refused

BATCHES = "/v1/messages/batches"
PAGE = 100
MESSAGE_MAX = 300
"""Characters of what the service says about an error."""
ASKS_PER_SECOND = 4
"""The batch endpoints have a limit of their own, 1,000 a minute on the smallest
plan; others of the organisation share it."""
HAND_IN_SECONDS = 600.0
"""A large batch over a thin line takes its time."""
CHUNK_BYTES = 1024 * 1024
"""Results that are handed on together, at most."""
CLIENT_ERRORS = range(300, 500)
NOT_FOUND = 404
DAY = 86_400.0
UNCLEAR = (408, 409)
"""Statuses of that range after which the batch may be there all the same."""

Failed = Refused | Broken


class BatchPort(Protocol):
    """The API as batches need it."""

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Send a small request."""
        ...

    async def lines(self, path: str, take: Callable[[str], bool]) -> Failed | None:
        """Read a response line by line, until `take` has enough."""
        ...


class BatchLine:
    """Asks the service about batches, one request after the other."""

    def __init__(self, api: BatchPort, wall: Callable[[], float]) -> None:
        self._api = api
        self._wall = wall
        self._pace: AsyncLimiter | None = None
        self._ahead = 0.0
        """By how much the service's clock is ahead of ours."""

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the JSON of a 200, or what went wrong."""
        if self._pace is None:
            self._pace = AsyncLimiter(1, 1 / ASKS_PER_SECOND)
        await self._pace.acquire()
        seconds = None if body is None else HAND_IN_SECONDS
        status, headers, text = await self._api.plain(
            method, path, body, seconds=seconds
        )
        lower = {name.lower(): value for name, value in headers.items()}
        told = read_limits(lower).date
        self._ahead = 0.0 if told is None else told - self._wall()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if status < 300:  # noqa: PLR2004
            return value
        return self._refusal(status, lower, value, text)

    def _refusal(
        self, status: int, lower: Mapping[str, str], body: Any, text: str
    ) -> Refused:
        error = body.get("error") if isinstance(body, dict) else None
        error = error if isinstance(error, dict) else {}
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, dict) else None
        kind = error.get("type")
        return Refused(
            status=status,
            type=kind if isinstance(kind, str) else None,
            code=code if isinstance(code, str) else None,
            message=shortened(redact(str(error.get("message") or text)), MESSAGE_MAX),
            retry_after=read_retry_after(lower, wall=self._wall()),
            limits=Limits(),
            request_id=lower.get("request-id"),
            body=text,
        )

    async def hand_in(self, requests: Sequence[Mapping[str, Any]]) -> Seen | Failed:
        """Hand a batch in; `Refused` says that it is certainly not there."""
        told = await self._ask("post", BATCHES, {"requests": list(requests)})
        if isinstance(told, Refused):
            sure = told.status in CLIENT_ERRORS and told.status not in UNCLEAR
            return told if sure else Broken(stage="headers", message=told.message)
        return read_batch(told) or Broken(stage="headers", message="no batch came back")

    async def look(self, name: str) -> Seen | Failed:
        """See where a batch stands."""
        told = await self._ask("get", _path(name))
        if isinstance(told, Refused):
            return told
        return read_batch(told) or Broken(stage="headers", message="no batch came back")

    async def search(
        self,
        planned_at: float,
        custom_ids: frozenset[str],
        known: set[str],
        *,
        size: int,
    ) -> Seen | list[Seen] | Failed:
        """Find a batch whose id was lost; else those that may still turn out to be it.

        `known` are batches that it is not, and grows by what was found out. Results
        name the requests, the list does not: only what has ended can be told. `size`
        is how many requests it was handed in with.
        """
        pending: list[Seen] = []
        path, listed = f"{BATCHES}?limit={PAGE}", set[str]()
        while path:
            page = await self._ask("get", path)
            if isinstance(page, Refused):
                return page
            since = self._begun(planned_at)
            batches = _batches(page)
            if batches is None:
                return Broken(stage="headers", message="no list of batches came back")
            for seen in batches:
                fits = may_be(seen, planned_at=since, count=size)
                if seen.id in known or seen.id in listed or not fits:
                    continue
                found = await self._is_it(seen, custom_ids, known, pending)
                if found is not None:
                    return found
            more = not listed.issuperset(seen.id for seen in batches)
            listed.update(seen.id for seen in batches)
            path = _next(page, batches, since) if more else ""
        return pending

    def _begun(self, planned_at: float) -> float:
        """When it was handed in at the earliest, by the service's clock."""
        now = self._wall()
        # Planned later than now: the clock was set back since, nobody knows how far.
        begun = planned_at if planned_at <= now else now - DAY
        return begun + self._ahead

    async def _is_it(
        self,
        seen: Seen,
        custom_ids: frozenset[str],
        known: set[str],
        pending: list[Seen],
    ) -> Seen | Failed | None:
        """Return a batch that is the one; note one that is not, or may yet be."""
        if seen.status != ENDED:
            pending.append(seen)
            return None
        first = await self.first_of(seen.id) if seen.has_results else ""
        if isinstance(first, Refused) and first.status == NOT_FOUND:
            first = ""
        if isinstance(first, Refused | Broken):
            return first
        if first in custom_ids:
            return seen
        known.add(seen.id)
        return None

    async def first_of(self, name: str) -> str | Failed:
        """Return the name of some request of a batch that has ended."""
        found: list[str] = []

        def take(line: str) -> bool:
            if line.strip():
                found.append(line)
            return not found

        failed = await self._api.lines(_path(name, "/results"), take)
        if failed is not None and not found:
            return failed
        return name_of(found[0])[0] if found else ""

    async def read(
        self, name: str, deliver: Callable[[list[str]], None], *, chunk: int = 100
    ) -> Failed | None:
        """Read all results, some lines at a time; says what cut it short."""
        lines: list[str] = []
        size = 0

        def take(line: str) -> bool:
            nonlocal size
            lines.append(line)
            size += len(line)
            if len(lines) >= chunk or size >= CHUNK_BYTES:
                deliver(lines.copy())
                lines.clear()
                size = 0
            return True

        failed = await self._api.lines(_path(name, "/results"), take)
        if lines:
            deliver(lines)
        # Whoever takes them in gets a turn before this is said to be over.
        await asyncio.sleep(0)
        return failed


def name_of(line: str) -> tuple[str, Any]:
    """Return a line's `custom_id` and result; an empty one for half a line."""
    try:
        value = json.loads(line)
        return str(value["custom_id"]), value["result"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", None


def _path(name: str, more: str = "") -> str:
    """Return the path of a batch; its name is the service's, and may hold anything."""
    return f"{BATCHES}/{quote(name, safe='')}{more}"


def _batches(page: Any) -> list[Seen] | None:
    """Read a page of the list; None for what is none.

    That says of no batch that it is not there.
    """
    data = page.get("data") if isinstance(page, dict) else None
    if not isinstance(data, list):
        return None
    found = [batch for one in data if (batch := read_batch(one)) is not None]
    return found if len(found) == len(data) else None


def _next(page: Any, batches: Sequence[Seen], planned_at: float) -> str:
    """Return the next page's path; empty when what follows is too old."""
    if not (isinstance(page, dict) and page.get("has_more") and batches):
        return ""
    oldest = batches[-1]
    if not may_be(oldest, planned_at=planned_at, count=oldest.total):
        return ""
    return f"{BATCHES}?limit={PAGE}&after_id={quote(oldest.id, safe='')}"
