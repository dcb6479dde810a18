"""What a call under way says, turned into messages, and not too many of them."""

from collections.abc import Callable

from fanout.decide.assembly import Text
from fanout.words.model import RowId, Usage
from fanout.words.outcome import Limits
from fanout.world.core import Core
from fanout.world.messages import InputKnown, Opened, Progressed

PROGRESS_SECONDS = 0.2
"""How often a stream's progress is worth a message."""

Sink = Callable[[bytes], None]


class Watching:
    """Turns what a call under way says into messages, not too many of them."""

    def __init__(self, core: Core, call: int, row: RowId, sink: Sink | None) -> None:
        self._core = core
        self._call = call
        self._row = row
        self._sink = sink
        self._next = 0.0

    def opened(self, limits: Limits) -> None:
        """Headers of a 200 have come."""
        self._core.put(Opened(self._call, limits))

    def input_known(self, usage: Usage) -> None:
        """The service has said what the input costs."""
        self._core.put(InputKnown(self._call, usage))

    def progressed(self, output_tokens: int, doing: str, saying: Text = str) -> None:
        """Something came."""
        now = self._core.clock.now()
        if now >= self._next:
            self._next = now + PROGRESS_SECONDS
            self._core.put(
                Progressed(self._row, self._call, output_tokens, doing, saying())
            )

    def received(self, chunk: bytes) -> None:
        """Bytes of the stream."""
        if self._sink is not None:
            self._sink(chunk)
