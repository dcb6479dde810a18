"""Has the account count a few first requests, so that the forecast is right.

    the first wave is here ─▶ holds: chosen, sent ─▶ OpeningsCounted ─▶ forecast, said

It costs nothing and is asked once in a life, before anything is spent. The wave waits
for it some seconds at most; whatever goes wrong, the run goes on with what came, and
the forecast says how sure it is.
"""

import asyncio
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from fanout.decide.conversation import request
from fanout.decide.forecast.sampling import chosen, is_needed
from fanout.decide.parts.content import checked
from fanout.words.ahead import OpeningsCounted
from fanout.words.model import RowId
from fanout.world.core import Core
from fanout.world.messages import Counted
from fanout.world.pacing import CountPace
from fanout.world.rows import Rows
from fanout.world.spend.planning import Planning

COUNT = "/v1/messages/count_tokens"
SECONDS = 5.0
"""What a run waits for counts at most, once it could send."""
LOOKED_AT = 2_000
"""Of so many rows, spread over all, those are chosen that are counted."""
OK = 200
_FIELDS = ("model", "messages", "system", "tools", "output_config")


class Passthrough(Protocol):
    """The API for everything that is not a message."""

    async def ready(self) -> None:
        """Return once something could be sent."""
        ...

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Pass a request through."""
        ...


class Counting:
    """Asks once; `holds` is True until it is known."""

    def __init__(
        self,
        core: Core,
        api: Passthrough,
        *,
        rows: Rows,
        pace: CountPace,
        planning: Planning,
    ) -> None:
        self._core = core
        self._api = api
        self._rows = rows
        self._pace = pace
        self._asks = planning.counts and not planning.dry
        self._under_way = False
        self._counts: list[tuple[str, tuple[int, ...], int]] = []

    def holds(self, rows: Iterable[RowId]) -> bool:
        """Whether rows that wait to be forecast wait for counts."""
        if self._asks:
            self._asks = False
            bodies = self._bodies(tuple(rows))
            if bodies:
                self._under_way = True
                self._core.spawn(self._count(bodies), "count openings")
        return self._under_way and self._core.state.stop is None

    def came(self, message: Counted) -> None:
        """Journal what was counted; what waited may go."""
        self._under_way = False
        self._core.record(OpeningsCounted(counts=message.counts, failed=message.failed))

    def _bodies(self, rows: tuple[RowId, ...]) -> list[tuple[RowId, Mapping[str, Any]]]:
        core = self._core
        if core.state.paused or not is_needed(core.outlook.only(rows)):
            return []
        some = rows[:: math.ceil(len(rows) / LOOKED_AT) or 1]
        specs = [(row, core.state.rows[row].spec) for row in some]
        openings = [
            (row, spec.model, checked(spec.content))
            for row, spec in specs
            if spec is not None
        ]
        found = ((row, self._first_request(row)) for row in chosen(openings))
        return [(row, body) for row, body in found if body is not None]

    def _first_request(self, row: RowId) -> Mapping[str, Any] | None:
        """Return an agent's first request; None where it was answered before."""
        work = self._rows.works.get(row)
        if work is None or work.conversation.entries:
            return None
        return request(work.conversation)

    async def _count(self, bodies: list[tuple[RowId, Mapping[str, Any]]]) -> None:
        # Nothing else could be sent before either.
        await self._api.ready()
        failed = f"no answer within {SECONDS:.0f} s"
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                failed = await self._ask_all(bodies)
        self._core.put(Counted(tuple(self._counts), failed))

    async def _ask_all(self, bodies: list[tuple[RowId, Mapping[str, Any]]]) -> str:
        """Ask at the account's pace; the first failure is the last request."""
        tasks: list[asyncio.Task[str]] = []
        async with asyncio.TaskGroup() as group:
            for row, body in bodies:
                await self._pace.wait()
                if any(task.done() and task.result() for task in tasks):
                    break
                tasks.append(group.create_task(self._ask(row, body)))
        return next((failed for task in tasks if (failed := task.result())), "")

    async def _ask(self, row: RowId, body: Mapping[str, Any]) -> str:
        """Count one request; returns what went wrong, if anything did."""
        asked = {name: body[name] for name in _FIELDS if name in body}
        status, _, text = await self._api.plain("post", COUNT, asked, seconds=SECONDS)
        if status != OK:
            return f"status {status}"
        tokens = _tokens_in(text)
        if tokens is None:
            return "the answer has no number of tokens"
        spec = self._core.state.rows[row].spec
        assert spec is not None, "a row without a spec has no request"
        self._counts.append((spec.model, spec.content, tokens))
        return ""


def _tokens_in(text: str) -> int | None:
    try:
        told = json.loads(text)
    except ValueError:
        return None
    tokens = told.get("input_tokens") if isinstance(told, dict) else None
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0
    return tokens if counted else None
