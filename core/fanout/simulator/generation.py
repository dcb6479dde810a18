"""The pace of an answer: when it begins, how fast it comes, and how it breaks.

A stream keeps a schedule in absolute time, so a late wake-up is caught up and the
rate holds over the whole answer. What is charged is what was produced: a client
that hangs up, or a staged break, ends both.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from fanout.simulator import chance
from fanout.simulator.answer import Answer
from fanout.simulator.breaking import Stall, Stop
from fanout.simulator.call import Call
from fanout.simulator.clock import Clock
from fanout.simulator.events import PING, Piece
from fanout.simulator.profile import GenerationTable

Write = Callable[[bytes], Awaitable[None]]
Charge = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How one request is answered."""

    ttft_seconds: float
    tokens_per_second: float
    ping_seconds: float

    def seconds(self, tokens: int) -> float:
        """How long that many tokens take after the first."""
        return tokens / self.tokens_per_second


def pace(table: GenerationTable, call: Call, uncached: int, seed: int) -> Pace:
    """The pace of a request: the profile's, varied by seed and request."""
    jitter = table.jitter
    late = 1 + chance.between(-jitter, jitter, "ttft", seed, call.digest)
    fast = 1 + chance.between(-jitter, jitter, "rate", seed, call.digest)
    waiting = table.ttft_seconds + table.ttft_per_1k_input * uncached / 1000
    ordered = call.directive
    return Pace(
        ttft_seconds=ordered.ttft if ordered.ttft >= 0 else waiting * late,
        tokens_per_second=ordered.tps or table.tokens_per_second * fast,
        ping_seconds=table.ping_seconds,
    )


async def produce(answer: Answer, how: Pace, clock: Clock, charge: Charge) -> None:
    """Let the time of a plain response pass, charging as it goes."""
    left = answer.tokens
    step = max(1, int(how.tokens_per_second / 4))
    while left > 0:
        done = min(step, left)
        await clock.sleep(how.seconds(done))
        charge(done)
        left -= done


async def play(
    pieces: Iterator[Piece | Stop | Stall],
    how: Pace,
    clock: Clock,
    write: Write,
    charge: Charge,
) -> Stop | None:
    """Send the pieces, each when its tokens are due; the break that ended it."""
    started = last_ping = clock.now()
    produced = 0
    for piece in pieces:
        if isinstance(piece, Stop):
            return piece
        if isinstance(piece, Stall):
            await clock.sleep(piece.seconds)
            started += piece.seconds
            continue
        produced += piece.tokens
        due = started + how.seconds(max(0, produced - 1))
        delay = due - clock.now()
        if delay > 0:
            await clock.sleep(delay)
        if piece.tokens:
            charge(piece.tokens)
        if due - last_ping >= how.ping_seconds:
            last_ping = due
            await write(PING.data)
        await write(piece.data)
    return None
