"""The app on a stage: a fixed scene, a size, keys; what one then sees."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from fanout_tui.app import FanoutApp
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes.rows import NOW
from fanout_tui.scenes.states import SCENES

GOLDENS = Path(__file__).parent / "goldens"
SIZES = ((40, 12), (80, 24), (140, 45))


class Stage:
    """The app, its run, and the keys."""

    def __init__(self, app: FanoutApp, handle: SceneHandle, pilot: Pilot[None]) -> None:
        self.app = app
        self.handle = handle
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.simulate_key(key)
            await self.settle()

    async def settle(self) -> None:
        """Until nothing is left to draw."""
        await self.pilot.pause(0)
        for _ in range(20):
            # One that was overtaken says so, while its successor still works.
            with suppress(WorkerCancelled):
                await self.app.workers.wait_for_complete()
                break
        await self.pilot.pause(0)
        await self.pilot.pause(0)

    def grid(self) -> list[str]:
        """What stands on the screen, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    def text(self) -> str:
        return "\n".join(self.grid())


@asynccontextmanager
async def staged(
    scene: str, size: tuple[int, int] = (80, 24), *, keys: Sequence[str] = (), **options
) -> AsyncIterator[Stage]:
    handle = SceneHandle(SCENES[scene]())
    app = FanoutApp(handle, clock=lambda: NOW, ticking=False, **options)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, handle, pilot)
        await stage.settle()
        await stage.press(*keys)
        if keys:
            # The next frame, as it comes ten times a second.
            app.draw()
            await stage.settle()
        yield stage


def assert_golden(name: str, lines: Sequence[str]) -> None:
    """Fail unless the lines are those of `goldens/<name>.txt`."""
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        GOLDENS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{name} changed; look at it, then GOLDEN=write"
    )
