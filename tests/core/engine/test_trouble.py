"""A whole engine while the service is away, and while a person holds the run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered, refused
from fanout.words.commands import Pause, Resume, Stop
from fanout.words.events import CallAbandoned, Noted
from fanout.words.model import Cause, MissingKind, RowId, Usage

OVERLOADED = refused(529, "overloaded_error", "Overloaded")


def away_until(second: float, folder: Path, rows: int) -> tuple[Bench, ScriptedApi]:
    """A service that answers 529 until then."""

    def reply(_body: Mapping[str, Any], _number: int) -> Any:
        return OVERLOADED if bench.clock.now() < second else answered()

    api = ScriptedApi(reply)
    bench = Bench(api, folder)
    bench.schedule(*(order(f"k{n}") for n in range(rows)))
    bench.returns()
    return bench, api


@pytest.mark.parametrize("rows", [1, 2, 40])
@pytest.mark.parametrize("wall", [20.0, 900.0])
def test_a_wall_is_left_within_seconds_of_its_end(
    tmp_path: Path, rows: int, wall: float
) -> None:
    """However few rows there are to ask with."""
    bench, api = away_until(wall, tmp_path, rows)
    assert bench.run() == 0
    assert bench.state.counts.done == rows
    after = min(t for t in api.times if t >= wall)
    assert after - wall <= 6.0
    assert bench.clock_at_end() - wall <= 6.0 + 2.0 * rows / 8 + 4.0
    gaps = [b - a for a, b in zip(api.times, api.times[1:], strict=False)]
    assert max(gaps) <= 6.5


def test_an_hour_of_nothing_ends_all_rows_and_says_why(tmp_path: Path) -> None:
    bench, api = away_until(10**9, tmp_path, 30)
    assert bench.run() != 0
    assert 3_600 <= bench.clock_at_end() <= 3_620
    rows = bench.state.rows.values()
    for row in rows:
        assert row.end is not None
        assert row.end.kind is MissingKind.TIMEOUT
        assert "529" in row.end.reason
        assert "the service was away for 36" in row.end.reason
    assert len(api.times) < 1_000


def test_a_pause_is_no_time_that_the_service_was_away(tmp_path: Path) -> None:
    """Two hours of pause in a wall of which little was waited for."""
    bench, api = away_until(8_000.0, tmp_path, 5)

    def prepare() -> None:
        bench.at(300.0, lambda: bench.core.post(Pause()))
        bench.at(7_500.0, lambda: bench.core.post(Resume()))

    assert bench.run(prepare) == 0
    assert bench.state.counts.done == 5
    assert not [t for t in api.times if 301 < t < 7_500]


def test_a_long_limit_is_no_time_that_the_service_was_away(tmp_path: Path) -> None:
    """A 529, then 70 minutes of `retry-after`, then another 529."""
    limited = refused(429, "rate_limit_error", "no", retry_after=4_200.0)
    replies = [OVERLOADED, limited, OVERLOADED, answered()]
    api = ScriptedApi(lambda _, number: replies[number])
    bench = Bench(api, tmp_path)
    bench.schedule(order("a"))
    bench.returns()
    assert bench.run() == 0
    notes = [
        r.event.text for r in bench.journal.records() if isinstance(r.event, Noted)
    ]
    assert [text for text in notes if "waits 70 min (retry-after 4200 s)" in text]


def when_some_are_unsent(bench: Bench, act: Callable[[], None]) -> None:
    """Do something at the first moment with admitted calls that are not sent yet."""

    def look() -> None:
        pools = bench.core.account.pools.values()
        if sum(pool.unsent[0] for pool in pools) >= 5:
            act()
        else:
            bench.at(bench.clock.now() + 0.01, look)

    look()


def test_what_was_admitted_and_not_sent_waits_out_a_pause(tmp_path: Path) -> None:
    """Starts are spaced: a pause must not let two seconds' worth still go out."""
    api = ScriptedApi(lambda *_: answered(), seconds=3.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(60)))
    bench.returns()
    paused: list[float] = []
    flying: list[int] = []

    def pause() -> None:
        paused.append(bench.clock.now())
        bench.core.post(Pause())
        bench.at(paused[0] + 90.0, look)

    def look() -> None:
        books = bench.core.account
        flying.append(books.in_flight)
        gates = bench.core.decision.gates.values()
        assert {block.cause for block in gates} == {Cause.PAUSED}
        assert sum(len(books.waiting(pool)) for pool in books.pools) >= 5
        bench.core.post(Resume())

    assert bench.run(lambda: when_some_are_unsent(bench, pause)) == 0
    assert flying == [0]
    since = paused[0]
    assert not [t for t in api.times if since + 0.001 < t < since + 90.0]
    assert bench.state.counts.done == 60
    assert len(api.times) == 60
    totals = bench.state.totals
    assert (totals.wasted, totals.in_doubt) == (Usage(), Usage())
    back = [r for r in bench.journal.records() if isinstance(r.event, CallAbandoned)]
    assert len(back) >= 5
    assert {r.event.reason for r in back} == {"paused before it was sent"}


def test_a_stop_in_a_pause_ends_what_was_taken_back(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=3.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(60)))
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(bench.clock.now())
        bench.core.post(Pause())
        bench.core.post(Stop("drain", "SIGINT"))

    assert bench.run(lambda: when_some_are_unsent(bench, stop)) == 130
    assert not [t for t in api.times if t > stopped[0] + 0.001]
    ends = [row.end for row in bench.state.rows.values() if row.end is not None]
    assert len(ends) == 60
    assert {end.kind for end in ends if end.kind} == {MissingKind.STOPPED}


def test_a_row_that_was_unlucky_waits_little_while_others_are_answered(
    tmp_path: Path,
) -> None:
    """One call in ten fails: some row fails three times in a row, and soon goes on."""

    def reply(body: Mapping[str, Any], _number: int) -> Any:
        unlucky = "do unlucky" in str(body["messages"]) and bench.clock.now() < 6.0
        return OVERLOADED if unlucky else answered()

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("unlucky"), *(order(f"k{n}") for n in range(400)))
    bench.returns()
    assert bench.run() == 0
    row = bench.state.rows[RowId("main", "unlucky")]
    assert row.tally.refusals_529 >= 3
    assert bench.clock_at_end() <= 6.0 + 2.0 + 2.0
