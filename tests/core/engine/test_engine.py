"""The engine on virtual time: hours of run in milliseconds, no sleeping."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.engine.bench import Bench, order
from fanout.decide.ending import Tolerance
from fanout.testing.scripted_api import (
    ScriptedApi,
    answered,
    broken,
    refused,
    tool_use,
)
from fanout.words.budgets import Budget
from fanout.words.commands import (
    CancelRow,
    ChangeCeiling,
    Export,
    Pause,
    Requeue,
    Resume,
    SetCeiling,
    Stop,
)
from fanout.words.events import CallAdmitted, CallAnswered, Noted, RowDone
from fanout.words.model import MissingKind, RowId, Status, Usage
from fanout.words.snapshot import Snapshot
from fanout.words.tools import ToolResult
from fanout.world import messages as said


def prompt_of(body: Mapping[str, Any]) -> str:
    return str(body["messages"][0]["content"][-1]["text"])


class Echo:
    """A tool that says what it was given."""

    name = "echo"
    description = "say it"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=f"heard {arguments}", files_read={"/f": "00"})


def test_all_rows_end_done_and_their_values_reach_the_script(tmp_path: Path) -> None:
    api = ScriptedApi(lambda body, _: answered(f"done: {prompt_of(body)}"))
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.returns("fine")
    assert bench.run() == 0
    assert bench.state.counts.done == 40
    assert bench.ended[RowId("main", "k7")][0].value == "done: do k7"
    assert len(api.bodies) == 40


def test_an_agent_calls_tools_and_goes_on(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return tool_use("echo", {"n": number}) if number < 2 else answered("at last")

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", tools=(Echo(),)))
    bench.returns()
    assert bench.run() == 0
    last = api.bodies[-1]["messages"]
    assert [m["role"] for m in last] == ["user", "assistant"] * 2 + ["user"]
    assert last[2]["content"][0]["content"] == "heard {'n': 0}"
    row = bench.state.rows[RowId("main", "a")]
    assert row.tally.turns == 3
    assert row.tally.useful == Usage(300, 60)
    (done,) = [e for e in bench.journal.events if isinstance(e, RowDone)]
    assert done.files_read == {"/f": "00"}


def test_an_intent_is_journaled_before_anything_is_sent(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        admitted = [e for e in bench.journal.events if isinstance(e, CallAdmitted)]
        assert len(admitted) > number
        return answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(order("a"), order("b"))
    bench.returns()
    assert bench.run() == 0


def test_a_429_costs_a_wait_and_not_the_agent(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if number == 0:
            return refused(429, "rate_limit_error", retry_after=171.0)
        return answered()

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a"))
    bench.returns()
    assert bench.run() == 0
    assert api.times[1] - api.times[0] >= 171.0
    assert len(api.bodies) == 2
    row = bench.state.rows[RowId("main", "a")]
    assert (row.tally.attempts, row.tally.refusals_429) == (2, 1)


def test_a_wall_of_529_for_a_quarter_of_an_hour_ends_with_everything_done(
    tmp_path: Path,
) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if bench.clock.now() < 900:
            return refused(529, "overloaded_error", "Overloaded")
        return answered()

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.returns()
    assert bench.run() == 0
    assert bench.state.counts.done == 40
    assert bench.clock_at_end() < 920
    assert bench.state.totals.refusals_529 < 40 * 12


def test_a_rejected_request_is_missing_and_the_others_are_done(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if prompt_of(body) == "do bad":
            return refused(400, "invalid_request_error", "prompt is bad")
        return answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(order("good"), order("bad"))
    bench.returns()
    assert bench.run() == 3
    outcome = bench.ended[RowId("main", "bad")][0]
    assert outcome.kind is MissingKind.REJECTED
    assert "prompt is bad" in outcome.reason
    assert bench.state.counts.done == 1
    end = bench.end
    assert end is not None
    assert end.finish == "fanout-tui resume test-1"


def test_a_tolerance_of_no_phase_names_where_it_was_stated(tmp_path: Path) -> None:
    stated = Tolerance(by_phase={"audti": "1"}, said_in="allow-missing of fanout.toml")
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, tolerance=stated)
    bench.schedule(order("a"))
    bench.returns()
    assert bench.run() == 0
    said = [line.text for line in bench.core.shown.log]
    text = "allow-missing of fanout.toml names the phase audti, which there was not"
    assert text in said


def test_a_stated_tolerance_accepts_holes(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        bad = prompt_of(body) == "do bad"
        return refused(400, "invalid_request_error") if bad else answered()

    bench = Bench(ScriptedApi(reply), tmp_path, tolerance=Tolerance(overall="50%"))
    bench.schedule(order("good"), order("bad"))
    bench.returns()
    assert bench.run() == 0
    assert bench.state.end is not None
    assert (bench.state.end.complete, bench.state.end.accepted) == (False, True)


def test_a_refused_key_stops_the_run_at_once(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: refused(401, "authentication_error", "bad key"))
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(200)))
    assert bench.run() == 5
    assert len(api.bodies) < 20
    kinds = {o[0].kind for o in bench.ended.values()}
    assert kinds == {MissingKind.ACCOUNT}
    assert bench.cancelled


def test_what_does_not_fit_is_sent_back_in_the_same_conversation(
    tmp_path: Path,
) -> None:
    def check(data: bytes) -> Any:
        value = json.loads(data)
        if "n" not in value:
            raise ValueError("n is missing")
        return value

    def reply(body: Mapping[str, Any], number: int) -> Any:
        return answered('{"x": 1}' if number == 0 else '{"n": 2}')

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", schema={}, validate=check, output="a.json"))
    bench.returns()
    assert bench.run() == 0
    assert "n is missing" in json.dumps(api.bodies[1]["messages"][-1])
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 2}


def test_an_answer_that_never_fits_is_missing_and_kept(tmp_path: Path) -> None:
    def check(data: bytes) -> Any:
        raise ValueError("not that")

    api = ScriptedApi(lambda *_: answered("{}"))
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", schema={}, validate=check, output="a.json"))
    bench.returns()
    assert bench.run() == 3
    outcome = bench.ended[RowId("main", "a")][0]
    assert (outcome.kind, outcome.kept) == (MissingKind.INVALID, "{}")
    assert len(api.bodies) == 4
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (answered("", stop_reason="end_turn"), MissingKind.NO_OUTPUT),
        (answered("half", stop_reason="max_tokens"), MissingKind.TRUNCATED),
        (answered("no", stop_reason="refusal"), MissingKind.REFUSED),
        (tool_use("echo", {}), MissingKind.TRUNCATED),
    ],
    ids=["empty", "cut", "refused", "loops"],
)
def test_an_answer_that_is_none_is_never_done(
    tmp_path: Path, reply: Any, kind: MissingKind
) -> None:
    bench = Bench(ScriptedApi(lambda *_: reply), tmp_path)
    bench.schedule(order("a", tools=(Echo(),), max_turns=4))
    bench.returns()
    assert bench.run() == 3
    assert bench.ended[RowId("main", "a")][0].kind is kind


def test_a_cut_answer_is_asked_for_once_more_with_room_for_twice_as_much(
    tmp_path: Path,
) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if number == 0:
            return answered("half", stop_reason="max_tokens")
        return answered("whole")

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", max_tokens=100))
    bench.returns()
    assert bench.run() == 0
    assert [body["max_tokens"] for body in api.bodies] == [100, 200]
    assert len(api.bodies[1]["messages"]) == 1
    assert bench.ended[RowId("main", "a")][0].value == "whole"


def test_an_answer_cut_twice_is_truncated(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered("half", stop_reason="max_tokens"))
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", max_tokens=100))
    bench.returns()
    assert bench.run() == 3
    assert len(api.bodies) == 2
    outcome = bench.ended[RowId("main", "a")][0]
    assert (outcome.kind, outcome.kept) == (MissingKind.TRUNCATED, "half")
    assert outcome.reason == "the answer was cut at 100 tokens, and asked again at 200"


def test_a_cut_stream_counts_its_input_as_wasted(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return broken(usage=Usage(500, 7)) if number == 0 else answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(order("a", max_tokens=100))
    bench.returns()
    assert bench.run() == 0
    totals = bench.state.totals
    assert totals.wasted == Usage(500, 7)
    assert totals.in_doubt == Usage(0, 93)
    assert totals.useful == Usage(100, 20)


def test_pause_sends_nothing_and_kills_nothing(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=2.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(60)))
    bench.returns()

    def look() -> None:
        assert bench.api.in_flight == 0
        assert all(not 3.0 < t < 100.0 for t in api.times)
        bench.core.post(Resume())

    def prepare() -> None:
        bench.at(3.0, lambda: bench.core.post(Pause()))
        bench.at(100.0, look)

    assert bench.run(prepare) == 0
    assert bench.state.counts.done == 60


def test_the_users_ceiling_holds_at_admission(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    bench.core.post(SetCeiling(3))
    bench.schedule(*(order(f"k{n}") for n in range(50)))
    bench.returns()
    assert bench.run() == 0
    assert api.peak == 3


def test_raising_the_ceiling_by_key_changes_the_figure_that_holds(
    tmp_path: Path,
) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    bench.core.post(SetCeiling(3))
    bench.core.post(ChangeCeiling(-1))
    bench.core.post(ChangeCeiling(-5))
    bench.schedule(*(order(f"k{n}") for n in range(20)))
    bench.returns()
    assert bench.run() == 0
    assert api.peak == 1


def test_a_raised_ceiling_holds_at_once_and_presses_add_up(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=20.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(200)))
    bench.returns()
    figures: list[int] = []

    def press() -> None:
        bench.core.post(ChangeCeiling(5))

    def prepare() -> None:
        limit = bench.core.account.ceiling_view
        bench.at(12.0, lambda: figures.append(limit().limit))
        for second in (12.1, 12.2, 12.3):
            bench.at(second, press)
        bench.at(12.5, lambda: figures.append(limit().limit))

    assert bench.run(prepare) == 0
    before, after = figures
    assert after == before + 15


def test_a_missing_row_is_requeued_and_whoever_waits_gets_it(tmp_path: Path) -> None:
    broken_until = 30.0

    def reply(body: Mapping[str, Any], number: int) -> Any:
        if prompt_of(body) == "do bad" and bench.clock.now() < broken_until:
            return refused(400, "invalid_request_error")
        return answered("late")

    bench = Bench(ScriptedApi(reply, seconds=10.0), tmp_path, linger=True)
    bench.schedule(order("good"), order("bad"))
    bench.returns()
    shown = []

    def prepare() -> None:
        bench.at(40.0, lambda: bench.core.post(Requeue()))
        for second in (39.0, 45.0, 59.0):
            bench.at(second, lambda: shown.append(bench.engine.publisher.build()))
        bench.at(60.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 0
    # While it runs again it has not ended, and says so.
    assert [(s.state, s.end and s.end.exit_code) for s in shown] == [
        ("finished", 3),
        ("running", None),
        ("finished", 0),
    ]
    bad = RowId("main", "bad")
    assert bench.reopened == [bad]
    assert [o.done for o in bench.ended[bad]] == [False, True]
    assert bench.state.counts.done == 2


def test_each_end_is_kept_once_while_somebody_still_looks(tmp_path: Path) -> None:
    """Also a second one; what cannot be kept is a line of the log."""
    kept: list[tuple[float, int, int]] = []

    def reply(*_: object) -> Any:
        late = bench.clock.now() > 30.0
        return answered() if late else refused(400, "invalid_request_error")

    def keep(snapshot: Snapshot) -> list[str]:
        assert snapshot.end is not None
        moment = bench.clock.now(), snapshot.end.exit_code, snapshot.counts.done
        kept.append(moment)
        return ["cannot write r.md"]

    api = ScriptedApi(reply, seconds=10.0)
    bench = Bench(api, tmp_path, linger=True, keep=keep)
    bench.schedule(order("a"))
    bench.returns()

    def prepare() -> None:
        bench.at(40.0, lambda: bench.core.post(Requeue()))
        bench.at(900.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 0
    assert [(int(at), code, done) for at, code, done in kept] == [
        (5, 3, 0),
        (50, 0, 1),
    ]
    log = [line.text for line in bench.core.shown.newest(0)]
    assert log.count("cannot write r.md") == 2


def test_cancelling_a_row_gives_its_call_up_and_says_what_is_in_doubt(
    tmp_path: Path,
) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=10.0), tmp_path)
    bench.schedule(order("a"))
    bench.returns()
    row = RowId("main", "a")
    assert (
        bench.run(lambda: bench.at(2.0, lambda: bench.core.post(CancelRow(row)))) == 3
    )
    assert bench.ended[row][0].kind is MissingKind.CANCELLED
    assert bench.state.totals.in_doubt.output_tokens > 0


def test_drain_lets_what_flies_finish_and_starts_nothing(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=10.0)
    bench = Bench(api, tmp_path)
    bench.core.post(SetCeiling(4))
    bench.schedule(*(order(f"k{n}") for n in range(20)))

    def prepare() -> None:
        bench.at(15.0, lambda: bench.core.post(Stop("drain", "SIGINT")))

    assert bench.run(prepare) == 130
    assert all(t <= 15.0 for t in api.times)
    assert bench.state.counts.done == len(api.bodies)
    kinds = {o[-1].kind for o in bench.ended.values() if not o[-1].done}
    assert kinds == {MissingKind.STOPPED}
    assert bench.cancelled == ["interrupted (SIGINT)"]
    said = {o[-1].reason for o in bench.ended.values() if not o[-1].done}
    assert said == {"interrupted (SIGINT)"}


def test_a_second_stop_is_at_once(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=100.0), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(5)))

    def prepare() -> None:
        bench.at(2.0, lambda: bench.core.post(Stop("drain", "SIGINT")))
        bench.at(3.0, lambda: bench.core.post(Stop("now", "SIGINT")))

    assert bench.run(prepare) == 130
    assert bench.clock_at_end() < 4.0


def test_rows_the_script_left_behind_are_missing_with_its_error(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=5.0), tmp_path)
    bench.core.post(SetCeiling(1))
    bench.port.expect((RowId("later", "x"),))
    bench.schedule(order("a"), order("b"))

    def prepare() -> None:
        fell = said.ScriptCame(outcome="raised", text="ValueError: no")
        bench.at(2.0, lambda: bench.core.post(fell))

    assert bench.run(prepare) == 1
    assert bench.status() == {
        "later/x": "missing",
        "main/a": "done",
        "main/b": "missing",
    }
    end = bench.state.rows[RowId("main", "b")].end
    assert end is not None
    assert end.kind is MissingKind.SCRIPT
    assert "ValueError: no" in end.reason


def test_what_was_expected_and_never_started_is_missing(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    bench.port.expect((RowId("main", "ghost"),))
    bench.schedule(order("a"))
    bench.returns()
    assert bench.run() == 3
    end = bench.state.rows[RowId("main", "ghost")].end
    assert end is not None
    assert end.kind is MissingKind.NEVER_STARTED


def test_an_agent_given_a_hole_spends_nothing(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", upstream="its input main/x is missing"))
    bench.returns()
    assert bench.run() == 3
    assert api.bodies == []
    assert bench.ended[RowId("main", "a")][0].kind is MissingKind.UPSTREAM


def test_a_budget_stops_before_it_is_passed(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(usage=Usage(100, 50)))
    bench = Bench(api, tmp_path, budget=Budget(tokens=2_000))
    bench.core.post(SetCeiling(2))
    text = "word " * 80
    bench.schedule(*(order(f"k{n}", inputs=text, max_tokens=50) for n in range(100)))
    assert bench.run() == 4
    spent = bench.state.totals.useful + bench.state.totals.wasted
    assert 1_500 < spent.total <= 2_000
    kinds = {o[-1].kind for o in bench.ended.values() if not o[-1].done}
    assert kinds == {MissingKind.BUDGET}


def test_a_full_disk_holds_the_run_and_loses_nothing(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    bench.core.post(SetCeiling(2))
    bench.schedule(*(order(f"k{n}") for n in range(20)))
    bench.returns()

    def fails() -> None:
        bench.journal.failing = OSError(28, "No space left on device")
        bench.journal._on_error = lambda e: bench.core.post(said.DiskFailed(str(e)))
        bench.journal._on_commit = lambda _: bench.core.post(said.Committed())

    def mends() -> None:
        bench.journal.failing = None

    def prepare() -> None:
        bench.at(3.2, fails)
        bench.at(500.0, mends)

    assert bench.run(prepare) == 0
    assert bench.state.counts.done == 20
    assert len(api.bodies) == 20
    assert not [t for t in api.times if 6.0 < t < 500.0]
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert any("No space left" in text for text in notes)


def test_the_report_can_be_written_at_any_time(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=5.0), tmp_path)
    bench.engine._export = lambda snapshot, paths: [f"{snapshot.counts.running}"]
    bench.schedule(order("a"))
    bench.returns()

    def prepare() -> None:
        bench.at(2.0, lambda: bench.core.post(Export(("r.md",))))

    assert bench.run(prepare) == 0
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert "1" in notes


def test_no_answer_is_asked_for_twice(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(10)))
    bench.returns()
    bench.run()
    answers = [e for e in bench.journal.events if isinstance(e, CallAnswered)]
    assert len(answers) == len(api.bodies) == 10
    assert all(r.status is Status.DONE for r in bench.state.rows.values())


def test_a_late_result_makes_stale_what_was_made_without_it(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if prompt_of(body) == "do late" and bench.clock.now() < 30:
            return refused(400, "invalid_request_error")
        return answered()

    bench = Bench(ScriptedApi(reply), tmp_path, linger=True)
    late, summary = RowId("main", "late"), RowId("main", "summary")
    bench.schedule(order("late"), order("other"))

    def goes_on() -> None:
        bench.schedule(
            order("summary", sources=(late, RowId("main", "other")), holes=(late,)),
        )

    def once_more() -> None:
        bench.schedule(order("slides", sources=(summary,)))
        bench.returns()

    def prepare() -> None:
        bench.at(10.0, goes_on)
        bench.at(20.0, once_more)
        bench.at(40.0, lambda: bench.core.post(Requeue((late,))))
        bench.at(60.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 3
    assert bench.status() == {
        "main/late": "done",
        "main/other": "done",
        "main/summary": "missing",
        "main/slides": "missing",
    }
    end = bench.state.rows[summary].end
    assert end is not None
    assert (end.kind, end.reason) == (MissingKind.STALE, "made without main/late")


def test_a_phase_that_falls_short_stops_the_run_before_the_next_spends(
    tmp_path: Path,
) -> None:
    api = ScriptedApi(lambda *_: refused(400, "invalid_request_error"))
    bench = Bench(api, tmp_path)
    bench.port.enter_phase("q", "1")
    bench.schedule(*(order(f"k{n}", "q") for n in range(3)))

    def prepare() -> None:
        bench.at(10.0, lambda: bench.schedule(order("next", "later")))

    assert bench.run(prepare) == 3
    assert len(api.bodies) == 3
    assert bench.state.stop is not None
    assert bench.state.stop.reason == "phase q fell short: 3 of 3 missing, 1 allowed"
    end = bench.state.rows[RowId("later", "next")].end
    assert end is not None
    assert end.kind is MissingKind.STOPPED


def test_without_a_stated_tolerance_the_next_phase_goes_on(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        bad = prompt_of(body) != "do next"
        return refused(400, "invalid_request_error") if bad else answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(*(order(f"k{n}", "q") for n in range(3)))

    def prepare() -> None:
        bench.at(10.0, lambda: bench.schedule(order("next", "later")))
        bench.at(11.0, bench.returns)

    assert bench.run(prepare) == 3
    assert bench.state.rows[RowId("later", "next")].status is Status.DONE


@pytest.mark.parametrize(
    ("system", "waits"), [("the same guidance for all. " * 400, True), ("brief", False)]
)
def test_one_agent_warms_a_prefix_worth_caching_and_the_rest_follow(
    tmp_path: Path, *, system: str, waits: bool
) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=10.0)
    bench = Bench(api, tmp_path)
    bench.schedule(order("learns the limits"))

    def prepare() -> None:
        rows = [order(f"k{n}", "later", system=system) for n in range(6)]
        bench.at(30.0, lambda: bench.schedule(*rows))
        bench.at(31.0, bench.returns)

    assert bench.run(prepare) == 0
    first, *rest = api.times[1:]
    began = first + 5.0
    assert all((t >= began) is waits for t in rest)


def test_an_input_too_large_for_the_model_is_not_sent(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered())
    bench = Bench(api, tmp_path)
    text = "word " * 200_000
    bench.schedule(order("a", inputs=text, model="claude-haiku-4-5"), order("b"))
    bench.returns()
    assert bench.run() == 3
    assert len(api.bodies) == 1
    outcome = bench.ended[RowId("main", "a")][0]
    assert outcome.kind is MissingKind.REJECTED
    assert "claude-haiku-4-5 reads 200,000" in outcome.reason
