"""A batch in this process's hands: who waits for it, and what is being done."""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum

from fanout.decide.admission.retry import Tries
from fanout.decide.batching import Seen
from fanout.words.model import RowId
from fanout.world.request import Request


class Doing(StrEnum):
    """What is under way with a batch."""

    PLANNED = "planned"
    """It is an intent: certainly nothing of it is at the service."""
    CREATING = "creating"
    SEARCHING = "searching"
    """It may have been handed in: nobody knows its id."""
    WAITING = "waiting"
    READING = "reading"


@dataclass(slots=True, kw_only=True)
class Held:
    """One batch that rows of this life wait for."""

    number: int
    doing: Doing
    requests: dict[int, Request] = field(default_factory=dict)
    """By call: those somebody waits for."""
    names: dict[str, int] = field(default_factory=dict)
    """Calls by `custom_id`, left ones included."""
    task: asyncio.Task[None] | None = None
    step: int = 0
    """Counts what was begun; what comes back from an earlier step is late news."""
    begun_at: float = 0.0
    """Monotonic second at which this life began with it."""
    looks: int = 0
    reads: int = 0
    late: bool = False
    """Somebody came while results were being read."""
    tries: Tries = Tries()
    vanished: int = 0
    """How often it was handed in without an answer, and was not there then."""
    seen: Seen | None = None
    strangers: set[str] = field(default_factory=set)
    """Ids of batches that it turned out not to be."""

    @property
    def rows(self) -> list[RowId]:
        """Rows that wait for it."""
        return [request.row for request in self.requests.values()]

    def begin(self, doing: Doing) -> int:
        """A new step; returns its number."""
        self.doing = doing
        self.step += 1
        return self.step
