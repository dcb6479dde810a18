"""What a row with a call under way is doing, as screens are told it.

A slow stream, a silent one and a request without an answer are told apart by what
is kept here: when anything came, when output came, and how much silence the stage
that the call is in allows.
"""

from fanout.words.model import Cause, RowId
from fanout.words.snapshot import Live
from fanout.words.timeouts import Timeouts
from fanout.world.core import Core
from fanout.world.messages import Progressed


class Showing:
    """Keeps the live state of rows with calls."""

    def __init__(self, core: Core, timeouts: Timeouts) -> None:
        self._core = core
        self._timeouts = timeouts

    def admitted(self, row: RowId) -> None:
        """A call is on its way."""
        wall = self._core.clock.wall()
        self._core.live[row] = Live(
            cause=Cause.SENT,
            active_at=wall,
            grown_at=wall,
            silence_max=self._timeouts.connect + self._timeouts.first_byte,
        )

    def progressed(self, message: Progressed) -> None:
        """Something came: output, or a sign of life."""
        wall = self._core.clock.wall()
        before = self._core.live.get(message.row)
        grown_at = wall
        if before is not None and before.output_tokens == message.output_tokens:
            grown_at = before.grown_at or wall
        self._core.live[message.row] = Live(
            cause=Cause.STREAMING,
            note=f"writes {message.doing}" if message.doing else "",
            output_tokens=message.output_tokens,
            active_at=wall,
            grown_at=grown_at,
            silence_max=self._timeouts.between_bytes,
            said=message.saying,
        )
