"""Notices that the machine has slept, and says so.

Timers do not run during a sleep and do not notice it afterwards; connections look
whole and are dead. Once a second the clock that goes on asleep is compared with
the one that does not: what it has gained is the sleep. A process that was merely
stopped (`SIGSTOP`) has gained nothing, and its streams may still be good.
"""

import asyncio
from collections.abc import Callable

from fanout.world.clock import Clock

LOOK_SECONDS = 1.0
SLEPT_SECONDS_MIN = 5.0
"""Shorter ones leave connections as they were."""


async def watch_sleep(clock: Clock, on_wake: Callable[[float], None]) -> None:
    """Call `on_wake` with the seconds slept, after each sleep; until cancelled."""
    before = clock.now() - clock.awake()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        after = clock.now() - clock.awake()
        if after - before > SLEPT_SECONDS_MIN:
            on_wake(after - before)
        before = after
