"""The calls of a run's last minute, which the account still remembers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    LifeStarted,
    Record,
)
from fanout.words.model import Usage

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Spent:
    """A call that was answered."""

    at: float
    """Wall-clock second."""
    pool: str
    usage: Usage


class Recent:
    """Takes in a run's records; holds what was spent in the last minute of them."""

    def __init__(self) -> None:
        self.calls: deque[Spent] = deque()
        self.pools: dict[int, str] = {}
        """Pools of the calls in flight, by number."""
        self._handlers: dict[type, Callable[[float, Any], None]] = {
            LifeStarted: self._life,
            CallAdmitted: self._admitted,
            CallAnswered: self._answered,
            CallRefused: self._ended,
            CallAbandoned: self._ended,
        }

    def take_in(self, record: Record) -> None:
        """Learn from one record."""
        handler = self._handlers.get(type(record.event))
        if handler is not None:
            handler(record.at, record.event)

    def since(self, at: float) -> list[Spent]:
        """Return what was spent at `at` or later."""
        return [spent for spent in self.calls if spent.at >= at]

    def _life(self, _at: float, _event: LifeStarted) -> None:
        self.pools.clear()

    def _admitted(self, _at: float, event: CallAdmitted) -> None:
        if event.batch is None:
            # What goes out in batches takes nothing from a pool.
            self.pools[event.call] = event.pool

    def _answered(self, at: float, event: CallAnswered) -> None:
        pool = self.pools.pop(event.call, None)
        if pool is None:
            return
        calls = self.calls
        calls.append(Spent(at, pool, event.usage))
        while calls[0].at < at - MINUTE:
            calls.popleft()

    def _ended(self, _at: float, event: CallRefused | CallAbandoned) -> None:
        self.pools.pop(event.call, None)
