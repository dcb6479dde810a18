"""The question before spending, where there is a terminal and no screen on it.

It goes to stderr, so that stdout stays lines or JSON events; the answer is a line on
stdin, looked for without waiting. No answer is a no.
"""

import os
import select
from contextlib import suppress

from fanout.words.commands import Answer, KeepBudget, Stop
from fanout.words.snapshot import Snapshot
from fanout_tui.command.handle import Handle
from fanout_tui.command.say import warn
from fanout_tui.view.ask import ask_spend

YES = ("y", "yes")


class Asker:
    """Asks once for each question, and hands the answer over."""

    def __init__(self, handle: Handle, source: int) -> None:
        """`source` is the terminal's own descriptor; 0 belongs to the script."""
        self._handle = handle
        self._source = source
        self._number = 0

    def look(self, snapshot: Snapshot) -> None:
        """Ask what is to be asked, or take an answer that has come."""
        for short in snapshot.shorts:
            # Asked on a screen that is gone; plain output ends at a budget.
            self._handle.send(
                KeepBudget(short.phase)
                if short.phase
                else Stop("drain", "budget", short.reason)
            )
        asking = snapshot.asking
        if asking is None:
            return
        if asking.number != self._number:
            self._number = asking.number
            question = ask_spend(asking)
            lines = (f"  {line}" for line in question.lines)
            warn("\n".join([f"fanout-tui: {question.title}", *lines]))
            warn("Go ahead? [y/N]")
            return
        line = self._line()
        if line is not None:
            yes = line.strip().lower() in YES
            self._handle.send(Answer(self._number, yes=yes))

    def _line(self) -> str | None:
        """Return a line, `` at the end of input, or None while there is none."""
        with suppress(OSError, ValueError):
            ready, _, _ = select.select([self._source], [], [], 0)
            if not ready:
                return None
            return os.read(self._source, 4_096).decode("utf-8", "replace")
        return ""


def can_ask(stdin: object, stderr: object) -> bool:
    """Whether there is somebody who reads a question and can answer."""
    streams = (stdin, stderr)
    return all(s is not None and s.isatty() for s in streams)  # type: ignore[attr-defined]
