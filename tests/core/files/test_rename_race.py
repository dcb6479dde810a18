"""A folder that turns into a link and back while tools walk through it."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fanout.files.outputs import OutputFolder
from fanout.files.tools import write_tools
from fanout.script.parts.partition import partition
from figures import record_figure


@contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """`root/door` is by turns a folder and a link to the outside."""
    real, link, door = root / "real", root / "link", root / "door"
    real.mkdir()
    (real / "secret.txt").write_text("harmless\n")
    link.symlink_to(outside)
    over = threading.Event()

    def there_and_back(path: Path) -> None:
        try:
            path.rename(door)
        except OSError:
            # A write has just made a folder of that name.
            shutil.rmtree(door, ignore_errors=True)
        else:
            door.rename(path)

    def swap() -> None:
        while not over.is_set():
            there_and_back(real)
            there_and_back(link)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def race(place, seconds: float) -> int:
    tools = {tool.name: tool for tool in write_tools(place.root)}
    outputs = OutputFolder(place.root)
    before = place.state_outside()
    tries = opened = 0
    with swapping(place.root, place.outside):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(50):
                tries += 1
                got = tools["read"].call({"file_path": "door/secret.txt"})
                assert place.canary not in str(got.content)
                opened += not got.is_error
                outputs.verify("door/secret.txt")
            tools["write"].call({"file_path": "door/secret.txt", "content": "mine\n"})
            listed = tools["glob"].call({"pattern": "door/*"})
            assert "sub" not in str(listed.content)
            for part in partition(place.root, "**/*.txt", max_tokens=100):
                assert all(piece.bytes != len(place.canary) for piece in part.pieces)
    assert place.state_outside() == before
    assert opened, "the race was never on"
    return tries


def test_nothing_leaks_in_a_short_race(place) -> None:
    assert race(place, 2.0) > 500


@pytest.mark.long
@pytest.mark.soak
def test_nothing_leaks_in_a_long_race(place) -> None:
    tries = race(place, 60.0)
    assert tries > 20_000
    name = "a rename race against the file tools"
    record_figure(name, "60 s, 0 escapes", tries, unit="tries in 60 s, 0 escapes")
