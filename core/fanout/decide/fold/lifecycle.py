"""The row's states as a table: which fact is legal where, and what follows.

A fact that a state's line does not name is illegal there. That is a defect of
whoever emitted it, so it raises before anything was changed.

Two tables, because a row that an earlier life left behind lives by other rules:
only its declaration by the script brings it back. Such a row can be dropped, and
one that was declared ahead and never asked for; nothing else can. Within a life a
row ends once. The one exception is a done row made from a hole that was filled
later: it becomes `missing: stale`.

Between two turns a row is queued: tools that ran, or an answer sent back, ask
for a place again. An answer by itself leaves the row running, for its tools or
the check of its output follow; behind one that was cut off the row is queued. A
call refused for good ends the row directly, so both ends are legal while a call is
in flight.
"""

from collections.abc import Mapping

from fanout.words.batched import CallTakenUp
from fanout.words.events import (
    AnswerSentBack,
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import Cause, MissingKind, Row, Status

Transitions = Mapping[type, Status]

LIFECYCLE: Mapping[Status, Transitions] = {
    Status.QUEUED: {
        RowExpected: Status.QUEUED,
        RowScheduled: Status.QUEUED,
        TurnsKept: Status.QUEUED,
        # What a killed life left to do behind a finished turn needs no new call.
        ToolsRan: Status.QUEUED,
        AnswerSentBack: Status.QUEUED,
        CallAdmitted: Status.RUNNING,
        # It was left in a batch, by an earlier life or before it was cancelled.
        CallTakenUp: Status.RUNNING,
        RowDone: Status.DONE,
        RowMissing: Status.MISSING,
    },
    Status.RUNNING: {
        RowExpected: Status.RUNNING,
        CallAdmitted: Status.RUNNING,
        CallAnswered: Status.RUNNING,
        CallRefused: Status.THROTTLED,
        CallAbandoned: Status.QUEUED,
        ToolsRan: Status.QUEUED,
        AnswerSentBack: Status.QUEUED,
        RowDone: Status.DONE,
        RowMissing: Status.MISSING,
    },
    Status.THROTTLED: {
        RowExpected: Status.THROTTLED,
        CallAdmitted: Status.RUNNING,
        RowDone: Status.DONE,
        RowMissing: Status.MISSING,
    },
    Status.DONE: {
        RowExpected: Status.DONE,
        RowMissing: Status.MISSING,
    },
    Status.MISSING: {
        RowExpected: Status.MISSING,
        RowRequeued: Status.QUEUED,
    },
}
"""What may happen to a row that the script declared in this life."""

LEFT_BEHIND: Mapping[Status, Transitions] = {
    Status.DONE: {RowExpected: Status.QUEUED, RowScheduled: Status.QUEUED},
    Status.MISSING: {RowExpected: Status.QUEUED, RowScheduled: Status.QUEUED},
}
"""What may happen to a row of an earlier life, which has ended by then.

`RowDropped` takes such a row away; it has no next status.
"""

OPENING: Transitions = {RowExpected: Status.QUEUED, RowScheduled: Status.QUEUED}
"""What may happen to a row that nobody has heard of yet."""


class IllegalEvent(AssertionError):  # noqa: N818  named by what it is
    """A fact that cannot follow from where the row stands."""

    def __init__(self, row: object, status: str, event: object, why: str = "") -> None:
        name = type(event).__name__
        super().__init__(
            f"{name} is illegal for row {row}, which is {status}"
            + (f": {why}" if why else "")
        )


def next_status(row: Row, event: object, life: int) -> Status:
    """Return the status that follows, or raise `IllegalEvent`."""
    table = LIFECYCLE if row.life == life else LEFT_BEHIND
    after = table[row.status].get(type(event)) if row.status in table else None
    if after is None:
        why = "" if row.life == life else "this life has not declared it"
        raise IllegalEvent(row.id, row.status.value, event, why)
    return after


def check_stale(row: Row, event: RowMissing) -> None:
    """Refuse to make a done row missing for any reason but staleness."""
    if row.status is Status.DONE and event.kind is not MissingKind.STALE:
        raise IllegalEvent(row.id, row.status.value, event, "done is final")


def check_dropped(row: Row, event: RowDropped, life: int) -> None:
    """Refuse to drop a row that this life asked for.

    One that was only declared ahead, and then did not come, may go.
    """
    wait = row.wait
    ahead = (
        row.status is Status.QUEUED
        and wait is not None
        and wait.cause is Cause.EXPECTED
    )
    if row.life == life and not ahead:
        raise IllegalEvent(row.id, row.status.value, event, "this life asked for it")
