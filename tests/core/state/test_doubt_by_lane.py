"""What is in doubt costs what its lane costs, wherever it is said."""

import pytest

from fanout.decide.fold.state import RunState, apply
from fanout.decide.money.pricing import BUILT_IN, dollars
from fanout.disk.reports.report import from_state
from fanout.testing.stories import Story
from fanout.words.batched import BatchOpened, BatchPlanned, CallSettled, CallTakenUp
from fanout.words.events import CallAbandoned, CallAdmitted, LifeStarted, RowScheduled
from fanout.words.model import NO_USAGE, Need, RowId, RowSpec
from fanout.words.snapshot import RunInfo

MODEL = "claude-sonnet-5"
A, B = RowId("audit", "a"), RowId("audit", "b")
NEED = Need(input=240, output=300, worst_output=8_192)
FULL = dollars(MODEL, NEED.worst, BUILT_IN) or 0.0
INFO = RunInfo(
    id="r",
    name="audit",
    folder="/r",
    script="/audit.py",
    arguments=(),
    endpoint="simulated:demo",
    simulated=True,
    model=MODEL,
    life=1,
    started_at=0.0,
)


class Told:
    """A run in which `a` has a call in a batch and `b` one of its own."""

    def __init__(self) -> None:
        self.story = Story(1)
        self.state = RunState()
        self.life(1)
        for row in (A, B):
            spec = RowSpec(
                kind="agent",
                model=MODEL,
                pool="p",
                fingerprint="1:f",
                max_tokens=8_192,
                max_turns=9,
                estimate=9,
            )
            self.fact(RowScheduled(row=row, spec=spec, opening={}))
        self.fact(
            CallAdmitted(row=A, call=1, turn=1, pool="b", need=NEED, batch=1),
            CallAdmitted(row=B, call=2, turn=1, pool="p", need=NEED),
            BatchPlanned(batch=1, count=1),
            BatchOpened(batch=1, id="msgbatch_1", seconds=1.0),
        )

    def fact(self, *events: object) -> None:
        for event in events:
            apply(self.state, self.story.record(event))  # type: ignore[arg-type]

    def life(self, number: int) -> None:
        self.fact(
            LifeStarted(
                run="r",
                life=number,
                script=INFO.script,
                arguments=(),
                endpoint=INFO.endpoint,
                simulated=True,
                model=MODEL,
                version="0",
                pid=1,
            )
        )

    def doubts(self) -> dict[str, float | None]:
        report = from_state(self.state, INFO, "killed", generated_at=1.0)
        return {p.key: p.doubt_dollars for p in report.partitions}


def test_a_call_in_a_batch_is_in_doubt_at_half_the_price() -> None:
    told = Told()
    told.life(2)
    assert told.doubts() == {
        "a": pytest.approx(FULL / 2),
        "b": pytest.approx(FULL),
    }


def test_so_it_is_where_it_was_left() -> None:
    told = Told()
    for row, call in ((A, 1), (B, 2)):
        told.fact(CallAbandoned(row=row, call=call, reason="left", in_doubt=NEED.worst))
    assert told.doubts() == {"a": pytest.approx(FULL / 2), "b": pytest.approx(FULL)}


@pytest.mark.parametrize("taken_up", [True, False])
def test_nothing_is_left_of_it_once_it_is_known(taken_up: bool) -> None:
    told = Told()
    told.life(2)
    if taken_up:
        told.fact(
            RowScheduled(row=A, spec=told.state.rows[B].spec, opening={}),  # type: ignore[arg-type]
            CallTakenUp(row=A, call=1),
        )
    else:
        told.fact(CallSettled(row=A, call=1, wasted=NO_USAGE, answered=False))
    assert told.doubts()["a"] == 0.0
