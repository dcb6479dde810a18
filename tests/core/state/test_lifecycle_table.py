"""The lifecycle: what is legal is in the table, what is absent changes nothing."""

import copy

import pytest

from fanout.decide.fold.lifecycle import LIFECYCLE, IllegalEvent
from fanout.decide.fold.state import RunState, apply
from fanout.words.events import (
    AnswerSentBack,
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Event,
    LifeStarted,
    PhaseEntered,
    Record,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    RowsExpected,
    RunEnded,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import Cause, MissingKind, Need, RowId, RowSpec, Status, Usage

A = RowId("audit", "a")
B = RowId("audit", "b")
SPEC = RowSpec(
    kind="agent",
    model="m",
    pool="p",
    fingerprint="1:f",
    max_tokens=10,
    max_turns=5,
    estimate=3,
)
CLIENT = RowSpec(
    kind="client",
    model="m",
    pool="p",
    fingerprint="1:f",
    max_tokens=10,
    max_turns=5,
    estimate=3,
)
PAID = Usage(10, 20, 30, 40)
WORST = Usage(100, 8_192)


def life(number: int) -> LifeStarted:
    return LifeStarted(
        run="r-1",
        life=number,
        script="/s.py",
        arguments=(),
        endpoint="e",
        simulated=False,
        model="m",
        version="0",
        pid=1,
    )


def scheduled(spec: RowSpec = SPEC) -> RowScheduled:
    return RowScheduled(row=A, spec=spec, opening={})


def admitted(call: int = 1) -> CallAdmitted:
    return CallAdmitted(row=A, call=call, turn=1, pool="p", need=Need(100, 50, 8_192))


def answered(call: int = 1) -> CallAnswered:
    return CallAnswered(row=A, call=call, usage=PAID, stop_reason="end_turn", answer=[])


def refused(
    call: int = 1, cause: str = "429 limit", wasted: Usage | None = None
) -> CallRefused:
    return CallRefused(
        row=A,
        call=call,
        cause=cause,
        status=429,
        message="slow",
        until=9.0,
        wasted=wasted or Usage(),
    )


def missing(kind: MissingKind = MissingKind.CANCELLED) -> RowMissing:
    return RowMissing(row=A, kind=kind, reason="because")


TOOLS = ToolsRan(row=A, turn=1, results=[])
BACK = AnswerSentBack(row=A, problem="no")
DONE = RowDone(row=A, value="text", output="a.md", sha256="00", size=4)


def told(*events: Event, state: RunState | None = None) -> RunState:
    state = state or RunState()
    for event in events:
        number = event.life if isinstance(event, LifeStarted) else state.life
        apply(state, Record(state.seq + 1, number, state.at + 1.0, event))
    return state


STANDS = {
    "queued": (scheduled(),),
    "running": (scheduled(), admitted()),
    "answered": (scheduled(), admitted(), answered()),
    "throttled": (scheduled(), admitted(), refused()),
    "done": (scheduled(), DONE),
    "missing": (scheduled(), missing()),
}
FACTS: dict[str, Event] = {
    "expected": RowExpected(row=A),
    "scheduled": scheduled(),
    "kept": TurnsKept(row=A, source="r-0", entries=()),
    "admitted": admitted(2),
    "answered": answered(),
    "refused": refused(),
    "abandoned": CallAbandoned(row=A, call=1, reason="cut"),
    "tools": TOOLS,
    "back": BACK,
    "done": DONE,
    "missing": missing(),
    "stale": missing(MissingKind.STALE),
    "requeued": RowRequeued(row=A),
    "dropped": RowDropped(row=A),
}
LEGAL = {
    "queued": {
        "expected",
        "scheduled",
        "kept",
        "admitted",
        "tools",
        "back",
        "done",
        "missing",
        "stale",
    },
    "running": {
        "expected",
        "answered",
        "refused",
        "abandoned",
        "done",
        "missing",
        "stale",
    },
    "answered": {"expected", "admitted", "tools", "back", "done", "missing", "stale"},
    "throttled": {"expected", "admitted", "done", "missing", "stale"},
    "done": {"expected", "stale"},
    "missing": {"expected", "requeued"},
}


@pytest.mark.parametrize("stand", STANDS)
@pytest.mark.parametrize("fact", FACTS)
def test_what_is_absent_from_the_table_raises_and_changes_nothing(
    stand: str, fact: str
) -> None:
    state = told(life(1), *STANDS[stand])
    before = copy.deepcopy(vars(state))
    if fact in LEGAL[stand]:
        told(FACTS[fact], state=state)
        return
    with pytest.raises(
        IllegalEvent, match=rf"{type(FACTS[fact]).__name__} is illegal for row audit/a"
    ):
        told(FACTS[fact], state=state)
    assert vars(state) == before


@pytest.mark.parametrize("fact", sorted(set(FACTS) - {"expected", "scheduled"}))
def test_a_row_nobody_declared_can_only_be_declared(fact: str) -> None:
    with pytest.raises(IllegalEvent, match="unknown"):
        told(life(1), FACTS[fact])


@pytest.mark.parametrize("fact", FACTS)
def test_a_row_of_an_earlier_life_waits_for_the_script(fact: str) -> None:
    state = told(life(1), *STANDS["done"], life(2))
    if fact in {"expected", "scheduled", "dropped"}:
        told(FACTS[fact], state=state)
    else:
        with pytest.raises(IllegalEvent):
            told(FACTS[fact], state=state)


def test_the_table_names_every_status() -> None:
    assert set(LIFECYCLE) == set(Status)


def test_a_call_that_is_not_in_flight_cannot_end() -> None:
    state = told(life(1), scheduled(), admitted(7))
    with pytest.raises(IllegalEvent, match="call 6 is not in flight"):
        told(answered(6), state=state)
    assert state.next_call == 8


def test_lives_are_counted_upwards() -> None:
    with pytest.raises(IllegalEvent, match="life 2 began before"):
        told(life(2), life(2))


def test_a_turn_goes_running_answered_queued() -> None:
    """Between turns a row is queued again."""
    state = told(life(1), scheduled(), admitted())
    row = state.rows[A]
    assert (row.status, row.tally.attempts, row.started_at) == (Status.RUNNING, 1, 3.0)
    assert row.flight is not None
    told(answered(), state=state)
    row = state.rows[A]
    assert (row.status, row.flight, row.tally.turns, row.since) == (
        Status.RUNNING,
        None,
        1,
        3.0,
    )
    told(TOOLS, state=state)
    assert state.rows[A].status is Status.QUEUED
    assert state.totals.useful == PAID


def test_a_clients_row_waits_for_the_script_between_calls() -> None:
    row = told(life(1), scheduled(CLIENT), admitted(), answered()).rows[A]
    assert row.status is Status.QUEUED
    assert row.wait is not None
    assert row.wait.cause is Cause.SCRIPT


@pytest.mark.parametrize(
    ("cause", "figures"),
    [
        ("429 limit", (1, 0)),
        ("429 server", (1, 0)),
        ("529 overloaded", (0, 1)),
        ("no network", (0, 0)),
        ("new", (0, 0)),
    ],
)
def test_a_refusal_is_a_state_with_cause_and_time(
    cause: str, figures: tuple[int, int]
) -> None:
    state = told(life(1), scheduled(), admitted(), refused(cause=cause, wasted=PAID))
    row = state.rows[A]
    assert row.status is Status.THROTTLED
    assert row.wait is not None
    assert (row.wait.until, row.wait.detail) == (9.0, "slow")
    assert (row.tally.refusals_429, row.tally.refusals_529) == figures
    assert (state.totals.refusals_429, state.totals.refusals_529) == figures
    assert state.totals.wasted == row.tally.wasted == PAID


def test_turns_that_can_be_gone_on_from_are_not_wasted() -> None:
    state = told(life(1), scheduled(), admitted(), answered(), missing())
    assert (state.totals.useful, state.totals.wasted) == (PAID, Usage())
    told(RowRequeued(row=A), state=state)
    assert (state.totals.useful, state.totals.wasted) == (PAID, Usage())
    assert state.rows[A].tally.turns == 1


def test_turns_that_led_to_their_own_end_are_wasted() -> None:
    state = told(
        life(1), scheduled(), admitted(), answered(), missing(MissingKind.INVALID)
    )
    assert (state.totals.useful, state.totals.wasted) == (Usage(), PAID)


def test_a_fresh_requeue_leaves_the_waste() -> None:
    state = told(
        life(1),
        scheduled(),
        admitted(),
        answered(),
        missing(),
        RowRequeued(row=A, fresh=True),
    )
    assert (state.totals.useful, state.totals.wasted) == (Usage(), PAID)
    assert state.rows[A].tally.turns == 0


def test_a_kill_leaves_flights_in_doubt_and_done_rows_done() -> None:
    state = told(life(1), scheduled(), admitted(), life(2))
    row = state.rows[A]
    assert row.status is Status.MISSING
    assert row.end is not None
    assert row.end.kind is MissingKind.INTERRUPTED
    assert row.end.reason.startswith("in doubt: call 1 was in flight, at most 8,292")
    assert row.tally.in_doubt == state.totals.in_doubt == WORST
    assert told(life(1), *STANDS["done"], life(2)).rows[A].status is Status.DONE


def test_a_new_life_takes_up_what_an_earlier_one_paid() -> None:
    """Turns of this run that are kept make their cost useful again."""
    entries = ({"kind": "answer", "content": []}, {"kind": "results", "content": []})
    state = told(
        life(1), scheduled(), admitted(), answered(), TOOLS, life(2), scheduled()
    )
    assert state.totals.wasted == PAID
    assert state.rows[A].tally.turns == 0
    told(TurnsKept(row=A, source="r-1", entries=entries), state=state)
    assert (state.totals.useful, state.totals.wasted) == (PAID, Usage())
    assert (state.rows[A].tally.turns, state.rows[A].life) == (1, 2)


def test_a_reused_result_of_this_run_is_useful_once() -> None:
    reused = RowDone(row=A, value="text", reused_from="r-1")
    state = told(
        life(1), scheduled(), admitted(), answered(), DONE, life(2), scheduled()
    )
    told(reused, state=state)
    assert (state.totals.useful, state.totals.wasted, state.totals.reused) == (
        PAID,
        Usage(),
        1,
    )
    told(life(3), scheduled(), state=state)
    assert state.totals.reused == 0


def test_a_dropped_row_leaves_the_counts_and_stays_in_the_sums() -> None:
    state = told(
        life(1), scheduled(), admitted(), answered(), DONE, life(2), RowDropped(row=A)
    )
    assert (state.counts.expected, len(state.rows), state.totals.useful) == (0, 0, PAID)


def test_a_new_life_forgets_what_the_last_one_was_told() -> None:
    state = told(life(1), PhaseEntered(phase="audit", allow_missing="2"), life(2))
    assert state.phases == {"audit": None}
    told(
        PhaseEntered(phase="audit", allow_missing="3"),
        PhaseEntered(phase="audit"),
        state=state,
    )
    assert state.phases == {"audit": "3"}


def test_an_expected_row_says_that_it_was_not_started() -> None:
    wait = told(life(1), RowExpected(row=A)).rows[A].wait
    assert wait is not None
    assert wait.cause is Cause.EXPECTED
    assert told(life(1), RowExpected(row=A), scheduled()).rows[A].wait is None


@pytest.mark.parametrize("stands", STANDS)
@pytest.mark.parametrize("later", [(), (life(2),)], ids=["same life", "next life"])
def test_rows_expected_together_are_expected_as_each_by_itself(
    stands: str, later: tuple[Event, ...]
) -> None:
    before = (life(1), *STANDS[stands], *later)
    one = told(*before, RowExpected(row=A))
    apply(one, Record(one.seq + 1, one.life, one.at, RowExpected(row=B)))
    many = told(*before, RowsExpected(rows=(A, B)))
    assert many.rows == one.rows
    assert list(many.rows) == list(one.rows)
    assert (many.counts, many.totals) == (one.counts, one.totals)


def test_a_row_declared_ahead_may_be_withdrawn_until_it_is_asked_for() -> None:
    state = told(life(1), RowExpected(row=A), RowDropped(row=A))
    assert (state.counts.expected, state.rows) == (0, {})
    with pytest.raises(IllegalEvent, match="this life asked for it"):
        told(RowExpected(row=A), scheduled(), RowDropped(row=A), state=state)


def test_a_requeue_after_the_end_lets_the_run_go_on() -> None:
    ended = RunEnded(exit_code=3, complete=False, accepted=False)
    state = told(life(1), scheduled(), missing(), ended)
    assert state.end == ended
    assert told(RowRequeued(row=A), state=state).end is None
