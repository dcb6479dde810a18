"""Async tools run on the loop of the script that gave them."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from fanout.files.adapters import adapt


@pytest.fixture
def home() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_tool_may_use_what_belongs_to_the_scripts_loop(
    home: asyncio.AbstractEventLoop,
) -> None:
    async def given() -> object:
        lock = asyncio.Lock()
        await lock.acquire()

        async def guarded(word: str) -> str:
            """Say it under the script's lock."""
            async with lock:
                return f"{word} on {asyncio.get_running_loop() is home}"

        tool = adapt(guarded)
        asyncio.get_running_loop().call_later(0.05, lock.release)
        return tool

    tool = asyncio.run_coroutine_threadsafe(given(), home).result()
    result = asyncio.run(tool.run({"word": "hello"}))
    assert (result.content, result.is_error) == ("hello on True", False)


def test_a_script_that_ends_leaves_its_tool_with_an_error() -> None:
    home = asyncio.new_event_loop()
    begun = threading.Event()

    async def given() -> object:
        async def endless() -> str:
            """Never come back."""
            begun.set()
            await asyncio.sleep(3600)
            return ""

        return adapt(endless)

    def end() -> None:
        begun.wait()
        for task in asyncio.all_tasks(home):
            home.call_soon_threadsafe(task.cancel)

    tool = home.run_until_complete(given())
    thread = threading.Thread(target=home.run_forever)
    thread.start()
    threading.Thread(target=end).start()
    result = asyncio.run(tool.run({}))
    home.call_soon_threadsafe(home.stop)
    thread.join()
    home.close()
    assert result.is_error
    assert "the script ended while the tool ran" in str(result.content)
