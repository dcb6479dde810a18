"""One row's reason is read off the decision that made it wait."""

from dataclasses import replace

import pytest

from fanout.decide.admission.why import _Index, why
from fanout.words.model import Cause, Row, RowId, RowSpec, Status, Wait
from fanout.words.snapshot import Counts, Gate, Live, RunInfo, Snapshot

INFO = RunInfo(
    id="r",
    name="s",
    folder="/r",
    script="/s.py",
    arguments=(),
    endpoint="e",
    simulated=True,
    model="m",
    life=1,
    started_at=0.0,
)
SPEC = RowSpec(
    kind="agent",
    model="m",
    pool="m",
    fingerprint="f",
    max_tokens=1,
    max_turns=1,
    estimate=1,
)


def a_row(key: str, status: Status = Status.QUEUED, wait: Wait | None = None) -> Row:
    return Row(
        id=RowId("p", key), order=0, status=status, since=0.0, spec=SPEC, wait=wait
    )


def shot(gate: Gate | None = None, **changes: object) -> Snapshot:
    base = Snapshot(
        at=0.0,
        run=INFO,
        state="running",
        rows={},
        counts=Counts(),
        phases=("p",),
        gates={} if gate is None else {"m": gate},
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def a_gate(cause: Cause, until: float | None = None, detail: str = "") -> Gate:
    waiting = tuple(RowId("p", key) for key in "abc")
    return Gate(pool="m", waiting=waiting, cause=cause, until=until, detail=detail)


TOKENS = a_gate(Cause.INPUT, 41.0, "needs 42k, 12k free")


def test_the_head_has_the_gates_own_reason_and_time() -> None:
    assert why(shot(TOKENS), a_row("a")) == Wait(
        Cause.INPUT, 41.0, "needs 42k, 12k free"
    )


def test_who_stands_behind_says_how_many_are_ahead() -> None:
    assert why(shot(TOKENS), a_row("c")) == Wait(
        Cause.BEHIND, None, "2 for input tokens"
    )


def test_a_shared_reason_is_everybodys() -> None:
    gate = a_gate(Cause.LIMIT, 99.0, "429")
    assert why(shot(gate), a_row("c")) == Wait(Cause.LIMIT, 99.0, "429")


def test_a_throttled_row_keeps_its_cause_and_takes_the_gates_time() -> None:
    wait = Wait(Cause.LIMIT, 10.0, "429 rate_limit_error")
    throttled = a_row("b", Status.THROTTLED, wait)
    gate = a_gate(Cause.LIMIT, 99.0)
    assert why(shot(gate), throttled) == replace(wait, until=99.0)
    assert why(shot(), throttled) == wait


@pytest.mark.parametrize(
    ("gate", "place", "what"),
    [
        (a_gate(Cause.PAUSED), "a", "paused"),
        (a_gate(Cause.CEILING), "b", "ceiling"),
        (a_gate(Cause.INPUT, 41.0), "c", "behind 2 for input tokens"),
    ],
)
def test_a_throttled_row_says_what_holds_it_besides(
    gate: Gate, place: str, what: str
) -> None:
    """Its own time is over; no other one is claimed."""
    wait = Wait(Cause.LIMIT, 10.0, "429 rate_limit_error")
    throttled = a_row(place, Status.THROTTLED, wait)
    assert why(shot(gate), throttled) == Wait(Cause.LIMIT, None, what)


def test_a_running_row_says_what_it_does() -> None:
    running = a_row("a", Status.RUNNING)
    live = Live(cause=Cause.STREAMING, output_tokens=640)
    shown = shot(live={running.id: live})
    assert why(shown, running) == Wait(Cause.STREAMING, None, "640 tokens")
    assert why(shot(), running) == Wait(Cause.SENT)


def test_outside_any_line_the_run_or_the_row_says_why() -> None:
    assert why(shot(state="paused"), a_row("x")) == Wait(Cause.PAUSED)
    budget = Wait(Cause.BUDGET)
    assert why(shot(), a_row("x", wait=budget)) == budget
    unscheduled = replace(a_row("x"), spec=None)
    assert why(shot(), unscheduled) == Wait(Cause.EXPECTED)


def test_what_has_ended_waits_for_nothing() -> None:
    assert why(shot(), a_row("a", Status.DONE)) is None


def test_only_the_newest_line_of_a_pool_is_held() -> None:
    index = _Index()
    for key in "abcdef":
        line = (RowId("p", key), RowId("p", "z"))
        places = index.places(replace(TOKENS, waiting=line))
        assert places == {line[0]: 0, line[1]: 1}
        assert index.places(replace(TOKENS, waiting=line)) is places
    index.places(replace(TOKENS, pool="other"))
    assert list(index._lines) == ["m", "other"]
