"""What a run's last minute has used, which the account still remembers.

Input and the request count from the moment a call was admitted, output from its end.
What was under way at a kill counts by what it was admitted for: the service has most
likely charged its input. Calls in batches have limits of their own.
"""

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
    """What was charged at one moment."""

    at: float
    """Wall-clock second."""
    pool: str
    usage: Usage
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """A call in flight."""

    at: float
    """Wall-clock second of its admission."""
    pool: str
    input: int
    """Tokens it was admitted for."""

    def spent(self, tokens: int) -> Spent:
        """What it took when it was sent."""
        return Spent(self.at, self.pool, Usage(tokens), 1)


class Recent:
    """Takes in a run's records; holds what was spent in the last minute of them."""

    def __init__(self) -> None:
        self.calls: deque[Spent] = deque()
        self.sent: dict[int, Sent] = {}
        """Calls in flight, by number."""
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
        """Return what was spent at `at` or later, the earliest first."""
        flying = [sent.spent(sent.input) for sent in self.sent.values()]
        late = [spent for spent in (*self.calls, *flying) if spent.at >= at]
        return sorted(late, key=lambda spent: spent.at)

    def _life(self, _at: float, _event: LifeStarted) -> None:
        """What an earlier life left under way it never heard of again."""
        self.calls += [sent.spent(sent.input) for sent in self.sent.values()]
        self.sent.clear()

    def _admitted(self, at: float, event: CallAdmitted) -> None:
        if event.batch is None:
            self.sent[event.call] = Sent(at, event.pool, event.need.input)

    def _answered(self, at: float, event: CallAnswered) -> None:
        self._end(at, event.call, event.usage)

    def _ended(self, at: float, event: CallRefused | CallAbandoned) -> None:
        self._end(at, event.call, event.wasted)

    def _end(self, at: float, call: int, usage: Usage) -> None:
        sent = self.sent.pop(call, None)
        if sent is None or not usage.total:
            return
        self.calls.append(sent.spent(usage.charged_input))
        self.calls.append(Spent(at, sent.pool, Usage(0, usage.output_tokens)))
        while self.calls[0].at < at - MINUTE:
            self.calls.popleft()
