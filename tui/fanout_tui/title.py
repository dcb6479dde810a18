"""The terminal's title, and its bell: what a window shows that nobody looks into.

The title says how far a run is and how much is missing. The bell rings once when the
run has ended or waits for an answer, and only while the window is not looked at.
Terminals that say nothing of focus count as looked at.
"""

from collections.abc import Callable

from fanout.words.snapshot import Snapshot
from fanout_tui.text import one_line
from fanout_tui.view.look import OVER

PUSH = "\x1b[22;2t"
"""Keep the title there was; `stdio.RESET` brings it back. Who does not know it
ignores it."""
BELL = "\x07"
NAME_MAX = 40


class Title:
    """Writes title and bell when they change."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._shown = ""
        self._rang = False
        self.focused = True

    def begin(self) -> None:
        """Keep the title there was."""
        self._write(PUSH)

    def show(self, snapshot: Snapshot, *, asks: bool = False) -> None:
        """Say how the run stands."""
        text = title_of(snapshot)
        if text != self._shown:
            self._shown = text
            self._write(f"\x1b]2;{text}{BELL}")
        calls = asks or snapshot.state in OVER
        if calls and not self._rang and not self.focused:
            self._write(BELL)
        self._rang = calls


def title_of(snapshot: Snapshot) -> str:
    """`audit 41% · 2 missing · paused`; plain characters, nothing of strangers raw."""
    counts = snapshot.counts
    share = counts.done * 100 // counts.expected if counts.expected else 0
    parts = [f"{one_line(snapshot.run.name)[:NAME_MAX]} {share}%"]
    if counts.missing:
        parts.append(f"{counts.missing} missing")
    if snapshot.state != "running":
        parts.append(snapshot.state)
    return " · ".join(parts)
