"""What may not happen at start-up, and what may not reach the terminal."""

import ast
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from fanout_tui.guard import install_guard
from fanout_tui.shots import SHOTS, Shot, of_svg, picture

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "tui" / "fanout_tui"


def loaded_by(module: str) -> set[str]:
    probe = f"import sys, {module}; print(*{{m.split('.')[0] for m in sys.modules}})"
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_the_screen_comes_without_the_sdk() -> None:
    """First paint must not wait for seconds of imports."""
    assert not loaded_by("fanout_tui.launch") & {"anthropic", "aiohttp", "pydantic"}


@pytest.mark.anyio
@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
async def test_the_pictures_are_those_of_the_code(shot: Shot) -> None:
    """Deterministic: made again, they are the same bytes."""
    svg = (ROOT / "screenshots" / f"{shot.name}.svg").read_text()
    png = (ROOT / "screenshots" / f"{shot.name}.png").read_bytes()
    assert await picture(shot) == svg, "poe shots"
    assert of_svg(svg) in png, "poe shots"


def test_a_picture_that_says_what_it_is_of_is_still_a_picture() -> None:
    """Each of its chunks has the sum that it says it has."""
    png = (ROOT / "screenshots" / "main.png").read_bytes()
    at, names = 8, []
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        body = png[at + 4 : at + 8 + size]
        assert zlib.crc32(body).to_bytes(4, "big") == png[at + 8 + size :][:4]
        names.append(body[:4])
        at += size + 12
    assert names[0] == b"IHDR"
    assert names[-2:] == [b"tEXt", b"IEND"]


@pytest.mark.parametrize("name", ["plain", "jsonlines", "summary"])
def test_plain_output_comes_without_the_screen(name: str) -> None:
    assert not loaded_by(f"fanout_tui.{name}") & {"textual", "rich", "anthropic"}


@pytest.mark.parametrize(
    "path", sorted((SOURCE / "view").glob("*.py")), ids=lambda p: p.stem
)
def test_views_are_pure(path: Path) -> None:
    """No terminal library, no clock, no I/O."""
    banned = {"textual", "rich", "time", "asyncio", "os", "pathlib", "random"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not banned & {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in banned


@pytest.mark.parametrize(
    "text",
    ["\x1b[2J", "\x1b]52;c;eA==\x07", "a\x9b31mb", "\u202egnp.exe", "\r\n", "\x07"],
)
@pytest.mark.parametrize(
    "style", [None, Style(bold=True), Style(link="http://a\x1b[2J")]
)
def test_the_guard(text: str, style: Style | None) -> None:
    """Control characters in a strip are shown, with a style and without."""
    install_guard()
    console = Console(color_system="truecolor", force_terminal=True)
    out = Strip([Segment(f"<{text}>", style)]).render(console)
    inner = out[out.index("<") : out.rindex(">")]
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in inner)
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
