"""What the journals on disk and in memory have in common."""

from collections.abc import Callable

from fanout.words.events import DURABLE, Event

OnCommit = Callable[[int], None]
"""Called with the number up to which all records are durable."""
OnError = Callable[[Exception], None]
"""Called when the disk refused; nothing is lost, nothing is durable until a retry."""

_DURABLE = frozenset(DURABLE)


def is_durable(event: Event) -> bool:
    """Whether the world may act on the event only once it is on disk."""
    return type(event) in _DURABLE
