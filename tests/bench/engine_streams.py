"""What many live streams cost the engine: CPU of this process, lag of its loop.

    python tests/bench/engine_streams.py [--streams 200] [--seconds 20]

A real run over real HTTP against the simulated account in its own process: as
many agents as streams, each answering for so many seconds in 20 pieces a second,
all of it read, shown and journaled. CPU is the whole process's, script and
journal threads included; lag is how late a 10 ms sleep on the engine's loop wakes.
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from fanout.access import reach
from fanout.config import Config
from fanout.life import Life, Setting
from fanout.place import open_place
from fanout.script.loading import locate
from fanout.simulator.process import SimulatedAccount
from fanout.world.clock import SystemClock

RATE = 20
"""Pieces a second."""
TOKENS = 8
"""Tokens a piece."""
SCRIPT = """
import fanout
async def main(streams, tokens):
    agents = (
        fanout.agent(f"[[sim: output={tokens}]] say much", key=f"k{n:03}")
        for n in range(int(streams))
    )
    return len((await fanout.parallel(agents)).done)
"""
PROFILE = f"""
name = "streams"
[limits]
requests = 100000
input_tokens = 100000000
output_tokens = 100000000
[generation]
ttft_seconds = 0.2
tokens_per_second = {RATE * TOKENS}
tokens_per_delta = {TOKENS}
"""


async def watch(lags: list[float]) -> None:
    """Note how late each 10 ms sleep wakes."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - begun - 0.01)


def measure(streams: int, seconds: float, folder: Path) -> dict[str, float]:
    """Run once; figures of the time in which all streams were open."""
    script, profile = folder / "many.py", folder / "streams.toml"
    script.write_text(SCRIPT)
    profile.write_text(PROFILE)
    tokens = int(seconds * RATE * TOKENS)
    config = Config(
        script=script,
        arguments=(str(streams), str(tokens)),
        simulate=True,
        profile=str(profile),
        run_dir=folder / "runs",
    )
    clock = SystemClock()
    with ExitStack() as stack:
        account = stack.enter_context(SimulatedAccount.start(str(profile)))
        access = reach(config, {}, stack, account)
        place = open_place(config, access.endpoint, "bench", clock)
        stack.callback(place.lock.release)
        setting = Setting(
            config=config,
            access=access,
            place=place,
            script=locate(script, config.arguments),
            clock=clock,
            linger=False,
            export=lambda _snapshot, _paths: [],
        )
        life = Life(setting)
        life.may_import.set()
        life.start()
        return figures(life, streams)


def figures(life: Life, streams: int) -> dict[str, float]:
    """Measure from all streams open to the first that ends."""
    lags: list[float] = []
    handle = life.thread
    while in_flight(life) < streams and not handle.finished():
        handle.wait(0.05)
    engine = handle.engine
    assert engine is not None
    loop = engine.core._loop
    assert loop is not None
    asyncio.run_coroutine_threadsafe(watch(lags), loop)
    begun, cpu = time.perf_counter(), time.process_time()
    while in_flight(life) == streams and not handle.finished():
        handle.ask()
        handle.wait(0.1)
    took, used = time.perf_counter() - begun, time.process_time() - cpu
    seen = sorted(lags)
    handle.wait(120)
    last = handle.latest()
    assert last is not None
    assert last.counts.done == streams, last.counts
    return {
        "streams": streams,
        "seconds": took,
        "cpu": used / took,
        "lag_p50": seen[len(seen) // 2] * 1000,
        "lag_p99": seen[int(len(seen) * 0.99)] * 1000,
        "lag_max": seen[-1] * 1000,
    }


def in_flight(life: Life) -> int:
    engine = life.thread.engine
    return 0 if engine is None else engine.desks.calls.in_flight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = measure(options.streams, options.seconds, Path(folder))
    print("streams  seconds  CPU of a core  loop lag p50 / p99 / max ms")
    print(
        f"{row['streams']:7.0f}  {row['seconds']:7.1f}  {row['cpu']:12.0%}  "
        f"{row['lag_p50']:.1f} / {row['lag_p99']:.1f} / {row['lag_max']:.1f}"
    )


if __name__ == "__main__":
    main()
