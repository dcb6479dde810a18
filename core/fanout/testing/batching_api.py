"""A scripted API with message batches: the simulated account's own batch office.

Single calls are answered as in `ScriptedApi`; requests in batches by the same
script, when they are due. What goes wrong on the way is scripted per request.
"""

import asyncio
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from fanout.decide.batching import digest_of
from fanout.simulator import batches as office
from fanout.simulator.batches import Batch, BatchOffice, Item
from fanout.simulator.errors import Refusal
from fanout.simulator.profile import BatchTable
from fanout.testing.scripted_api import Reply, ScriptedApi
from fanout.words.outcome import Answered, Broken, Limits, Refused

EPOCH = 1_800_000_000.0
"""Wall-clock second at which virtual time begins; see `LoopClock`."""
HOUR = {"hours": {"min": 0.1, "max": 0.8}, "seconds_per_hour": 3600.0}

Fault = str
"""`before` (not taken in, no answer), `after` (taken in, no answer), `cut` (results
end after half of them), or a status."""


class BatchingApi(ScriptedApi):
    """An API whose batches live through their hours in virtual time."""

    def __init__(
        self,
        reply: Reply,
        *,
        expires: Callable[[str, int], bool] = lambda _name, _seen: False,
        **table: Any,
    ) -> None:
        """`expires` is asked of each request's text and how often it was seen."""
        super().__init__(reply)
        made = BatchTable.model_validate({**HOUR, **table})
        self._expires = expires
        self._seen: Counter[str] = Counter()
        self.office = BatchOffice(lambda: made, 1, self._perform, self._expired)
        self.paid: Counter[str] = Counter()
        """Answers in batches that were charged, by what was asked."""
        self.handed_in: list[Batch] = []
        self.faults: dict[str, deque[Fault]] = {}
        """By `create`, `look`, `list`, `results`: what happens to the next ones."""
        self.asked: Counter[str] = Counter()
        self.begun_at = EPOCH
        """Wall-clock second of the loop's 0; later for another life."""

    def wall(self) -> float:
        """The service's clock."""
        return self.begun_at + asyncio.get_running_loop().time()

    def _expired(self, item: Item) -> bool:
        text = json.dumps(item.params)
        self._seen[text] += 1
        return self._expires(text, self._seen[text])

    def _perform(self, item: Item, now: float, gone: str | None) -> dict[str, Any]:
        del now
        if gone is not None:
            return {"type": gone}
        number = len(self.bodies)
        self.bodies.append(item.params)
        outcome = self._reply(item.params, number)
        if isinstance(outcome, Answered):
            if item.custom_id.startswith("fanout-"):
                self.paid[digest_of(item.params)] += 1
            return {"type": "succeeded", "message": dict(outcome.message)}
        assert isinstance(outcome, Refused), "a result does not break"
        error = {"type": outcome.type, "message": outcome.message}
        return {"type": "errored", "error": {"type": "error", "error": error}}

    def _fault(self, what: str) -> Fault:
        self.asked[what] += 1
        waiting = self.faults.get(what)
        return waiting.popleft() if waiting else ""

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Answer for the batch endpoints."""
        del seconds
        await asyncio.sleep(0.1)
        self.office.settle(self.wall())
        if method == "post":
            return self._create(body or {})
        if found := re.fullmatch(r"/v1/messages/batches/(\w+)", path):
            if fault := self._fault("look"):
                return _error(fault)
            return _said(self.office.find(found[1]))
        if fault := self._fault("list"):
            return _error(fault)
        query = dict(re.findall(r"(\w+)=(\w+)", path.partition("?")[2]))
        page = self.office.listed(query)
        assert isinstance(page, dict)
        data = [office.told(batch, "") for batch in page["data"]]
        return 200, {}, json.dumps({**page, "data": data})

    def _create(self, body: Mapping[str, Any]) -> tuple[int, dict[str, str], str]:
        fault = self._fault("create")
        if fault and fault != "after":
            return _error(fault)
        made = self.office.create(json.loads(json.dumps(body)), "v", self.wall())
        if isinstance(made, Batch):
            self.handed_in.append(made)
        return _error(fault) if fault else _said(made)

    async def lines(
        self, path: str, take: Callable[[str], bool]
    ) -> Refused | Broken | None:
        """Give the results of a batch that has ended."""
        await asyncio.sleep(0.1)
        fault = self._fault("results")
        if fault.isdigit():
            return Refused(
                status=int(fault),
                type=None,
                code=None,
                message="no",
                retry_after=None,
                limits=Limits(),
                request_id=None,
            )
        batch = self.office.find(path.split("/")[-2])
        assert isinstance(batch, Batch)
        lines = [json.dumps(line) for line in office.results(batch, 1)]
        whole = len(lines) if not fault else len(lines) // 2
        for line in lines[:whole]:
            if not take(line):
                return None
        if fault:
            take(lines[whole][:20])
            return Broken(stage="stream", message="cut")
        return None


def _said(found: Batch | Refusal) -> tuple[int, dict[str, str], str]:
    if isinstance(found, Refusal):
        return found.status, {}, json.dumps(found.body("req_1"))
    return 200, {}, json.dumps(office.told(found, "http://service"))


def _error(fault: Fault) -> tuple[int, dict[str, str], str]:
    status = int(fault) if fault.isdigit() else 502
    error = {"type": None, "message": f"a fault: {fault}"}
    return status, {}, json.dumps({"type": "error", "error": error})
