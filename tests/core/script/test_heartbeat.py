"""A script that holds its loop is named, once, with the line that does it."""

import asyncio
import importlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.script.heartbeat import Heartbeat

HELD = 0.2


def hold(seconds: float) -> None:
    time.sleep(seconds)


def watched(seconds: float, hold: Callable[[float], None] = hold) -> list[str]:
    """What is said of a loop that is held for so long, twice."""
    said: list[str] = []

    async def main() -> None:
        for _ in range(2):
            await asyncio.sleep(0.01)
            hold(seconds)

    def run() -> None:
        loop = asyncio.new_event_loop()
        heart = Heartbeat(loop, __file__, lambda _, text: said.append(text), HELD)
        heart.start()
        loop.run_until_complete(main())
        heart.stop()
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said


def test_a_held_loop_is_said_with_its_line() -> None:
    (text,) = watched(1.2)[:1]
    line = hold.__code__.co_firstlineno + 1
    assert f"(test_heartbeat.py:{line})" in text
    assert "asyncio.to_thread" in text


def test_an_import_that_takes_long_is_not_held_against_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(1.2)\n")

    def load(_: float) -> None:
        importlib.import_module("slow_to_import")
        sys.modules.pop("slow_to_import")

    assert watched(0.0, load) == []


def test_a_loop_that_goes_round_is_left_alone() -> None:
    assert watched(0.01) == []
