"""Clocks that differ, lists that lie, results that make no sense: paid once, or said."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.engine.test_batches import Life, once, say
from fanout.decide.batching import custom_id
from fanout.simulator.batches import Batch
from fanout.testing.batching_api import BatchingApi
from fanout.words.events import CallAdmitted, LifeStarted, Record
from fanout.words.model import Usage


class LyingApi(BatchingApi):
    """Changes what it says of its batches."""

    def __init__(self, **table: Any) -> None:
        super().__init__(say, **table)
        self.ahead = 0.0
        """Seconds by which the service's clock is ahead of ours."""
        self.tells_time = True
        self.change: Callable[[dict[str, Any]], object] = lambda page: page
        self.result: Callable[[dict[str, Any]], object] = lambda line: line
        self.gone: set[str] = set()

    def wall(self) -> float:
        return super().wall() + self.ahead

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        status, headers, text = await super().plain(method, path, body, seconds=seconds)
        if self.tells_time:
            headers = {**headers, "Date": http_date(self.wall())}
        if method == "get" and path.endswith("limit=100"):
            text = json.dumps(self.change(json.loads(text)))
        return status, headers, text

    async def lines(self, path: str, take: Callable[[str], bool]) -> Any:
        if path.split("/")[-2] in self.gone:
            self.faults.setdefault("results", _queue()).appendleft("404")
        lied = lambda line: take(json.dumps(self.result(json.loads(line))))  # noqa: E731
        return await super().lines(path, lied)

    def others(self, size: int) -> Batch:
        """Somebody else hands a batch of this size in."""
        params = {"of": "another"}
        requests = [{"custom_id": f"x{n}", "params": params} for n in range(size)]
        made = self.office.create({"requests": requests}, "v", self.wall())
        assert isinstance(made, Batch)
        return made


def _queue(*faults: str) -> Any:
    from collections import deque

    return deque(faults)


def http_date(wall: float) -> str:
    from email.utils import formatdate

    return formatdate(wall, usegmt=True)


def reasons(life: Life) -> set[str]:
    return {row.end.reason for row in life.state.rows.values() if row.end}


@pytest.mark.parametrize("ahead", [-7_200.0, 7_200.0])
def test_a_clock_that_is_wrong_pays_for_nothing_twice(
    tmp_path: Path, ahead: float
) -> None:
    api = LyingApi()
    api.ahead = ahead
    api.faults["create"] = _queue("after")
    life = Life(api, tmp_path)
    life.live(life.ask(5))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    once(api)


def test_a_clock_that_was_set_back_pays_for_nothing_twice(tmp_path: Path) -> None:
    """By hours, between two lives; the hand-in of the first got no answer."""
    api = LyingApi()
    api.faults["create"] = _queue("after")
    life = Life(api, tmp_path)
    records = life.live(life.ask(5), kill_when=lambda: bool(api.handed_in))
    again = Life(api, tmp_path, [replace(r, at=r.at + 7_200) for r in records])
    again.live(again.ask(5), limit=40_000.0)
    assert set(again.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    once(api)


def test_a_batch_that_does_not_say_when_it_was_made_is_found(tmp_path: Path) -> None:
    api = LyingApi()
    api.faults["create"] = _queue("after")

    def untimed(page: dict[str, Any]) -> object:
        return {**page, "data": [{**b, "created_at": None} for b in page["data"]]}

    api.change = untimed
    life = Life(api, tmp_path)
    life.live(life.ask(5))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1


@pytest.mark.parametrize("page", [None, [], {"data": None}, {"data": [{"id": ""}]}])
def test_a_list_that_is_none_does_not_say_that_a_batch_is_not_there(
    tmp_path: Path, page: object
) -> None:
    api = LyingApi()
    api.faults["create"] = _queue("after")
    told: list[object] = [page, page]
    api.change = lambda whole: told.pop() if told else whole
    life = Life(api, tmp_path)
    life.live(life.ask(5))
    assert not told
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1


def test_a_list_without_end_ends(tmp_path: Path) -> None:
    api = LyingApi()
    api.faults["create"] = _queue("before")
    api.change = lambda page: {**page, "has_more": True}
    life = Life(api, tmp_path)
    life.live(lambda: api.others(5) and None, life.ask(5))
    assert set(life.status().values()) == {"done"}


@pytest.mark.parametrize("url", [None, "/results"])
def test_others_results_that_cannot_be_read_are_in_nobodys_way(
    tmp_path: Path, url: str | None
) -> None:
    ended = {"processing_status": "ended", "results_url": url}

    def told(page: dict[str, Any]) -> object:
        return {
            **page,
            "data": [b | (ended if b["id"] in api.gone else {}) for b in page["data"]],
        }

    api = LyingApi()
    api.faults["create"] = _queue("after")
    life = Life(api, tmp_path)
    api.change = told
    life.live(lambda: api.gone.add(api.others(5).id), life.ask(5))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    once(api)


def test_what_vanishes_is_not_handed_in_for_ever(tmp_path: Path) -> None:
    """A proxy that answers with a page of its own, and passes on what it was given."""
    api = LyingApi()
    api.faults["create"] = _queue(*["after"] * 100)
    api.change = lambda page: {**page, "data": []}
    life = Life(api, tmp_path)
    life.live(life.ask(5))
    assert len(api.handed_in) == 3
    (reason,) = reasons(life)
    assert "handed in 3 times without an answer, and never listed" in reason
    assert life.state.totals.in_doubt.output_tokens == 5 * 8_192


ODD: dict[str, Any] = {
    "usage": {"input_tokens": float("inf"), "output_tokens": 10**400},
    "content": ["x", None],
    "stop_reason": {"a": 1},
}


@pytest.mark.parametrize("field", ODD)
def test_a_result_that_makes_no_sense_ends_its_row_alone(
    tmp_path: Path, field: str
) -> None:
    api = LyingApi()

    names: list[str] = []
    life = Life(api, tmp_path)

    def first() -> None:
        (batch,) = api.handed_in
        names.extend(item.custom_id.rpartition("-")[0] for item in batch.items[:1])

    def of_the_first(line: dict[str, Any]) -> object:
        if line["custom_id"].rpartition("-")[0] in names:
            line["result"]["message"][field] = ODD[field]
        return line

    api.result = of_the_first
    life.live(life.ask(3), lambda: life.at(10.0, first))
    status = life.status()
    if field == "usage":
        assert set(status.values()) == {"done"}
        # Two are told, the third is about as long.
        useful = life.state.totals.useful
        assert useful.output_tokens > 40
        assert 200 < useful.input_tokens < 1_000
        assert "are estimates" in life.notes()
        return
    assert sorted(status.values()) == ["done", "done", "missing"]
    (reason,) = (r for r in reasons(life) if r)
    assert reason.startswith("in 3 batches: failed: what came is no answer")
    # Each of the three was paid for as far as anybody knows.
    assert life.state.totals.in_doubt.output_tokens == 3 * 8_192


def test_a_run_that_was_renamed_finds_its_batch(tmp_path: Path) -> None:
    """By the names that its requests were given, not by those they would have now."""
    for lost in (True, False):
        api = LyingApi()
        if lost:
            api.faults["create"] = _queue("after")
        life = Life(api, tmp_path)
        taken = "BatchPlanned" if lost else "BatchOpened"
        records = life.live(
            life.ask(5),
            kill_when=lambda: bool(api.handed_in) and life.journal_has(taken),  # noqa: B023
        )
        first = next(r for r in records if isinstance(r.event, LifeStarted))
        was = replace(first.event, run="another-name")
        for batch in api.handed_in:
            renamed(batch, first.event.run, "another-name", records)
        records = [replace(r, event=was) if r is first else r for r in records]
        again = Life(api, tmp_path, records)
        again.live(again.ask(5))
        assert set(again.status().values()) == {"done"}
        assert len(api.handed_in) == 1
        once(api)


def renamed(batch: Batch, now: str, was: str, records: list[Record]) -> None:
    """Have a batch's requests named as the run under its earlier name did."""
    calls = [r.event for r in records if isinstance(r.event, CallAdmitted)]
    names = {
        custom_id(now, call.row, call.call): custom_id(was, call.row, call.call)
        for call in calls
    }
    for item in batch.items:
        item.custom_id = names[item.custom_id]


def test_results_given_twice_count_once(tmp_path: Path) -> None:
    api = LyingApi()
    told: list[str] = []
    real = api.lines

    async def twice(path: str, take: Callable[[str], bool]) -> Any:
        def both(line: str) -> bool:
            told.append(line)
            return take(line) and take(line)

        return await real(path, both)

    api.lines = twice  # type: ignore[method-assign]
    life = Life(api, tmp_path)
    life.live(life.ask(3))
    assert set(life.status().values()) == {"done"}
    assert life.state.totals.useful == Usage(300, 60)
    once(api)
