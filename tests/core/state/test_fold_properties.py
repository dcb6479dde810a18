"""What holds after every fact of every run that could have happened."""

import os
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.decide.fold.state import RunState, apply
from fanout.testing.stories import Story
from fanout.words.events import (
    LifeStarted,
    RowDone,
    RowDropped,
    RowMissing,
    RowRequeued,
)
from fanout.words.model import RowId, Status, Usage

SCALE = int(os.environ.get("FANOUT_SCALE", "1"))


def check(state: RunState, *, dropped: bool) -> None:
    counts = state.counts
    assert counts.expected == len(state.rows)
    for status in Status:
        assert counts.of(status) == sum(
            row.status is status for row in state.rows.values()
        )
    orders = [row.order for row in state.rows.values()]
    assert orders == sorted(orders)
    for row in state.rows.values():
        assert (row.end is not None) == (row.status in {Status.DONE, Status.MISSING})
        assert row.flight is None or row.status is Status.RUNNING
        assert min(row.tally.useful.as_dict().values()) >= 0
        assert min(row.tally.wasted.as_dict().values()) >= 0
    check_batches(state)
    if dropped:
        return
    for name in ("useful", "wasted", "in_doubt"):
        rows = (getattr(row.tally, name) for row in state.rows.values())
        assert getattr(state.totals, name) == reduce(Usage.__add__, rows, Usage()), name
    assert state.totals.refusals_429 == sum(
        row.tally.refusals_429 for row in state.rows.values()
    )
    assert state.totals.reused == sum(
        row.end is not None and row.end.reused_from is not None
        for row in state.rows.values()
    )


def check_batches(state: RunState) -> None:
    """A call in a batch is some row's flight, or it is left; never both."""
    open_batches = state.batches
    flights = {
        row.flight.call: row.id
        for row in state.rows.values()
        if row.flight is not None and row.flight.batch is not None
    }
    waited, left = {}, set()
    for number, batch in open_batches.by_number.items():
        assert batch.members
        for call, member in batch.members.items():
            assert open_batches.batch_of(call) is batch
            assert batch.number == number < open_batches.next_number
            assert min(member.doubt.as_dict().values()) >= 0
            if member.left:
                left.add(call)
                assert member in open_batches.left_of(member.row)
            else:
                waited[call] = member.row
                assert not member.doubt.total + member.wasted.total
    assert waited == flights
    assert not left & set(flights)


def check_story(seed: int, events: int, every: int = 1) -> None:
    story, replayed, dropped = Story(seed), RunState(), False
    for n, record in enumerate(story.tell(events)):
        apply(replayed, record)
        dropped |= isinstance(record.event, RowDropped)
        if n % every == 0:
            assert vars(replayed) == vars(story.state)
            check(story.state, dropped=dropped)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_counts_and_sums_follow_the_rows(seed: int) -> None:
    check_story(seed, 150)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_row_ends_once_per_life_unless_reopened_or_stale(seed: int) -> None:
    ended: set[RowId] = set()
    for record in Story(seed).tell(300):
        match record.event:
            case LifeStarted():
                ended.clear()
            case RowRequeued(row=row):
                ended.discard(row)
            case RowDone(row=row):
                assert row not in ended
                ended.add(row)
            case RowMissing(row=row, kind=kind):
                assert row not in ended or kind == "stale"
                ended.add(row)
            case _:
                pass


def test_a_copy_of_the_rows_does_not_follow() -> None:
    story = Story(5)
    list(story.tell(100))
    copied = story.state.copy_rows()
    frozen = dict(copied)
    list(story.tell(300))
    assert copied == frozen != story.state.rows


@pytest.mark.long
@pytest.mark.soak
def test_many_long_stories() -> None:
    for seed in range(200 * SCALE):
        check_story(seed, 2_000, every=7)
