"""Has each end of a run written down while somebody still looks at it.

A screen may stay up for hours after the end, and may be killed with its process:
what others read of the run is there as soon as the run has ended, and anew when a
requeued row has ended it again.
"""

from collections.abc import Callable

from fanout.words.commands import Note
from fanout.words.events import RunEnded
from fanout.words.snapshot import Snapshot
from fanout.world import messages as said
from fanout.world.agent.performers import Threads
from fanout.world.core import Core
from fanout.world.snapshots import Publisher

Keep = Callable[[Snapshot], list[str]]
"""Writes what is due at an end; returns what could not be. Blocking."""


class Keeping:
    """Gives every end to `keep`, one at a time."""

    def __init__(
        self, core: Core, publisher: Publisher, threads: Threads, keep: Keep | None
    ) -> None:
        self._core = core
        self._publisher = publisher
        self._threads = threads
        self._keep = keep
        self._kept: RunEnded | None = None
        """The end that was given last: a later one is another object."""
        self.busy = False
        """An end is being written: who leaves now would write beside it."""

    def look(self) -> None:
        """Give an end on that was not yet, once all of it is on disk."""
        end = self._core.state.end
        if self._keep is None or self.busy or self._core.unsettled:
            return
        if end is not None and end is not self._kept:
            self._kept, self.busy = end, True
            write = self._write(self._keep, self._publisher.build())
            self._core.spawn(write, "keep the end")

    async def _write(self, keep: Keep, snapshot: Snapshot) -> None:
        try:
            problems = await self._threads(keep, snapshot)
        finally:
            self.busy = False
        for text in problems:
            self._core.put(Note("engine", text))
        # Another end may have come meanwhile, or somebody waits to leave.
        self._core.put(said.Wanted())
