"""Cuts calls that have gone silent, counting only time the loop was alive.

A timer that compares clock readings kills healthy streams after the process was
stopped, the machine slept, or a C call held the interpreter for seconds: the
bytes were there, nobody had read them. The watchdog therefore counts its own
ticks. A blocked loop does not tick, so silence is what is left: seconds in which
we could have read and there was nothing to read.

A call is guarded in stages (`connect`, `first-byte`, `idle`), each with a limit
of its own, and as a whole. After the machine slept, connections are dead however
fresh they look: `cut_all` ends what is guarded at once.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from fanout.words.timeouts import Timeouts, duration

TICK_SECONDS = 1.0
SAID = {
    "connect": "does not answer within {}",
    "first-byte": "nothing came for {} after it was sent",
    "idle": "nothing came for {}, not even a ping",
    "call": "not finished after {}",
    "plain": "no answer within {}",
}


class Cut(Exception):  # noqa: N818  a fact, not a defect
    """A guarded wait was ended: by a limit, or because the machine slept."""

    def __init__(self, text: str, *, limit: str = "") -> None:
        super().__init__(text)
        self.limit = limit
        """Name of the timeout; empty after a sleep."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many seconds of silence, and what the limit is called."""

    name: str
    seconds: float

    @property
    def cut(self) -> Cut:
        """What is raised when it is passed."""
        return Cut(SAID[self.name].format(duration(self.seconds)), limit=self.name)


ENDLESS = Limit("call", math.inf)


class Guard:
    """One guarded wait; `alive()` starts its silence anew."""

    def __init__(self, watchdog: "Watchdog", silence: Limit, whole: Limit) -> None:
        self._watchdog = watchdog
        self._silence = silence
        self._whole = whole
        self._begun = self._last = watchdog.ticks
        self._task = asyncio.current_task()
        self.cut: Cut | None = None
        """Why it was ended; None while it was not."""

    @property
    def stage(self) -> str:
        """Name of the limit that holds now."""
        return self._silence.name

    def alive(self, silence: Limit | None = None) -> None:
        """Something came; from now on `silence` is allowed."""
        self._last = self._watchdog.ticks
        if silence is not None:
            self._silence = silence

    def check(self) -> None:
        """End the wait when it has been silent, or has gone on, for too long."""
        ticks = self._watchdog.ticks
        if (ticks - self._last) * TICK_SECONDS > self._silence.seconds:
            self.end(self._silence.cut)
        elif (ticks - self._begun) * TICK_SECONDS > self._whole.seconds:
            self.end(self._whole.cut)

    def end(self, cut: Cut) -> None:
        """Cancel the guarded task; what it raises then is `cut`."""
        if self.cut is None and self._task is not None:
            self.cut = cut
            self._task.cancel()


_guarding: ContextVar[Guard | None] = ContextVar("guarding", default=None)


def guarding() -> Guard | None:
    """Return the guard of the call that is being made here, if there is one."""
    return _guarding.get()


class Watchdog:
    """One ticker for all guarded waits of a loop."""

    def __init__(self) -> None:
        self.ticks = 0
        self._guards: set[Guard] = set()

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.ticks += 1
            for guard in tuple(self._guards):
                guard.check()

    def cut_all(self, text: str) -> None:
        """End every guarded wait, for a reason that is no limit."""
        for guard in tuple(self._guards):
            guard.end(Cut(text))

    @asynccontextmanager
    async def guard(
        self, silence: Limit, whole: Limit = ENDLESS
    ) -> AsyncIterator[Guard]:
        """Guard the current task; raises `Cut` when it was ended."""
        guard = Guard(self, silence, whole)
        self._guards.add(guard)
        token = _guarding.set(guard)
        try:
            yield guard
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if guard.cut is not None and task is not None and task.uncancel() == 0:
                raise guard.cut from None
            raise
        finally:
            _guarding.reset(token)
            self._guards.discard(guard)


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The limits of one call, in the order of its stages."""

    connect: Limit
    first_byte: Limit
    idle: Limit
    call: Limit
    plain: Limit


def limits_of(timeouts: Timeouts, *, connects_seen: bool = True) -> StreamLimits:
    """Return the limits; where connecting is not seen, it shares the first byte's."""
    first = Limit("first-byte", timeouts.first_byte)
    together = Limit("first-byte", timeouts.connect + timeouts.first_byte)
    return StreamLimits(
        connect=Limit("connect", timeouts.connect) if connects_seen else together,
        first_byte=first,
        idle=Limit("idle", timeouts.between_bytes),
        call=Limit("call", timeouts.call),
        plain=Limit("plain", timeouts.plain),
    )
