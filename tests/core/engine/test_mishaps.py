"""One test for each thing that once went wrong, or nearly did."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from core.engine.bench import INFO, Bench, order
from core.engine.simulated_disk import DelayedJournal
from fanout.disk.reuse import Reuse
from fanout.files.tools import write_output
from fanout.testing.memory_journal import MemoryJournal, harvest_of
from fanout.testing.scripted_api import (
    ScriptedApi,
    answered,
    broken,
    refused,
    tool_use,
)
from fanout.words.budgets import Budget
from fanout.words.commands import CancelRow, Note, Requeue, SetCeiling, Stop
from fanout.words.events import CallAdmitted, Record, TurnsKept
from fanout.words.model import Cause, MissingKind, RowId, Status, Usage
from fanout.words.orders import ClientOrder, ClientReply
from fanout.words.tools import ToolResult
from fanout.world import messages as said

A = RowId("main", "a")


class Tool:
    """A tool that takes `seconds`."""

    name = "wait"
    description = "waits"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = ""

    def __init__(self, seconds: float, content: Any = "done") -> None:
        self.seconds = seconds
        self.content = content

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        await asyncio.sleep(self.seconds)
        return ToolResult(content=self.content)


def earlier(bench: Bench) -> Reuse:
    reuse = Reuse()
    reuse.add([harvest_of(INFO.id, bench.journal.records())])
    return reuse


def again(first: Bench, api: ScriptedApi, folder: Path) -> Bench:
    """A new run of the same script, with what the first one has left."""
    return Bench(api, folder, earlier=earlier(first))


def request(row: RowId | None = None, text: str = "hi", **more: Any) -> ClientOrder:
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
    }
    return ClientOrder(
        row=row, phase="main", path="/v1/messages", headers={}, body=body, **more
    )


# -- rows that ended before something came for them ------------------------------


def test_a_row_cancelled_before_it_was_asked_for_can_be_requeued(
    tmp_path: Path,
) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, linger=True)
    bench.port.expect((A,))
    bench.core.post(CancelRow(A))
    bench.schedule(order("a"))
    bench.returns()

    def prepare() -> None:
        bench.at(5.0, lambda: bench.core.post(Requeue((A,))))
        bench.at(15.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 0
    assert [o.kind for o in bench.ended[A]] == [MissingKind.CANCELLED, None]


def test_tools_of_a_cancelled_row_do_not_come_back_into_its_next_try(
    tmp_path: Path,
) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return tool_use("wait", {}) if len(body["messages"]) == 1 else answered()

    bench = Bench(ScriptedApi(reply, seconds=2.0), tmp_path)
    bench.schedule(order("a", tools=(Tool(10.0),)))
    bench.returns()

    def prepare() -> None:
        bench.at(4.0, lambda: bench.core.post(CancelRow(A)))
        bench.at(5.0, lambda: bench.core.post(Requeue((A,))))

    assert bench.run(prepare) in {0, 3}


def test_a_script_that_asks_after_the_end_is_told_so(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, linger=True)
    bench.returns()
    replies: list[ClientReply] = []

    def prepare() -> None:
        bench.at(1.0, lambda: bench.schedule(order("a")))
        bench.at(1.0, lambda: bench.port.call(request(), replies.append))
        bench.at(1.0, lambda: bench.port.expect((RowId("x", "y"),)))
        bench.at(2.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 0
    assert bench.ended[A][0].kind is MissingKind.SCRIPT
    assert [r.status for r in replies] == [499]


def test_what_was_made_without_a_row_is_not_requeued_as_it_was(tmp_path: Path) -> None:
    bad, all_ = RowId("main", "bad"), RowId("main", "all")

    def reply(body: Mapping[str, Any], number: int) -> Any:
        early = bench.clock.now() < 20.0
        return refused(400, "invalid_request_error") if early else answered()

    bench = Bench(ScriptedApi(reply), tmp_path, linger=True)
    bench.schedule(order("bad"))

    def summarise() -> None:
        bench.schedule(order("all", sources=(bad,), holes=(bad,)))
        bench.returns()

    def prepare() -> None:
        bench.at(5.0, summarise)
        for second in (30.0, 40.0):
            bench.at(second, lambda: bench.core.post(Requeue((bad,))))
            bench.at(second + 5, lambda: bench.core.post(Requeue((all_,))))
        bench.at(60.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 3
    assert bench.state.rows[bad].status is Status.DONE
    assert bench.state.rows[all_].status is Status.MISSING


# -- stops -------------------------------------------------------------------------


def test_a_stop_at_once_does_not_wait_for_a_tool(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: tool_use("wait", {})), tmp_path)
    bench.schedule(order("a", tools=(Tool(1e6),)))

    def prepare() -> None:
        bench.at(5.0, lambda: bench.core.post(Stop("now", "SIGTERM")))

    assert bench.run(prepare) == 143
    assert bench.clock_at_end() < 6.0


def test_a_full_disk_does_not_hold_a_stop_up(tmp_path: Path) -> None:
    for mode in ("drain", "now"):
        bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
        bench.schedule(*(order(f"k{n}") for n in range(20)))

        def fails(bench: Bench = bench) -> None:
            bench.journal.failing = OSError(28, "No space left on device")
            bench.journal._on_error = lambda e: bench.core.post(said.DiskFailed(str(e)))

        def prepare(bench: Bench = bench, mode: str = mode) -> None:
            bench.at(1.5, fails)
            bench.at(9.0, lambda: bench.core.post(Stop(mode, "SIGINT")))

        bench.check = lambda: None  # type: ignore[method-assign]
        assert bench.run(prepare) == 130
        assert bench.clock_at_end() < 12.0


def test_a_disk_that_hangs_does_not_hold_a_stop_up(tmp_path: Path) -> None:
    class Hangs(DelayedJournal):
        def _commit(self) -> None:
            """Neither write nor fail."""

    bench = Bench(
        ScriptedApi(lambda *_: answered()), tmp_path, journal=Hangs(Random(1), 1.0)
    )
    bench.schedule(order("a"))
    bench.check = lambda: None  # type: ignore[method-assign]

    def prepare() -> None:
        bench.at(5.0, lambda: bench.core.post(Stop("now", "SIGINT")))

    assert bench.run(prepare) == 130
    assert bench.clock_at_end() < 20.0


def test_a_drain_takes_back_what_was_admitted_and_not_sent(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(), seconds=3.0)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(40)))

    def prepare() -> None:
        bench.at(3.2, lambda: bench.core.post(Stop("drain", "SIGINT")))

    assert bench.run(prepare) == 130
    assert all(t <= 3.25 for t in api.times)
    assert bench.state.totals.in_doubt == Usage()


def test_a_stop_after_the_end_leaves_the_run_as_it_ended(tmp_path: Path) -> None:
    """With a screen the engine stays; a signal then is for the screen."""
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, linger=True)
    bench.schedule(order("a"))
    bench.returns()

    def prepare() -> None:
        bench.at(20.0, lambda: bench.core.post(Stop("now", "SIGTERM")))

    assert bench.run(prepare) == 0
    assert bench.state.stop is None
    assert bench.clock_at_end() < 21.0


def test_a_signal_goes_over_a_budget(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=50.0), tmp_path)
    bench.schedule(order("a"))

    def prepare() -> None:
        bench.at(2.0, lambda: bench.core.post(Stop("drain", "budget", "spent")))
        bench.at(3.0, lambda: bench.core.post(Stop("drain", "SIGINT", "interrupted")))

    assert bench.run(prepare) == 130


# -- what is spent -----------------------------------------------------------------


def test_a_budget_waits_for_what_is_only_reserved(tmp_path: Path) -> None:
    api = ScriptedApi(lambda *_: answered(usage=Usage(100, 50)))
    bench = Bench(api, tmp_path, budget=Budget(tokens=20_000))
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.returns()
    causes = set()

    def look() -> None:
        causes.update(g.cause for g in bench.engine.publisher.build().gates.values())

    def prepare() -> None:
        for second in range(1, 20):
            bench.at(second + 0.3, look)

    assert bench.run(prepare) == 0
    assert bench.state.counts.done == 40
    assert Cause.BUDGET in causes


def test_a_model_that_is_not_there_is_asked_for_once(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if body["model"] == "nope":
            return refused(404, "not_found_error", "model: nope")
        return answered()

    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(*(order(f"k{n}", model="nope") for n in range(200)), order("good"))
    bench.returns()
    assert bench.run() == 3
    assert sum(body["model"] == "nope" for body in api.bodies) < 12
    assert bench.state.counts.done == 1
    ends = [row.end for row in bench.state.rows.values() if row.end and row.end.kind]
    assert {end.kind for end in ends} == {MissingKind.REJECTED}
    assert all("--model" in end.reason for end in ends)


def test_a_404_about_something_else_is_one_rows_own(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        bad = "k3" in str(body["messages"])
        return refused(404, "not_found_error", "file: f_1") if bad else answered()

    bench = Bench(ScriptedApi(reply), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(9)))
    bench.returns()
    assert bench.run() == 3
    assert bench.state.counts.done == 8


# -- outputs and checks ------------------------------------------------------------


def test_an_answer_that_only_the_disk_refused_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    api = ScriptedApi(lambda *_: answered("the report"))
    bench = Bench(api, tmp_path, linger=True)
    (tmp_path / "sub").write_text("a file where a folder should be")
    bench.schedule(order("a", output="sub/a.md"))
    bench.returns()

    def mend() -> None:
        (tmp_path / "sub").unlink()
        bench.core.post(Requeue())

    def prepare() -> None:
        bench.at(5.0, mend)
        bench.at(9.0, lambda: bench.core.post(said.Close()))

    assert bench.run(prepare) == 0
    assert [o.kind for o in bench.ended[A]] == [MissingKind.NO_OUTPUT, None]
    assert len(api.bodies) == 1
    assert (tmp_path / "sub/a.md").read_text() == "the report"


def test_an_earlier_answer_that_never_fits_is_asked_for_anew(tmp_path: Path) -> None:
    def check(data: bytes) -> Any:
        value = json.loads(data)
        if "n" not in value:
            raise ValueError("n is missing")
        return value

    asked = order("a", schema={}, validate=check)
    first = Bench(ScriptedApi(lambda *_: answered("{}")), tmp_path)
    first.schedule(asked)
    first.returns()
    assert first.run() == 3
    api = ScriptedApi(lambda *_: answered('{"n": 1}'))
    second = again(first, api, tmp_path)
    second.schedule(asked)
    second.returns()
    assert second.run() == 0
    assert len(api.bodies) == 1
    assert len(api.bodies[0]["messages"]) == 1
    assert not [e for e in second.journal.events if isinstance(e, TurnsKept)]


def test_what_an_agent_wrote_itself_outlives_a_kill(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        if len(body["messages"]) == 1:
            return tool_use("write_output", {"content": "the real report"})
        return answered("I have written it.")

    asked = order("a", output="a.md", tools=(write_output,), writes_output=True)
    first = Bench(ScriptedApi(reply, seconds=2.0), tmp_path)
    first.schedule(asked)

    def prepare() -> None:
        first.at(3.0, lambda: first.core.post(Stop("now", "SIGTERM")))

    assert first.run(prepare) == 143
    assert (tmp_path / "a.md").read_text() == "the real report"
    api = ScriptedApi(reply)
    second = again(first, api, tmp_path)
    second.schedule(asked)
    second.returns()
    assert second.run() == 0
    assert len(api.bodies) == 1
    assert (tmp_path / "a.md").read_text() == "the real report"
    assert second.ended[A][0].value == "the real report"


def test_a_reused_output_that_cannot_be_written_is_missing_and_mends(
    tmp_path: Path,
) -> None:
    asked = order("a", output="a.md")
    first = Bench(ScriptedApi(lambda *_: answered("text")), tmp_path)
    first.schedule(asked)
    first.returns()
    assert first.run() == 0
    api = ScriptedApi(lambda *_: answered())
    second = again(first, api, tmp_path)
    disk: list[OSError] = [OSError(28, "No space left on device")]

    lookup = second.engine.desks.agents._performers._lookup
    restore = lookup._restore

    def refuse(*given: Any) -> Any:
        if disk:
            raise disk.pop()
        return restore(*given)

    lookup._restore = refuse
    second.schedule(asked)
    second.engine._linger = True
    second.returns()

    def prepare() -> None:
        second.at(5.0, lambda: second.core.post(Requeue()))
        second.at(9.0, lambda: second.core.post(said.Close()))

    assert second.run(prepare) == 0
    assert [o.kind for o in second.ended[A]] == [MissingKind.NO_OUTPUT, None]
    assert api.bodies == []


def test_what_a_tool_gives_is_json_by_the_time_it_is_sent(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return tool_use("wait", {}) if number == 0 else answered()

    strange = [
        {"type": "text", "text": "\ud800", "x": {1, 2}, "y": b"\xff", "z": 1e400}
    ]
    api = ScriptedApi(reply)
    bench = Bench(api, tmp_path)
    bench.schedule(order("a", tools=(Tool(0.1, strange),)))
    bench.returns()
    assert bench.run() == 0
    json.dumps(api.bodies[1], ensure_ascii=False, allow_nan=False).encode()


def test_a_disk_that_refuses_what_nobody_waits_for_is_tried_again(
    tmp_path: Path,
) -> None:
    """All that had to be on disk was there, and nothing more would ever have been."""

    class Flushes(MemoryJournal):
        def append(self, event: Any, at: float) -> Record:
            record = super().append(event, at)
            self._commit()
            return record

    journal = Flushes()
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, journal=journal)
    journal._on_error = lambda e: bench.core.post(said.DiskFailed(str(e)))

    def refuse() -> None:
        journal.failing = OSError(28, "No space left on device")
        bench.core.post(Note("screen", "hello"))

    def mend() -> None:
        journal.failing = None

    def prepare() -> None:
        bench.at(1.0, refuse)
        bench.at(2.0, mend)
        bench.at(60.0, lambda: bench.schedule(order("a")))
        bench.at(70.0, bench.returns)

    assert bench.run(prepare) == 0
    assert bench.status() == {"main/a": "done"}


# -- clients -----------------------------------------------------------------------


def test_a_reply_goes_to_the_request_it_was_made_for(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return answered(body["messages"][0]["content"][0]["text"])

    journal = DelayedJournal(Random(3), 4.0)
    bench = Bench(ScriptedApi(reply), tmp_path, journal=journal)
    journal._on_commit = lambda _: bench.core.post(said.Committed())
    row = RowId("main", "chat")
    got: dict[str, list[ClientReply]] = {"one": [], "two": []}
    orders = {name: request(row, name) for name in got}

    def answered_one() -> None:
        # The answer is journaled and not yet on disk; then the script gives up.
        for _ in range(400):
            bench.core.post(said.Committed())
        bench.core.post(said.ClientGone(orders["one"]))
        bench.port.call(orders["two"], got["two"].append)

    def watch() -> None:
        names = [type(e).__name__ for e in bench.journal.events]
        if "CallAnswered" in names:
            answered_one()
        else:
            bench.at(bench.clock.now() + 0.05, watch)

    bench.check = lambda: None  # type: ignore[method-assign]

    def prepare() -> None:
        bench.port.call(orders["one"], got["one"].append)
        bench.at(0.1, watch)
        bench.at(60.0, bench.returns)

    assert bench.run(prepare) == 0
    assert got["one"] == []
    (only,) = got["two"]
    assert only.message is not None
    assert only.message["content"][0]["text"] == "two"


def test_a_person_who_cancels_a_clients_row_answers_its_script(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=10.0), tmp_path)
    bench.core.post(SetCeiling(1))
    got: list[ClientReply] = []
    chat = RowId("main", "chat")
    for row in (None, None, chat, chat):
        bench.port.call(request(row), got.append)

    def prepare() -> None:
        for key in ("call-0001", "call-0002", "chat"):
            row = RowId("main", key)
            bench.at(2.0, lambda row=row: bench.core.post(CancelRow(row)))  # type: ignore[misc]
        bench.at(4.0, lambda: bench.port.call(request(chat), got.append))
        bench.at(5.0, bench.returns)

    assert bench.run(prepare) == 3
    assert [reply.status for reply in got] == [499] * 5


def test_a_client_whose_last_request_failed_is_not_done(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], number: int) -> Any:
        return answered() if number != 1 else refused(400, "invalid_request_error")

    for requests, code in ((2, 3), (3, 0)):
        bench = Bench(ScriptedApi(reply), tmp_path)
        for number in range(requests):
            text = f"{number}"
            bench.port.call(request(RowId("main", "chat"), text), lambda _: None)
        assert bench.run(lambda bench=bench: bench.at(60.0, bench.returns)) == code  # type: ignore[misc]


def test_of_two_alike_requests_one_may_be_given_up(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=5.0), tmp_path)
    chat = RowId("main", "chat")
    got: dict[int, list[ClientReply]] = {n: [] for n in range(3)}
    orders = [request(chat) for _ in got]
    for number, asked in enumerate(orders):
        bench.port.call(asked, got[number].append)

    def prepare() -> None:
        bench.at(1.0, lambda: bench.core.post(said.ClientGone(orders[1])))
        bench.at(30.0, bench.returns)

    assert bench.run(prepare) == 0
    assert [len(got[n]) for n in range(3)] == [1, 0, 1]


def test_a_live_stream_that_was_cut_is_not_begun_again(tmp_path: Path) -> None:
    class Live(ScriptedApi):
        async def send(self, body: Any, watcher: Any, **more: Any) -> Any:
            watcher.received(b"event: message_start\n\n")
            return await super().send(body, watcher, **more)

    api = Live(lambda *_: broken("stream", Usage(5, 1)))
    bench = Bench(api, tmp_path)
    chunks: list[bytes] = []
    got: list[ClientReply] = []
    bench.port.call(request(sink=chunks.append), got.append)

    def prepare() -> None:
        bench.at(5.0, bench.returns)

    assert bench.run(prepare) == 3
    assert len(chunks) == len(api.bodies) == 1
    assert got[0].status == 504


def test_hundreds_of_kept_turns_are_given_back_one_after_the_other(
    tmp_path: Path,
) -> None:
    chat = RowId("main", "chat")

    def ask(bench: Bench) -> list[ClientReply]:
        got: list[ClientReply] = []
        for number in range(700):
            bench.port.call(request(chat, f"{number}"), got.append)
        return got

    first = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    replies = ask(first)

    def prepare() -> None:
        first.at(3_000.0, first.returns)

    assert first.run(prepare) == 0
    assert len(replies) == 700
    api = ScriptedApi(lambda *_: answered())
    second = again(first, api, tmp_path)
    replies = ask(second)
    assert second.run(lambda: second.at(5.0, second.returns)) == 0
    assert len(replies) == 700
    assert api.bodies == []


def test_a_request_that_makes_no_sense_is_the_services_to_refuse(
    tmp_path: Path,
) -> None:
    api = ScriptedApi(lambda *_: refused(400, "invalid_request_error"))
    bench = Bench(api, tmp_path)
    got: list[ClientReply] = []
    for wrong in ({"max_tokens": "many"}, {"max_tokens": -1}, {"model": ["x"]}, {}):
        asked = request()
        body = {**asked.body, **wrong}
        bench.port.call(
            ClientOrder(row=None, phase="main", path=asked.path, headers={}, body=body),
            got.append,
        )
    bench.run(lambda: bench.at(9.0, bench.returns))
    assert [reply.status for reply in got] == [400] * 4


# -- the screen and the size of things ---------------------------------------------


def test_snapshots_come_also_while_the_disk_is_never_idle(tmp_path: Path) -> None:
    journal = DelayedJournal(Random(5), 3.0)
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path, journal=journal)
    journal._on_commit = lambda _: bench.core.post(said.Committed())
    bench.schedule(*(order(f"k{n}") for n in range(300)))
    bench.returns()
    seen: list[int] = []

    def look() -> None:
        latest = bench.engine.publisher.latest
        seen.append(latest.counts.done if latest else -1)
        bench.engine.publisher.wanted = True
        bench.core.post(said.Wanted())

    def prepare() -> None:
        for second in range(1, 40):
            bench.at(float(second), look)

    assert bench.run(prepare) == 0
    assert len(set(seen)) > 5


def test_ended_rows_keep_no_conversation(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(50)))
    for _ in range(20):
        bench.port.call(request(), lambda _: None)
    bench.run(lambda: bench.at(60.0, bench.returns))
    assert not bench.engine.desks.rows.works
    assert not bench.engine.desks.clients._lines
    assert not bench.engine.desks.clients._by_order
    assert all(r.status is Status.DONE for r in bench.state.rows.values())


def test_calls_are_numbered_in_the_order_of_their_admission(tmp_path: Path) -> None:
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(9)))
    bench.returns()
    bench.run()
    records: list[Record] = list(bench.journal.records())
    calls = [r.event.call for r in records if isinstance(r.event, CallAdmitted)]
    assert calls == list(range(1, 10))


def test_an_order_that_crossed_its_input_is_stale(tmp_path: Path) -> None:
    """The script had read a hole, which was filled before its order came."""
    bench = Bench(ScriptedApi(lambda *_: answered()), tmp_path)
    hole = RowId("main", "a")
    made = order("s", "sum", sources=(hole,), holes=(hole,))

    def prepare() -> None:
        bench.schedule(order("a"))
        bench.at(5.0, lambda: bench.schedule(made))
        bench.at(6.0, bench.returns)

    assert bench.run(prepare) == 3
    end = bench.state.rows[RowId("sum", "s")].end
    assert end is not None
    assert (end.kind, end.reason) == (MissingKind.STALE, "made without main/a")
    assert len(bench.api.bodies) == 1
