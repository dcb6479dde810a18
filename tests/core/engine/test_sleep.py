"""A machine that sleeps, a wall clock that is set: nothing fails because of it."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered, refused
from fanout.words.events import CallRefused, Noted
from fanout.words.model import Cause, Status
from fanout.world import messages as said
from fanout.world.sleep import watch_sleep
from figures import record_figure

HOUR = 3600.0


def watching(bench: Bench) -> Callable[[], None]:
    """As a life does: compare the clocks once a second."""

    def begin() -> None:
        watch = watch_sleep(bench.clock, lambda s: bench.core.post(said.Woke(s)))
        bench.watch = asyncio.create_task(watch)  # type: ignore[attr-defined]

    return begin


@pytest.mark.parametrize("at", [0.2, 3.4, 7.7, 12.0, 17.0])
def test_a_night_asleep_fails_no_row(tmp_path: Path, at: float) -> None:
    """Whatever state rows are in: sent, streaming, throttled, in trouble."""

    def reply(_: Mapping[str, Any], number: int) -> Any:
        if 6 <= number < 12:
            return refused(429, "rate_limit_error", retry_after=20.0)
        if 12 <= number < 15:
            return refused(529, "overloaded_error")
        return answered()

    api = ScriptedApi(reply, seconds=3.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.returns()
    flying: list[int] = []

    def night() -> None:
        flying.append(api.in_flight)
        bench.clock.sleep(8 * HOUR)

    assert bench.run(watching(bench), lambda: bench.at(at, night)) == 0
    state = bench.state
    assert (state.counts.done, state.counts.missing) == (40, 0)
    cut = [
        e
        for e in bench.journal.events
        if isinstance(e, CallRefused) and e.cause == Cause.SLEPT.value
    ]
    assert len(cut) == flying[0]
    assert all(e.message == "the machine slept for 8 h" for e in cut)
    assert api.renewed == 1
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert any("slept for 8 h: connections are opened anew" in text for text in notes)
    assert not bench.core.account.breaker.open
    record_figure(
        "a night asleep", "0 rows failed in 8 h", "0 failed, whatever they did"
    )


def test_a_limit_is_over_when_one_wakes(tmp_path: Path) -> None:
    """`retry-after` and buckets go by the clock that goes on asleep."""

    def reply(_: Mapping[str, Any], number: int) -> Any:
        if number == 0:
            return refused(429, "rate_limit_error", retry_after=3 * HOUR)
        return answered()

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a"))
    bench.returns()
    sleep = lambda: bench.clock.sleep(4 * HOUR)  # noqa: E731
    assert bench.run(watching(bench), lambda: bench.at(10.0, sleep)) == 0
    assert api.times[1] == pytest.approx(11.0, abs=1.5)


def test_trouble_is_not_older_by_the_hours_slept(tmp_path: Path) -> None:
    """An hour of 529 ends a row; a night's sleep in the middle of ten minutes does not."""

    def reply(*_: Any) -> Any:
        away = asyncio.get_running_loop().time() < 600
        return refused(529, "overloaded_error") if away else answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(12)))
    bench.returns()
    night = lambda: bench.clock.sleep(8 * HOUR)  # noqa: E731
    assert bench.run(watching(bench), lambda: bench.at(300.0, night)) == 0
    assert bench.state.counts.done == 12


def test_a_short_stop_cuts_nothing(tmp_path: Path) -> None:
    """`SIGSTOP` stops both clocks' reader and neither clock; a blink is no sleep."""
    api = ScriptedApi(lambda *_: answered(), seconds=30.0)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a"))
    bench.returns()
    blink = lambda: bench.clock.sleep(4.0)  # noqa: E731
    assert bench.run(watching(bench), lambda: bench.at(5.0, blink)) == 0
    assert api.renewed == 0
    assert len(api.times) == 1


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_wall_clock_that_is_set_changes_nothing_but_what_is_shown(
    tmp_path: Path, step: float
) -> None:
    def one(seconds: float | None) -> tuple[list[float], list[str]]:
        def reply(_: Mapping[str, Any], number: int) -> Any:
            if number % 5 == 3:
                return refused(429, "rate_limit_error", retry_after=7.0)
            return answered()

        api = ScriptedApi(reply)
        bench = Bench(api, tmp_path / str(seconds))
        bench.schedule(*(order(f"k{n}") for n in range(30)))
        bench.returns()

        def set_it() -> None:
            if seconds is not None:
                bench.clock.step(seconds)

        assert bench.run(watching(bench), lambda: bench.at(4.2, set_it)) == 0
        assert {r.status for r in bench.state.rows.values()} == {Status.DONE}
        assert api.renewed == 0
        return api.times, [type(e).__name__ for e in bench.journal.events]

    assert one(None) == one(step)
    record_figure(
        "wall clock set by an hour, both ways",
        "nothing but the display changes",
        "every call at the same moment as without",
    )
