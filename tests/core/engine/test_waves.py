"""Waves: what a run will take is said before the first call, and why."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.engine.bench import Bench, order
from fanout.decide.forecast.outlook import Experience
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.ahead import Forecasted, RunsAgain
from fanout.words.commands import CancelRow
from fanout.words.events import (
    CallAdmitted,
    RowDone,
)
from fanout.words.model import MissingKind, RowId
from fanout.world import messages as said
from fanout.world.spend.planning import Script


class Kept:
    """Earlier work: a result for each of some keys, and a reason for others."""

    def __init__(self, *keys: str, again: str = "", results: int | None = None) -> None:
        self.keys = set(keys)
        self.why = again
        count = len(keys) if results is None else results
        self.held = {"main": count} if count else {}
        self.elsewhere: dict[str, int] = {}
        self.experience = Experience()

    def take(self, fingerprint: str, key: str) -> Any:
        if key not in self.keys:
            return None
        self.keys.remove(key)
        return Result()

    def partial(self, fingerprint: str, key: str) -> Any:
        return None

    def again(self, row: RowId, fingerprint: str, opening: Any) -> str:
        return self.why


class Result:
    run = "before"
    files_read: ClassVar[dict[str, str]] = {}
    files_written: ClassVar[dict[str, str]] = {}
    sha256 = None
    size = None

    def load_value(self) -> str:
        return "kept"


def api() -> ScriptedApi:
    return ScriptedApi(lambda *_: answered())


class Timed(Bench):
    """A bench that is told before it runs what happens when."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.later: list[tuple[float, Any]] = []

    def at(self, seconds: float, act: Any) -> None:
        self.later.append((seconds, act))

    def run(self, *prepare: Any, limit: float = 36_000.0) -> int:
        def begin() -> None:
            for seconds, act in self.later:
                super(Timed, self).at(seconds, act)

        return super().run(begin, *prepare, limit=limit)


def told(bench: Bench) -> list[Forecasted]:
    return [e for e in bench.journal.events if isinstance(e, Forecasted)]


def test_it_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, earlier=Kept("k0", "k1", "k2"))
    bench.schedule(*(order(f"k{n}") for n in range(5)))
    bench.returns()
    bench.run()
    (first,) = told(bench)
    assert first.text.startswith("reuses 3, will run 2, about ")
    assert (first.reused, first.figures["agents"]) == (3, 2)
    kinds = [type(event) for event in bench.journal.events]
    assert kinds.index(Forecasted) < kinds.index(CallAdmitted)


def test_why_a_row_runs_again_is_kept_for_the_report(tmp_path: Path) -> None:
    earlier = Kept("k0", again="its inputs changed")
    bench = Timed(api(), tmp_path, earlier=earlier)
    bench.schedule(order("k0"), order("k1"))
    bench.returns()
    bench.run()
    assert bench.state.again == {RowId("main", "k1"): "its inputs changed"}
    assert RunsAgain(row=RowId("main", "k1"), why="its inputs changed") in (
        bench.journal.events
    )
    assert told(bench)[0].again == {"its inputs changed": 1}
    assert told(bench)[0].text.endswith("1 because its inputs changed")


def test_nothing_reused_of_a_run_that_holds_much_is_a_warning(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, earlier=Kept(again="its prompt changed", results=96))
    bench.schedule(order("k0"))
    bench.returns()
    bench.run()
    (first,) = told(bench)
    assert first.warns
    assert "NOTHING IS REUSED of the 96 results" in first.text
    levels = [line.level for line in bench.core.shown.log if line.text == first.text]
    assert levels == ["warning"]


def test_results_of_phases_that_are_still_to_come_are_no_loss(tmp_path: Path) -> None:
    earlier = Kept("sum")
    earlier.held = {"summary": 1}
    bench = Timed(api(), tmp_path, earlier=earlier)
    bench.schedule(order("k0"))
    bench.at(5.0, lambda: bench.schedule(order("sum", "summary")))
    bench.at(9.0, bench.returns)
    bench.run()
    first, second = told(bench)
    assert first.text.endswith("1 new: no earlier row has its key")
    assert not first.warns
    assert second.text.startswith("reuses 1 more")


def test_earlier_work_on_another_account_is_named(tmp_path: Path) -> None:
    earlier = Kept()
    earlier.elsewhere = {"simulated:demo": 2}
    bench = Timed(api(), tmp_path, earlier=earlier)
    bench.schedule(order("k0"))
    bench.returns()
    bench.run()
    (first,) = told(bench)
    assert "; 2 earlier runs on simulated:demo: of another account" in first.text


def test_all_reused_is_said_too(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path, earlier=Kept("k0", "k1"))
    bench.schedule(order("k0"), order("k1"))
    bench.returns()
    assert bench.run() == 0
    assert [f.text for f in told(bench)] == ["reuses 2, nothing else to run so far"]
    assert not bench.api.bodies


def test_later_waves_add_up(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(4)))
    bench.at(5, lambda: bench.schedule(order("sum", "summary")))
    bench.at(6, bench.returns)
    bench.run()
    first, second = told(bench)
    assert "will run 1 more in summary" in second.text
    assert first.figures["agents"] == 4
    assert second.figures["agents"] == 5
    assert (
        second.figures["tokens"]["total"]["expected"]
        > (first.figures["tokens"]["total"]["expected"])
    )
    assert bench.state.forecast == second


def test_rows_that_trickle_in_are_said_together(tmp_path: Path) -> None:
    bench = Timed(api(), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(60)))
    for n in range(60, 64):
        bench.at(5 + n, lambda n=n: bench.schedule(order(f"k{n}")))  # type: ignore[misc]
    bench.at(90, bench.returns)
    bench.run()
    _, last = told(bench)
    assert "will run 4 more in main" in last.text
    assert last.figures["agents"] == 64


class Asked(Timed):
    """A bench whose script says by hand that it waits."""

    def __init__(self, tmp_path: Path, patience: float = 60.0, **more: Any) -> None:
        self.questions: list[int] = []
        script = Script(ask_quiet=self.questions.append, patience=patience)
        super().__init__(api(), tmp_path, script=script, **more)

    def quiet(self) -> None:
        self.core.post(said.Quiet(self.questions[-1]))


def test_a_wave_is_all_that_comes_until_the_script_waits(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    bench.schedule(order("a"))
    bench.at(1, lambda: bench.schedule(order("b")))
    bench.at(2, lambda: bench.api.bodies or bench.quiet())
    bench.at(10, bench.returns)
    bench.run()
    assert bench.api.times[0] == pytest.approx(2, abs=1e-3)
    assert [f.figures["agents"] for f in told(bench)] == [2]


def test_an_answer_to_an_older_question_does_not_count(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    bench.schedule(order("a"))
    bench.at(1, lambda: bench.schedule(order("b")))
    bench.at(2, lambda: bench.core.post(said.Quiet(bench.questions[0])))
    bench.at(5, bench.quiet)
    bench.at(10, bench.returns)
    bench.run()
    assert bench.api.times[0] == pytest.approx(5, abs=1e-3)


def test_a_script_that_computes_on_is_not_waited_for(tmp_path: Path) -> None:
    bench = Asked(tmp_path, patience=0.5)
    bench.schedule(order("a"))
    bench.at(10, bench.returns)
    bench.run()
    assert bench.api.times == [pytest.approx(0.5, abs=1e-3)]


def test_one_that_asks_for_ever_more_cannot_starve_its_first(tmp_path: Path) -> None:
    bench = Asked(tmp_path, patience=0.5)
    for n in range(100):
        bench.at(n * 0.3, lambda n=n: bench.schedule(order(f"k{n}")))  # type: ignore[misc]
    bench.at(60, bench.returns)
    bench.run()
    assert bench.api.times[0] == pytest.approx(2.5, abs=1e-3)
    assert bench.state.counts.done == 100


def test_the_script_hears_of_what_is_reused_before_the_rest_is_a_wave(
    tmp_path: Path,
) -> None:
    bench = Asked(tmp_path, earlier=Kept("a"))
    bench.schedule(order("a"), order("b"))
    bench.at(1, bench.quiet)
    bench.at(5, bench.returns)
    bench.run()
    kinds = [type(event) for event in bench.journal.events]
    assert kinds.index(RowDone) < kinds.index(Forecasted) < kinds.index(CallAdmitted)
    assert bench.ended[RowId("main", "a")][0].reused


def test_a_row_that_is_cancelled_on_its_way_is_not_sent(tmp_path: Path) -> None:
    bench = Asked(tmp_path)
    bench.schedule(order("a"), order("b"))
    bench.at(1, lambda: bench.core.post(CancelRow(RowId("main", "a"))))
    bench.at(2, bench.quiet)
    bench.at(5, bench.returns)
    assert bench.run() == 3
    assert len(bench.api.bodies) == 1
    end = bench.state.rows[RowId("main", "a")].end
    assert end is not None
    assert end.kind is MissingKind.CANCELLED
    assert told(bench)[0].figures["agents"] == 1
