"""Facts about batches, and about calls in them that were left.

They are part of `fanout.words.events.Event` like all others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fanout.words.model import RowId, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned:
    """A batch is complete: the intent to hand it in, durable before the hand-in."""

    batch: int
    """Number within the run."""
    count: int
    """Its requests: the calls that were admitted for it before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOpened:
    """The service has the batch, and named it."""

    batch: int
    id: str
    seconds: float | None = None
    """From its creation until the service lets go of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnded:
    """The service is through with the batch; its results can be read."""

    batch: int
    counts: Mapping[str, int]
    """Requests by how they ended: `succeeded`, `errored`, `canceled`, `expired`."""
    took: float | None = None
    """Seconds from its creation to its end, by the service's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchGone:
    """A batch was never taken in, or the service has it no more."""

    batch: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTakenUp:
    """A call that was left in a batch is waited for again."""

    row: RowId
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettled:
    """What a call that nobody waited for has cost after all."""

    row: RowId
    call: int
    wasted: Usage
    answered: bool
    """True: its answer stays with the service, for whoever takes the call up."""
