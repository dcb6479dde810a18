"""Notices that a script holds its own loop, and says where.

A blocked loop costs the run nothing by itself: calls in flight are read elsewhere.
But whatever the script has yet to ask for waits, and so do its async tools, and a
row that waits for them looks as if nothing held it back.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

HELD_SECONDS = 2.0
BEAT_SECONDS = 0.5


class Heartbeat:
    """Watches one loop from a thread of its own, from `start` to `stop`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        script: str,
        note: Callable[[str, str], None],
        held: float = HELD_SECONDS,
    ) -> None:
        """`note(source, text)` takes one line for each time the loop is held."""
        self._loop = loop
        self._script = script
        self._note = note
        self._held = held
        self._thread_id = threading.get_ident()
        self._over = threading.Event()

    def start(self) -> None:
        """Begin, on the thread that is about to run the loop."""
        threading.Thread(
            target=self._watch, name="fanout-script-heart", daemon=True
        ).start()

    def stop(self) -> None:
        """The loop has done its work."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            beat = threading.Event()
            # The loop may close between two beats.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(beat.set)
                if not self._in_time(beat) and not self._over.is_set():
                    self._say()
                    self._wait_for(beat)

    def _in_time(self, beat: threading.Event) -> bool:
        """Whether the loop came round; an import takes what it takes, and once."""
        came = beat.wait(self._held)
        while not came and self._imports() and not self._over.is_set():
            came = beat.wait(BEAT_SECONDS)
        return came

    def _imports(self) -> bool:
        frames = (frame.f_code.co_filename for frame in self._frames())
        return any(name.startswith("<frozen importlib") for name in frames)

    def _frames(self) -> Iterator[FrameType]:
        """What the script's thread is doing now, the innermost first."""
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001
        while frame is not None:
            yield frame
            frame = frame.f_back

    def _wait_for(self, beat: threading.Event) -> None:
        while not beat.wait(BEAT_SECONDS):
            if self._over.is_set():
                return

    def _say(self) -> None:
        self._note(
            "engine",
            f"the script holds its loop for over {self._held:.0f} s{self._place()}: "
            "what it has yet to ask for waits, and so do its async tools; "
            "hint: await asyncio.to_thread(...) for what takes long",
        )

    def _place(self) -> str:
        """Name the script's line that runs: ` (audit.py:12)`."""
        for frame in self._frames():
            if frame.f_code.co_filename == self._script:
                return f" ({Path(self._script).name}:{frame.f_lineno})"
        return ""
