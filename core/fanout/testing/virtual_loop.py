"""An asyncio loop whose clock jumps over idle time, for tests and simulations.

Time moves only when nothing can run: the selector is asked to sleep until the
next timer, and instead of sleeping it advances the clock by that much. A loop
that waits for nothing at all raises, which makes every test one of liveness.
Threads are unknown to it; whoever needs one passes an inline runner instead.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

NUDGE = 1e-7
"""Seconds that pass in every turn of the loop: a timer that is due by all but a
rounding error would otherwise be set again and again at the same instant."""


class Deadlock(RuntimeError):  # noqa: N818  what it is
    """No task can run and no timer is set."""


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that turns every wait into a jump of virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Return ready keys; with none ready, jump `timeout` seconds ahead."""
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise Deadlock("no task can run and no timer is set")
        self.now += max(timeout, NUDGE)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`loop.time()` is virtual; `asyncio.sleep(3600)` returns at once."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now


class LoopClock:
    """A `Clock` that reads the loop it is used on, and may be asleep or be set."""

    def __init__(self, epoch: float = 1_800_000_000.0) -> None:
        self.epoch = epoch
        self._asleep = 0.0

    def now(self) -> float:
        """Seconds of the running loop, and those slept through."""
        return self.awake() + self._asleep

    def awake(self) -> float:
        """Seconds of the running loop: its timers stand still during a sleep."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """The same, counted from a date."""
        return self.epoch + self.now()

    def sleep(self, seconds: float) -> None:
        """The machine has slept: every clock is ahead of the loop's."""
        self._asleep += seconds

    def step(self, seconds: float) -> None:
        """Somebody has set the wall clock."""
        self.epoch += seconds


async def inline(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run blocking work where it stands: `asyncio.to_thread` for virtual time."""
    return function(*arguments)
