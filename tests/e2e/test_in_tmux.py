"""A screen run end to end in a real terminal multiplexer, steered by its keys."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui.terminal import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.soak,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not here"),
]

SCRIPT = """
import fanout
async def main():
    async with fanout.phase("count"):
        await fanout.parallel(
            fanout.agent(
                f"Say {n}. [[sim: output=400{' error=400' if n == 7 else ''}]]",
                key=f"part-{n:02}",
            )
            for n in range(40)
        )
"""
PROFILE = """
limits = { requests = 200, input_tokens = 60000, output_tokens = 16000 }
"""
SECONDS = 60.0


class Tmux:
    """One window of a server of its own."""

    def __init__(self, folder: Path, command: str) -> None:
        self._base = ["tmux", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", "110", "-y", "32", command)
        self._run("set-option", "-g", "remain-on-exit", "on")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._base, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return done.stdout

    def keys(self, *names: str) -> None:
        self._run("send-keys", *names)

    def text(self) -> str:
        return self._run("capture-pane", "-p")

    def wait(self, is_so: Callable[[str], object], what: str) -> str:
        """The screen, once it is so."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = self.text()
            if is_so(text):
                return text
            time.sleep(0.1)
        raise AssertionError(f"{what} did not come:\n{self.text()}")

    def close(self) -> None:
        subprocess.run([*self._base, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Tmux]:
    (tmp_path / "forty.py").write_text(SCRIPT)
    (tmp_path / "account.toml").write_text(PROFILE)
    paths = f"PYTHONPATH={ROOT / 'core'}:{ROOT / 'tui'}"
    words = "--simulate --profile account.toml forty.py"
    tmux = Tmux(
        tmp_path,
        f"cd {tmp_path} && env {paths} {sys.executable} -m fanout_tui {words}; "
        "echo left with $?; sleep 60",
    )
    yield tmux
    tmux.close()


def ceiling(text: str) -> int:
    found = re.search(r"\d+/(\d+) (auto|manual)", text)
    assert found, text
    return int(found[1])


def missing(text: str) -> int:
    found = re.search(r"✗(\d+)", text)
    assert found, text
    return int(found[1])


def test_pause_lower_raise_requeue_export_and_quit(
    window: Tmux, tmp_path: Path
) -> None:
    window.wait(lambda text: "part-00" in text and "RUNNING" in text, "the first rows")
    window.keys("p")
    window.wait(lambda text: "PAUSED" in text, "the pause")
    window.wait(lambda text: re.search(r" 0/\d+ ", text), "the end of what flew")
    window.keys("p")
    window.wait(lambda text: "RUNNING" in text, "the run again")
    window.keys("-")
    lower = ceiling(
        window.wait(lambda text: re.search(r"/\d+ manual", text), "the ceiling")
    )
    window.keys("]")
    window.wait(lambda text: ceiling(text) >= lower + 5, "the higher ceiling")
    window.keys("A")
    window.wait(lambda text: re.search(r"/\d+ auto", text), "the ceiling at auto")
    window.wait(lambda text: missing(text) == 1, "the rejected row")
    window.wait(lambda text: "INCOMPLETE" in text, "the end")
    window.keys("R")
    window.wait(lambda text: "requeue 1 missing row?" in text, "the question")
    window.keys("y")
    window.wait(lambda text: "requeue 1 missing row?" not in text, "the answer")
    window.keys("e")
    window.wait(lambda text: "Completeness" in text, "the report")
    window.keys("w")
    run = next(p for p in (tmp_path / ".fanout").iterdir() if p.is_dir())
    window.wait(lambda _: (run / "report.csv").exists(), "the report's files")
    window.keys("Escape")
    window.wait(lambda text: "STATUS" in text, "the rows")
    window.keys("q")
    text = window.wait(lambda text: "left with" in text, "the shell")
    assert "left with 3" in text
    assert "39 of 40" in text or "part-07" in text
