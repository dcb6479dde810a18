"""The batch lane: gathered, handed in once, left and picked up, and paid for once."""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import INFO, Bench, order
from core.engine.simulated import reuse_of
from fanout.decide.fold.run_state import RunState
from fanout.decide.fold.state import apply
from fanout.decide.money.spent import purses_of
from fanout.testing.batching_api import EPOCH, BatchingApi
from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.scripted_api import answered, refused
from fanout.testing.virtual_loop import VirtualLoop
from fanout.words import commands as ask
from fanout.words.budgets import Budget
from fanout.words.events import LifeStarted, Record
from fanout.words.model import RowId, Status, Usage
from fanout.words.outcome import Outcome

PRICE = (100 * 2 + 20 * 10) / 1e6
"""What one answer of the script costs on its own, in dollars."""


def say(_body: Mapping[str, Any], _number: int) -> Outcome:
    return answered("an answer")


def asked_in(body: Mapping[str, Any]) -> str:
    return str(body["messages"][0]["content"][-1]["text"])


class Life(Bench):
    """One life of a run, on a service that outlives it."""

    def __init__(
        self,
        api: BatchingApi,
        out: Path,
        records: list[Record] | None = None,
        *,
        budget: Budget | None = None,
        **more: Any,
    ) -> None:
        self.api: BatchingApi
        self.past = records or []
        state = RunState()
        for record in self.past:
            apply(state, record)
        self.life = state.life + 1
        self.budget = budget or Budget()
        super().__init__(
            api,
            out,
            state=state,
            journal=MemoryJournal(life=self.life, last_seq=state.seq),
            earlier=reuse_of(self.past),
            budget=self.budget,
            **more,
        )
        self.earlier = self.past
        self.clock.epoch = api.begun_at

    def live(
        self,
        *prepare: Callable[[], None],
        kill_at: float | None = None,
        kill_when: Callable[[], bool] | None = None,
        limit: float = 400_000.0,
    ) -> list[Record]:
        """Run to the end or to a kill; returns all that is on disk then."""
        begun = LifeStarted(
            run=INFO.id,
            life=self.life,
            script=INFO.script,
            arguments=(),
            endpoint=INFO.endpoint,
            simulated=True,
            model=INFO.model,
            version="0",
            pid=1,
        )

        async def live() -> None:
            self.core.record(begun)
            # As a new process begins: with what the journal knows by then.
            purse = self.engine.publisher._purse
            vars(purse).update(vars(purses_of(self.budget, self.state)))
            for act in prepare:
                act()
            engine = asyncio.create_task(self.engine.run())
            end = limit if kill_at is None else kill_at
            while not engine.done() and self.clock.awake() < end:
                step = 0.03 if self.clock.awake() < 20 else 0.5
                timeout = end if kill_when is None else step
                await asyncio.wait([engine], timeout=timeout)
                if kill_when is not None and kill_when():
                    break
            killed = kill_at is not None or kill_when is not None
            assert killed or engine.done(), "the run does not end"
            if engine.done():
                engine.result()
            engine.cancel()
            self._ended_at = self.clock.now()

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(live())
        if kill_at is None and kill_when is None:
            self.check()
        self.api.begun_at += self._ended_at
        return [*self.past, *self.journal.records()]

    def ask(self, count: int, **more: Any) -> Callable[[], None]:
        """A script that asks for so many rows, and then returns."""
        given = {"lane": "batch", **more}

        def act() -> None:
            self.schedule(*(order(f"k{n}", **given) for n in range(count)))
            self.at(0.5, self.returns)

        return act

    def notes(self) -> str:
        return "\n".join(line.text for line in self.core.shown.log)

    def journal_has(self, kind: str) -> bool:
        return any(type(e).__name__ == kind for e in self.journal.events)

    @property
    def dollars(self) -> float:
        value = self.engine.publisher._purse.dollars
        assert value is not None
        return value


def journaled(records: list[Record], kind: str) -> int:
    return sum(type(r.event).__name__ == kind for r in records)


def once(api: BatchingApi) -> None:
    """Nothing was paid for twice."""
    assert api.paid
    assert set(api.paid.values()) == {1}


# -- a run in one life ---------------------------------------------------------------


def test_a_wave_goes_out_as_one_batch_at_half_the_price(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(40))
    assert life.state.end is not None
    assert life.state.end.exit_code == 0
    assert set(life.status().values()) == {"done"}
    (batch,) = api.handed_in
    assert len(batch.items) == 40
    assert journaled(records, "CallAnswered") == 40
    assert life.state.totals.useful == Usage(4_000, 800)
    assert life.dollars == pytest.approx(40 * PRICE / 2)
    assert not life.state.batches.by_number
    assert not api.times
    assert not life.core.account.views(0.0)
    once(api)


def test_rows_say_what_they_wait_for(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    seen: list[Any] = []

    def look() -> None:
        seen.append(life.engine.publisher.build())

    life.live(
        life.ask(3),
        lambda: life.at(1.0, look),
        lambda: life.at(60.0, look),
        lambda: life.at(600.0, look),
    )
    gathering, early, late = seen
    gate = gathering.gates["batches"]
    assert gate.cause == "gathers for a batch"
    assert gate.detail == "3 so far"
    assert len(gate.waiting) == 3
    assert gathering.counts.queued == 3
    for snapshot in (early, late):
        assert snapshot.counts.running == 3
        live = snapshot.live[RowId("main", "k0")]
        assert live.cause == "in a batch"
        assert live.note.startswith("batch 0/3 · msgbatch_")
    assert late.at - late.live[RowId("main", "k0")].active_at < 125


def test_a_batch_is_looked_at_seldom(tmp_path: Path) -> None:
    api = BatchingApi(say, hours={"min": 20, "max": 20})
    life = Life(api, tmp_path)
    life.live(life.ask(5))
    assert 72_000 / 130 < api.asked["look"] < 72_000 / 60


def test_what_comes_while_a_batch_is_gathered_joins_it(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    life.live(
        lambda: life.schedule(order("a", lane="batch")),
        lambda: life.at(1.5, lambda: life.schedule(order("b", lane="batch"))),
        lambda: life.at(9.0, lambda: life.schedule(order("c", lane="batch"))),
        lambda: life.at(10.0, life.returns),
    )
    assert [len(batch.items) for batch in api.handed_in] == [2, 1]


def test_a_steady_trickle_does_not_wait_for_ever(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)

    def trickle() -> None:
        for n in range(40):
            act = lambda n=n: life.schedule(order(f"k{n}", lane="batch"))  # noqa: E731
            life.at(n * 1.5, act)
        life.at(61.0, life.returns)

    life.live(trickle)
    assert len(api.handed_in) > 1
    assert api.handed_in[0].created_at - EPOCH < 32


def fits(data: bytes) -> Any:
    value = json.loads(data)
    if "n" not in value:
        raise ValueError("n is missing")
    return value


def test_a_misfit_goes_back_in_the_same_conversation(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], _n: int) -> Outcome:
        turns = len(body["messages"])
        return answered('{"n": 1}' if turns > 1 or "k0" in str(body) else "{}")

    api = BatchingApi(reply)
    life = Life(api, tmp_path)
    life.live(life.ask(3, schema={}, validate=fits))
    assert set(life.status().values()) == {"done"}
    assert [len(batch.items) for batch in api.handed_in] == [3, 2]
    once(api)


def test_a_cut_answer_is_asked_for_again_with_twice_the_room(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any], _n: int) -> Outcome:
        cut = body["max_tokens"] == 100
        return answered("x", stop_reason="max_tokens" if cut else "end_turn")

    api = BatchingApi(reply)
    life = Life(api, tmp_path)
    life.live(life.ask(2, max_tokens=100))
    assert set(life.status().values()) == {"done"}
    assert [item.params["max_tokens"] for item in api.handed_in[1].items] == [200, 200]


def test_agents_with_tools_stay_on_the_live_lane(tmp_path: Path) -> None:
    class Tool:
        name, description, version, root = "look", "", "", None
        input_schema: Mapping[str, Any] = {}

    api = BatchingApi(say)
    life = Life(api, tmp_path, lane="batch")
    tool: Any = Tool()
    life.live(
        lambda: life.schedule(
            order("plain"), order("tools", tools=(tool,)), order("live", lane="live")
        ),
        lambda: life.schedule(order("more", tools=(tool,))),
        lambda: life.at(1.0, life.returns),
    )
    assert set(life.status().values()) == {"done"}
    (batch,) = api.handed_in
    assert [asked_in(item.params) for item in batch.items] == ["do plain"]
    assert life.notes().count("agents with tools run on the live lane") == 1


# -- what goes wrong inside a batch --------------------------------------------------


def test_what_expired_joins_the_next_batch_a_few_times(tmp_path: Path) -> None:
    def expires(text: str, seen: int) -> bool:
        return ("do k1" in text and seen == 1) or "do k2" in text

    api = BatchingApi(say, expires=expires)
    life = Life(api, tmp_path)
    life.live(life.ask(4))
    status = life.status()
    assert status["main/k1"] == "done"
    assert status["main/k2"] == "missing"
    end = life.state.rows[RowId("main", "k2")].end
    assert end is not None
    assert end.kind == "timeout"
    assert end.reason == "in 3 batches: expired"
    assert [len(batch.items) for batch in api.handed_in] == [4, 2, 1]
    assert life.state.totals.in_doubt == Usage()
    once(api)


def test_errors_are_told_apart(tmp_path: Path) -> None:
    tries: dict[str, int] = {}

    def reply(body: Mapping[str, Any], _n: int) -> Outcome:
        name = asked_in(body).removeprefix("do ")
        tries[name] = tries.get(name, 0) + 1
        if name == "k1":
            return refused(400, "invalid_request_error", "no such thing")
        if name == "k2" and tries[name] == 1:
            return refused(500, "api_error", "hiccup")
        if name == "k3":
            return refused(529, "overloaded_error", "busy")
        return answered("fine")

    api = BatchingApi(reply)
    life = Life(api, tmp_path)
    life.live(life.ask(4))
    rows = life.state.rows
    assert life.status()["main/k0"] == life.status()["main/k2"] == "done"
    kinds = {k.key: (r.end.kind, r.end.reason) for k, r in rows.items() if r.end}
    assert kinds["k1"][0] == "rejected"
    assert "no such thing" in kinds["k1"][1]
    assert kinds["k3"][0] == "rejected"
    assert kinds["k3"][1].startswith("in 3 batches: failed: 529")
    assert tries == {"k0": 1, "k1": 1, "k2": 2, "k3": 3}
    assert life.state.totals.wasted == Usage()


def test_a_batch_cancelled_at_the_service_ends_its_rows(tmp_path: Path) -> None:
    api = BatchingApi(say, hours={"min": 0.1, "max": 4})
    life = Life(api, tmp_path)

    def cancel() -> None:
        (batch,) = api.handed_in
        api.office.settle(api.wall())
        assert api.office.cancel(batch, api.wall()) is None

    life.live(life.ask(30), lambda: life.at(4_000.0, cancel))
    counts = life.state.counts
    assert counts.done > 3
    assert counts.missing > 3
    kinds = {r.end.kind for r in life.state.rows.values() if r.end and r.end.kind}
    assert kinds == {"cancelled"}
    assert life.state.totals.in_doubt == Usage()
    once(api)


def test_results_that_are_cut_are_read_again(tmp_path: Path) -> None:
    api = BatchingApi(say)
    api.faults["results"] = _queue("cut", "cut", "500")
    life = Life(api, tmp_path)
    life.live(life.ask(20))
    assert set(life.status().values()) == {"done"}
    assert api.asked["results"] == 4
    once(api)


def _queue(*faults: str) -> Any:
    from collections import deque

    return deque(faults)


def test_a_batch_that_the_service_lost_is_not_asked_again_unasked(
    tmp_path: Path,
) -> None:
    api = BatchingApi(say)
    api.faults["look"] = _queue("", "404")
    life = Life(api, tmp_path)
    records = life.live(life.ask(3))
    reasons = {r.end.reason for r in life.state.rows.values() if r.end}
    assert all("does not have it any more" in reason for reason in reasons)
    assert life.state.totals.in_doubt.output_tokens > 0
    assert not life.state.batches.by_number
    again = Life(api, tmp_path, records)
    again.live(again.ask(3))
    assert set(again.status().values()) == {"done"}


# -- handing in ----------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["before", "after", "529", "500"])
def test_a_hand_in_without_an_answer_is_searched_for_first(
    tmp_path: Path, fault: str
) -> None:
    api = BatchingApi(say)
    api.faults["create"] = _queue(fault)
    life = Life(api, tmp_path)
    life.live(life.ask(10))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    once(api)


def test_others_batches_are_told_from_ours(tmp_path: Path) -> None:
    api = BatchingApi(say)
    api.faults["create"] = _queue("after")
    life = Life(api, tmp_path)

    def others() -> None:
        for size in (3, 4, 3):
            body = {
                "requests": [
                    {"custom_id": f"x{n}", "params": {"of": "another", "n": n}}
                    for n in range(size)
                ]
            }
            api.office.create(body, "v", api.wall())

    life.live(others, life.ask(3), lambda: life.at(4.0, others))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    once(api)


def test_limits_of_the_batch_endpoints_are_waited_out(tmp_path: Path) -> None:
    api = BatchingApi(say)
    api.faults["create"] = _queue("429", "429")
    api.faults["look"] = _queue("429", "503")
    life = Life(api, tmp_path)
    life.live(life.ask(2))
    assert set(life.status().values()) == {"done"}
    assert len(api.handed_in) == 1
    assert api.asked["list"] == 0


def test_a_batch_that_is_refused_ends_its_rows_at_no_cost(tmp_path: Path) -> None:
    api = BatchingApi(say)
    api.faults["create"] = _queue("404")
    life = Life(api, tmp_path)
    life.live(life.ask(2))
    kinds = {r.end.kind for r in life.state.rows.values() if r.end}
    assert kinds == {"rejected"}
    assert life.state.totals.in_doubt == Usage()
    assert life.state.end is not None
    assert life.state.end.exit_code == 3


def test_an_account_that_refuses_stops_the_run(tmp_path: Path) -> None:
    api = BatchingApi(say)
    api.faults["create"] = _queue("401")
    life = Life(api, tmp_path)
    life.live(life.ask(2))
    assert {r.end.kind for r in life.state.rows.values() if r.end} == {"account"}
    assert life.state.end is not None
    assert life.state.end.exit_code == 5


# -- budgets -------------------------------------------------------------------------


def test_a_budget_reserves_the_worst_case_at_half_price(tmp_path: Path) -> None:
    # One answer may cost 8,192 x $10/M, half of that in a batch.
    worst = 8_192 * 10 / 1e6 / 2
    api = BatchingApi(say)
    life = Life(api, tmp_path, budget=Budget(dollars=3.5 * worst))
    life.live(life.ask(6))
    assert [len(batch.items) for batch in api.handed_in] == [3, 3]
    assert set(life.status().values()) == {"done"}


def test_a_budget_that_is_used_up_stops_the_run(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path, budget=Budget(tokens=8_400))
    life.live(life.ask(4))
    assert life.state.end is not None
    assert life.state.end.exit_code == 4
    assert life.state.counts.done == 2
    kinds = {r.end.kind for r in life.state.rows.values() if r.end and r.end.kind}
    assert kinds == {"budget"}


# -- left and picked up --------------------------------------------------------------


def finish(api: BatchingApi, out: Path, records: list[Record], count: int = 8) -> Life:
    """Another life to the end, hours later; nothing may be paid twice."""
    api.begun_at += 1_000
    life = Life(api, out, records)
    life.live(life.ask(count))
    assert set(life.status().values()) == {"done"}, life.notes()
    assert life.state.end is not None
    assert life.state.end.exit_code == 0
    once(api)
    assert sum(api.paid.values()) == count
    assert life.state.totals.in_doubt == Usage()
    assert life.state.totals.wasted == Usage()
    assert life.state.totals.useful == Usage(100 * count, 20 * count)
    assert life.dollars == pytest.approx(count * PRICE / 2)
    assert not life.state.batches.by_number
    return life


STAGES: dict[str, Callable[[Life], bool]] = {
    "gathering": lambda life: life.state.counts.queued == 8,
    "before it is handed in": lambda life: life.journal_has("BatchPlanned"),
    "taken in, its id lost": lambda life: bool(life.api.handed_in),
    "its id known": lambda life: life.journal_has("BatchOpened"),
    "looked at": lambda life: life.api.asked["look"] >= 3,
    "ended": lambda life: life.journal_has("BatchEnded"),
    "while results are read": lambda life: life.journal_has("CallAnswered"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_killed_at_any_stage_pays_for_nothing_twice(
    tmp_path: Path, stage: str
) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(8), kill_when=lambda: STAGES[stage](life))
    known = len(api.handed_in)
    again = finish(api, tmp_path, records)
    assert len(api.handed_in) <= max(1, known)
    assert again.state.life == 2


def test_a_run_killed_with_half_the_results_read_reads_the_rest(
    tmp_path: Path,
) -> None:
    api = BatchingApi(say)
    api.faults["results"] = _queue("cut")
    life = Life(api, tmp_path)
    records = life.live(life.ask(8), kill_when=lambda: life.journal_has("CallAnswered"))
    assert journaled(records, "CallAnswered") == 4
    finish(api, tmp_path, records)
    assert len(api.handed_in) == 1


def test_a_run_killed_again_and_again_pays_for_nothing_twice(tmp_path: Path) -> None:
    api = BatchingApi(say)
    records: list[Record] = []
    for stage in STAGES.values():
        life = Life(api, tmp_path, records)
        records = life.live(life.ask(8), kill_when=partial(stage, life))
    finish(api, tmp_path, records)
    assert len(api.handed_in) == 1


def test_a_killed_run_reports_what_is_in_doubt(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(8), kill_at=100.0)
    state = RunState()
    for record in records:
        apply(state, record)
    apply(state, Record(state.seq + 1, 2, state.at, _life(2)))
    assert state.counts.missing == 8
    reasons = {row.end.reason for row in state.rows.values() if row.end}
    assert all("goes on without it" in reason for reason in reasons)
    assert state.totals.in_doubt.output_tokens == 8 * 8_192
    assert all(row.tally.in_doubt.output_tokens == 8_192 for row in state.rows.values())


def _life(number: int) -> LifeStarted:
    return LifeStarted(
        run=INFO.id,
        life=number,
        script=INFO.script,
        arguments=(),
        endpoint=INFO.endpoint,
        simulated=True,
        model=INFO.model,
        version="0",
        pid=1,
    )


@pytest.mark.parametrize("mode", ["drain", "now"])
def test_a_stop_leaves_the_batch_and_says_so(tmp_path: Path, mode: str) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    stop = lambda: life.core.post(ask.Stop(mode, "quit"))  # noqa: E731
    records = life.live(life.ask(8), lambda: life.at(50.0, stop))
    assert life.state.end is not None
    assert life.state.end.exit_code == 130
    assert life.clock_at_end() < 60
    name = api.handed_in[0].id
    rows = life.state.rows.values()
    assert {r.end.kind for r in rows if r.end} == {"stopped"}
    assert all(f"{name} goes on" in r.end.reason for r in rows if r.end)
    assert f"{name} goes on at the service (8 requests)" in life.notes()
    assert "`fanout-tui resume test-1` picks it up" in life.notes()
    assert life.state.totals.in_doubt.output_tokens == 8 * 8_192
    finish(api, tmp_path, records)
    assert len(api.handed_in) == 1


@pytest.mark.parametrize("mode", ["drain", "now"])
@pytest.mark.parametrize("when", [2.5, 2.65, 2.72, 2.85])
def test_a_stop_around_the_hand_in_loses_nothing(
    tmp_path: Path, mode: str, when: float
) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    stop = lambda: life.core.post(ask.Stop(mode, "quit"))  # noqa: E731
    records = life.live(life.ask(8), lambda: life.at(when, stop))
    assert life.state.counts.missing == 8
    finish(api, tmp_path, records)
    assert len(api.handed_in) == 1


def test_a_live_life_takes_up_what_a_batch_was_asked(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(8), kill_at=100.0)
    again = Life(api, tmp_path, records)
    again.live(again.ask(8, lane=None))
    assert set(again.status().values()) == {"done"}
    once(api)
    assert sum(api.paid.values()) == 8
    assert len(api.bodies) == 8


def test_what_a_script_asks_late_is_taken_up_late(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(8), kill_at=100.0)
    api.begun_at += 5_000
    again = Life(api, tmp_path, records)

    def some(*numbers: int) -> None:
        again.schedule(*(order(f"k{n}", lane="batch") for n in numbers))

    records = again.live(
        lambda: some(0, 1, 2),
        lambda: again.at(30.0, lambda: some(3, 4, 5)),
        lambda: again.at(30.0, again.returns),
    )
    assert set(again.status().values()) == {"done"}
    # What nobody asked for is known to the token by now, and wasted for once.
    assert journaled(records, "CallSettled") == 5
    assert again.state.totals.in_doubt == Usage()
    assert again.state.totals.wasted == Usage(200, 40)
    assert again.dollars == pytest.approx(8 * PRICE / 2)
    finish(api, tmp_path, records)
    assert len(api.handed_in) == 1


def test_a_changed_question_is_asked_anew(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(2), kill_at=100.0)
    again = Life(api, tmp_path, records)
    again.live(again.ask(2, prompt="something else"))
    assert set(again.status().values()) == {"done"}
    assert len(api.handed_in) == 2
    # The first batch is still somebody's doubt: nobody has read what it cost.
    assert again.state.totals.in_doubt.output_tokens == 2 * 8_192


def test_a_cancelled_row_is_left_and_may_be_taken_up_again(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path, linger=True)
    row = RowId("main", "k3")

    def post(message: object) -> Callable[[], None]:
        return lambda: life.core.post(message)

    def close() -> None:
        from fanout.world.messages import Close

        life.core.post(Close())

    life.live(
        life.ask(8),
        lambda: life.at(100.0, post(ask.CancelRow(row))),
        lambda: life.at(20_000.0, post(ask.Requeue((row,)))),
        lambda: life.at(30_000.0, close),
    )
    told = life.ended[row]
    assert [outcome.done for outcome in told] == [False, True]
    assert "cancelled by the user; msgbatch_" in told[0].reason
    assert life.state.rows[row].status is Status.DONE
    assert life.state.totals.wasted == life.state.totals.in_doubt == Usage()
    assert life.dollars == pytest.approx(8 * PRICE / 2)
    assert len(api.handed_in) == 1
    once(api)


def test_a_budget_counts_what_was_left_at_half(tmp_path: Path) -> None:
    worst = 8_192 * 10 / 1e6 / 2
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    records = life.live(life.ask(2), kill_at=100.0)
    tight = Life(api, tmp_path, records, budget=Budget(dollars=2.5 * worst))
    tight.live(tight.ask(3))
    assert set(tight.status().values()) == {"done"}
    # The third had to wait until the doubt of the first two was over.
    assert [len(batch.items) for batch in api.handed_in] == [2, 1]
    assert api.handed_in[1].created_at > api.handed_in[0].ended_at  # type: ignore[operator]


def test_a_pause_hands_nothing_in_and_reads_what_comes(tmp_path: Path) -> None:
    api = BatchingApi(say)
    life = Life(api, tmp_path)
    life.live(
        life.ask(3),
        lambda: life.at(0.3, lambda: life.core.post(ask.Pause())),
        lambda: life.at(500.0, lambda: life.core.post(ask.Resume())),
    )
    assert api.handed_in[0].created_at - EPOCH > 500
