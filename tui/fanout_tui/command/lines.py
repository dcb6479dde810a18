"""What tells a run in lines where there is no screen: words, or JSON."""

from collections.abc import Callable
from typing import Protocol

from fanout.words.snapshot import Snapshot
from fanout_tui.command.say import write


class Output(Protocol):
    """Writes what is new in each snapshot that it is given."""

    def update(self, snapshot: Snapshot) -> None:
        """Write what is new."""

    def every_wait(self, snapshot: Snapshot) -> None:
        """Write what every row waits for; somebody has asked."""

    def close(self, snapshot: Snapshot) -> None:
        """Write what is left to say; this is the last snapshot."""


def output_of(now: Callable[[], float], *, json: bool) -> Output:
    """Return the output that was asked for; `now` is wall time."""
    # Neither pays for the import of the other.
    if json:
        from fanout_tui.jsonlines import JsonLines  # noqa: PLC0415

        return JsonLines(write, now)
    from fanout_tui.plain import PlainOutput  # noqa: PLC0415

    return PlainOutput(write, now)
