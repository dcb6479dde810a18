"""Openings are counted before the first forecast, and never hold a run up."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import order
from core.engine.test_waves import Kept, Timed, told
from fanout.decide.forecast.outlook import Experience
from fanout.decide.forecast.sampling import MOST, chosen
from fanout.simulator.tokens import MESSAGE_TOKENS, block_tokens
from fanout.simulator.vocabulary import NEWER
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.ahead import OpeningsCounted
from fanout.words.commands import Stop
from fanout.words.events import CallAdmitted
from fanout.words.model import RowId, Usage
from fanout.words.outcome import Outcome
from fanout.world.spend.counting import SECONDS
from fanout.world.spend.planning import Planning

COUNTS = Planning(counts=True)
SAID = (
    "def area(width, height):\n    return width * height\n",
    '{"id": 7, "name": "blue lamp", "price": 12.5}\n',
    "She had not opened the letter that lay on the table for a week.\n",
    "0.731,0.1,44.25,17,0.0005\n",
)


def tokens_of(body: Mapping[str, Any]) -> int:
    (message,) = body["messages"]
    blocks = sum(block_tokens(block, NEWER) for block in message["content"])
    return MESSAGE_TOKENS + blocks


class Counter(ScriptedApi):
    """Counts as the simulated account does, or says what it is told to."""

    def __init__(self, *says: Any, takes: float = 0.1) -> None:
        super().__init__(self._answer)
        self.says: Sequence[Any] = says
        self.takes = takes
        self.counted: list[Mapping[str, Any]] = []

    def _answer(self, body: Mapping[str, Any], _: int) -> Outcome:
        return answered(usage=Usage(tokens_of(body), 400))

    async def plain(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float | None = None,
    ) -> tuple[int, dict[str, str], str]:
        assert (method, path, seconds) == ("post", "/v1/messages/count_tokens", SECONDS)
        assert body is not None
        assert not {"max_tokens", "stream"} & body.keys()
        number = len(self.counted)
        self.counted.append(body)
        await asyncio.sleep(self.takes)
        if self.says:
            status, text = self.says[min(number, len(self.says) - 1)]
            return status, {}, text
        return 200, {}, json.dumps({"input_tokens": tokens_of(body)})


def bench_of(api: ScriptedApi, folder: Path, rows: int = 40, **more: Any) -> Timed:
    bench = Timed(api, folder, **{"planning": COUNTS, **more})
    texts = [SAID[n % len(SAID)] * (20 + 5 * n) for n in range(rows)]
    bench.schedule(*(order(f"k{n:02}", inputs=text) for n, text in enumerate(texts)))
    bench.returns()
    return bench


def counts(bench: Timed) -> list[OpeningsCounted]:
    return [e for e in bench.journal.events if isinstance(e, OpeningsCounted)]


def used(bench: Timed) -> int:
    return sum(row.tally.useful.input_tokens for row in bench.state.rows.values())


def test_some_are_counted_before_anything_is_said_or_sent(tmp_path: Path) -> None:
    api = Counter()
    bench = bench_of(api, tmp_path)
    assert bench.run() == 0
    (counted,) = counts(bench)
    assert (len(counted.counts), counted.failed) == (MOST, "")
    (said,) = told(bench)
    assert f"calibrated on {MOST} first requests counted" in said.text
    kinds = [type(event) for event in bench.journal.events]
    order = [kinds.index(kind) for kind in (OpeningsCounted, type(said), CallAdmitted)]
    assert order == sorted(order)


def test_the_forecast_is_then_within_a_tenth(tmp_path: Path) -> None:
    bench = bench_of(Counter(), tmp_path)
    bench.run()
    expected = told(bench)[0].figures["tokens"]["input_tokens"]
    assert expected["low"] <= used(bench) <= expected["high"]
    assert abs(expected["expected"] / used(bench) - 1) <= 0.1


@pytest.mark.parametrize(
    ("says", "failed"),
    [
        ([(429, "{}")], "status 429"),
        ([(500, "oops")], "status 500"),
        ([(404, "{}")], "status 404"),
        ([(200, "<html>")], "the answer has no number of tokens"),
        ([(200, '{"input_tokens": "many"}')], "the answer has no number of tokens"),
        ([(200, '{"input_tokens": NaN}')], "the answer has no number of tokens"),
        ([(200, '{"input_tokens": -4}')], "the answer has no number of tokens"),
    ],
)
def test_a_refusal_ends_the_asking_and_the_run_goes_on(
    tmp_path: Path, says: list[Any], failed: str
) -> None:
    api = Counter(*says)
    bench = bench_of(api, tmp_path)
    assert bench.run() == 0
    assert counts(bench) == [OpeningsCounted(failed=failed)]
    assert len(api.counted) < 6
    assert f"uncalibrated ({failed})" in told(bench)[0].text


def test_what_was_counted_before_a_refusal_counts(tmp_path: Path) -> None:
    good = [(200, '{"input_tokens": 700}')] * 5
    bench = bench_of(Counter(*good, (429, "{}"), takes=0.001), tmp_path)
    assert bench.run() == 0
    (counted,) = counts(bench)
    assert (len(counted.counts), counted.failed) == (5, "status 429")


def test_an_account_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    bench = bench_of(Counter(takes=3_600.0), tmp_path)
    assert bench.run() == 0
    assert counts(bench)[0].failed == "no answer within 5 s"
    assert SECONDS <= min(bench.api.times) < SECONDS + 1


@pytest.mark.parametrize("planning", [Planning(counts=True, dry=True), Planning()])
def test_a_dry_run_counts_nothing(tmp_path: Path, planning: Planning) -> None:
    api = Counter()
    bench = bench_of(api, tmp_path, planning=planning)
    bench.run()
    assert not api.counted
    assert not counts(bench)
    assert "uncalibrated" in told(bench)[0].text


def test_a_small_run_is_not_worth_the_moment(tmp_path: Path) -> None:
    api = Counter()
    assert bench_of(api, tmp_path, rows=3).run() == 0
    assert not api.counted


def test_what_earlier_runs_have_learned_is_enough(tmp_path: Path) -> None:
    first = bench_of(Counter(), tmp_path)
    first.run()
    earlier = Kept()
    earlier.experience = Experience([first.core.outlook])
    api = Counter()
    again = bench_of(api, tmp_path, earlier=earlier)
    assert again.run() == 0
    assert not api.counted
    said = told(again)[0]
    assert "calibrated on 40 requests of earlier runs" in said.text
    expected = said.figures["tokens"]["input_tokens"]["expected"]
    assert abs(expected / used(again) - 1) <= 0.1


def test_a_run_that_is_stopped_meanwhile_stops(tmp_path: Path) -> None:
    bench = bench_of(Counter(takes=60.0), tmp_path)
    bench.at(1.0, lambda: bench.core.post(Stop("drain", "quit", "enough")))
    assert bench.run() == 130
    assert not bench.api.bodies
    assert bench.clock_at_end() < SECONDS + 2


def test_the_chosen_are_of_all_sizes_and_contents() -> None:
    openings = [
        (RowId("main", f"k{n}"), "claude-sonnet-5", (n % 7, *[1] * 14, 1 + n))
        for n in range(500)
    ]
    rows = chosen(openings)
    assert len(set(rows)) == len(rows) == MOST
    sizes = sorted(int(row.key[1:]) for row in rows)
    assert sizes[0] < 50
    assert sizes[-1] > 450
    assert {size % 7 for size in sizes} >= {0, 3, 6}
    assert chosen(openings[:5]) == [row for row, _, _ in openings[:5]]
    assert not chosen([(RowId("main", "old"), "claude-sonnet-5", ())])


def test_the_bodies_are_the_first_requests(tmp_path: Path) -> None:
    api = Counter()
    bench = bench_of(api, tmp_path)
    bench.run()
    sent = [json.dumps(body["messages"]) for body in api.bodies]
    assert all(json.dumps(body["messages"]) in sent for body in api.counted)
