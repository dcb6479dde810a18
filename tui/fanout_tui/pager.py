"""A text in the user's own pager, with the screen out of the way meanwhile.

The run goes on: it has a thread of its own. Only the screen waits.
"""

import os
import shlex
import subprocess
import tempfile
from typing import IO

from textual.app import App, SuspendNotSupported

from fanout_tui.stdio import Terminal

FALLBACK = "less"


def command() -> list[str]:
    """`$PAGER`, else `less`."""
    try:
        return shlex.split(os.environ.get("PAGER", "")) or [FALLBACK]
    except ValueError:
        return [FALLBACK]


def show(app: App[None], terminal: Terminal | None, text: str) -> str:
    """Show `text`; says what went wrong, or nothing."""
    if terminal is None:
        return "there is no terminal to page on"
    try:
        # Nothing may be painted while the screen is away: it would wait for ever.
        with app.batch_update(), tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            file.write(text)
            file.seek(0)
            with app.suspend():
                _run(file, terminal)
    except (OSError, SuspendNotSupported) as error:
        return f"the pager failed: {error}"
    return ""


def _run(file: IO[str], terminal: Terminal) -> None:
    """The pager reads the text as its input, and its keys from the terminal."""
    subprocess.run(  # noqa: S603  (the user's own choice of program)
        command(),
        stdin=file,
        stdout=terminal.sink,
        stderr=terminal.sink,
        check=False,
    )
