"""Notes once a second what admission shows, for watchers and replays."""

from fanout.decide.observing import Seen, observe
from fanout.words.observed import Observed
from fanout.world.core import Core
from fanout.world.snapshots import Publisher

EVERY_SECONDS = 1.0


class Observer:
    """Puts into the journal what the screen is shown, while it changes."""

    def __init__(self, core: Core, publisher: Publisher) -> None:
        self._core = core
        self._publisher = publisher
        self._next = 0.0
        self._last: Observed | None = None

    def look(self) -> None:
        """Note what is shown now, if it is time and something has changed."""
        core = self._core
        now = core.clock.now()
        if now < self._next or not core.state.rows or core.state.end is not None:
            return
        self._next = now + EVERY_SECONDS
        pools, gates, ceiling = self._publisher.admission(now)
        event = observe(Seen(pools, gates, ceiling, self._publisher.left(now)))
        if event != self._last:
            self._last = event
            core.record(event)
