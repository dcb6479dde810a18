"""Pictures of the screen from fixed states: `python -m fanout_tui.shots FOLDER`.

The same bytes come out on every machine: the states are functions of nothing,
the clock stands still, and nothing moves by itself. PNGs are drawn from these by
`resvg_py`, which is among the tools for development; each says of which SVG.
"""

import argparse
import asyncio
import hashlib
import importlib
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fanout.words.snapshot import Snapshot
from fanout_tui.app import FanoutApp
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes.rows import NOW
from fanout_tui.scenes.states import SCENES
from fanout_tui.view.history import SECONDS

FONT = "DejaVu Sans Mono"
"""Of the PNGs: Textual's own font would be fetched from the network."""
_END_BYTES = 12
"""Of the chunk that ends every PNG."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture."""

    name: str
    scene: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()


SHOTS = (
    Shot("main", "running", (132, 34), ("down", "down")),
    Shot("main-80x24", "running", (80, 24)),
    Shot("agent", "running", (110, 30), ("enter",)),
    Shot("report", "finished", (100, 34), ("e",)),
)


async def picture(shot: Shot) -> str:
    """The screen as SVG."""
    snapshot = SCENES[shot.scene]()
    app = FanoutApp(SceneHandle(snapshot), clock=lambda: NOW, ticking=False)
    for past in _minute(snapshot):
        app.history.take(past)
    async with app.run_test(size=shot.size) as pilot:
        await pilot.pause()
        await pilot.press(*shot.keys)
        await app.workers.wait_for_complete()
        await pilot.pause()
        svg = app.export_screenshot(title="fanout-tui", simplify=True)
    return re.sub(r"terminal-\d+", "terminal-0", svg)


def _minute(snapshot: Snapshot) -> Iterator[Snapshot]:
    """The minute before a scene: a ramp that meets its limit."""
    for second in range(SECONDS):
        share = min(1.0, 0.2 + second / 55) * (1.0 if second % 9 else 0.86)
        pools = tuple(
            replace(
                pool,
                buckets=tuple(
                    replace(bucket, spent=int(bucket.spent * share))
                    for bucket in pool.buckets
                ),
            )
            for pool in snapshot.pools
        )
        yield replace(snapshot, at=snapshot.at - SECONDS + second, pools=pools)


def of_svg(svg: str) -> bytes:
    """What a PNG says of the SVG it was drawn from."""
    return b"svg-sha256\0" + hashlib.sha256(svg.encode()).hexdigest().encode()


def signed(png: bytes, svg: str) -> bytes:
    """The PNG, with a note before its end of what it was drawn from.

    Fonts make its pixels differ between machines; whether it is stale must not.
    """
    head, end = png[:-_END_BYTES], png[-_END_BYTES:]
    body = b"tEXt" + of_svg(svg)
    size, sum_ = len(body) - 4, zlib.crc32(body)
    return head + size.to_bytes(4, "big") + body + sum_.to_bytes(4, "big") + end


def rasterizer() -> Callable[[str], bytes] | None:
    """Makes a PNG of an SVG, where the tool for it is installed."""
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ImportError:
        return None

    def rasterize(svg: str) -> bytes:
        svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
        svg = svg.replace("Fira Code", FONT)
        made = resvg.svg_to_bytes(
            svg_string=svg, monospace_family=FONT, font_family=FONT
        )
        return bytes(made)

    return rasterize


def main(arguments: list[str]) -> None:
    """Write all pictures into a folder; exit with 1 where PNGs cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m fanout_tui.shots")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    rasterize = rasterizer()
    for shot in SHOTS:
        svg = asyncio.run(picture(shot))
        (folder / f"{shot.name}.svg").write_text(svg, encoding="utf-8")
        if rasterize is not None:
            png = signed(rasterize(svg), svg)
            (folder / f"{shot.name}.png").write_bytes(png)
    if rasterize is None:
        sys.exit("no PNGs were made: pip install resvg_py")


if __name__ == "__main__":
    main(sys.argv[1:])
