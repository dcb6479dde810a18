"""A run that stands still, behind the same seam as a live one."""

from collections.abc import Sequence

from fanout.words.commands import Command
from fanout.words.model import RowId
from fanout.words.snapshot import Snapshot
from fanout_tui.bridge import TranscriptLine
from fanout_tui.scenes.rows import START

_SAID = (
    (
        9.0,
        "prompt",
        (
            "Report every unsafe file operation in these files.\n\n"
            "src/auth/search_012.py  214 lines  7,180 bytes"
        ),
    ),
    (11.0, "tool", "list_files src/auth"),
    (11.1, "result", "7 files"),
    (15.0, "tool", "read_file src/auth/search_012.py"),
    (15.2, "result", "214 lines, 7,180 bytes"),
    (
        22.0,
        "text",
        (
            "The handler on line 88 opens the path it was given without "
            "resolving it first, so `..` leads out of the upload folder."
        ),
    ),
    (23.0, "tool", "grep 'open(' src/auth"),
    (23.4, "result", "17 hits in 5 files"),
    (30.8, "call", "call 31 sent, expects 14,200 in, 900 out"),
    (
        22.5,
        "call",
        "call 30 answered  req_011CV  8,140 in + 61,800 cached  412 out  6.1 s",
    ),
    (31.0, "note", "429 input tokens per minute, retry-after 7 s (req_011CX)"),
    (38.0, "note", "sent again, goes on at turn 3"),
    (
        44.0,
        "text",
        (
            "Two more calls follow the same pattern; both are reached only "
            "from the command line, so I rate them lower."
        ),
    ),
)


class SceneHandle:
    """One snapshot for ever; what is sent is kept."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self.sent: list[Command] = []
        self.asked = 0
        self.over = False

    def latest(self) -> Snapshot | None:
        """The scene."""
        return self.snapshot

    def ask(self) -> None:
        """Counted, nothing more."""
        self.asked += 1

    def send(self, command: Command) -> None:
        """Kept for whoever looks."""
        self.sent.append(command)

    def transcript(self, row: RowId) -> Sequence[TranscriptLine]:
        """The same conversation for every row."""
        assert row.key
        return [TranscriptLine(START + at, kind, text) for at, kind, text in _SAID]

    def finished(self) -> bool:
        """True where the test says so."""
        return self.over
