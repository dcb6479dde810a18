"""A script's tool may block or be deaf: the engine's loop does not feel it."""

import asyncio
import threading
import time

import pytest

from fanout.world.agent.toolloop import ToolLoop


async def blocks(seconds: float) -> str:
    time.sleep(seconds)  # noqa: ASYNC251  that is the point
    return "done"


async def deaf(enough: threading.Event) -> None:
    while not enough.is_set():
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue


def test_a_tool_that_blocks_holds_up_its_own_loop_only() -> None:
    async def go() -> list[float]:
        tools, gaps = ToolLoop(), [0.0]
        tool = asyncio.create_task(tools.run(blocks(0.6)))
        last = time.perf_counter()
        while not tool.done():
            await asyncio.sleep(0.01)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now
        assert await tool == "done"
        await tools.close()
        return gaps

    assert max(asyncio.run(go())) < 0.4


def test_a_tool_that_swallows_its_cancellation_is_left() -> None:
    async def go() -> None:
        tools, enough = ToolLoop(), threading.Event()
        tool = asyncio.create_task(tools.run(deaf(enough)))
        await asyncio.sleep(0.2)
        tool.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(1.0):
                await tool
        enough.set()
        await asyncio.sleep(0.2)
        await tools.close()

    asyncio.run(go())
