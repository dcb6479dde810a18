"""A text in the user's own pager, with the screen out of the way meanwhile.

The run goes on: it has a thread of its own. Only the screen waits.
"""

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from textual.app import App, SuspendNotSupported

from fanout_tui.stdio import Terminal

FALLBACK = "less"
WAIT_S = 0.05
PATIENCE = 20
"""How often that long a pager is waited for that was asked to end."""


def command() -> list[str]:
    """`$PAGER`, else `less`."""
    try:
        return shlex.split(os.environ.get("PAGER", "")) or [FALLBACK]
    except ValueError:
        return [FALLBACK]


def show(
    app: App[None],
    terminal: Terminal | None,
    text: str,
    called_away: Callable[[], bool],
) -> str:
    """Show `text`; says what went wrong, or nothing.

    `called_away`: the run has been ended from outside, or nobody is there any more;
    the pager is ended then, too.
    """
    if terminal is None:
        return "there is no terminal to page on"
    problem = ""
    try:
        # Nothing may be painted while the screen is away: nobody would see it.
        with app.batch_update(), tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            file.write(text)
            file.seek(0)
            with app.suspend():
                # Within: whatever happens there, the screen has to come back.
                problem = _run(file, terminal, called_away)
    except (OSError, SuspendNotSupported) as error:
        return f"the pager failed: {error}"
    return problem


def _run(file: IO[str], terminal: Terminal, called_away: Callable[[], bool]) -> str:
    """The pager reads the text as its input, and its keys from the terminal."""
    # There is no shell to go back to. One that stops all the same is woken below, but
    # not what it has started: of that a stop is not told.
    stops = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        pager = subprocess.Popen(  # noqa: S603  (the user's own choice of program)
            command(),
            stdin=file,
            stdout=terminal.sink,
            stderr=terminal.sink,
            # What is typed there is for it alone: Ctrl-C stops its search, not the run.
            process_group=0,
        )
    except (OSError, ValueError) as error:
        return f"the pager failed: {error}"
    finally:
        signal.signal(signal.SIGTSTP, stops)
    with terminal.lent(pager.pid):
        return _await(pager, called_away)


def _await(pager: "subprocess.Popen[bytes]", called_away: Callable[[], bool]) -> str:
    """Wait for its end; end it where nobody looks any more."""
    ends = iter((signal.SIGTERM, *[0] * PATIENCE, signal.SIGKILL))
    while True:
        found, status = os.waitpid(pager.pid, os.WNOHANG | os.WUNTRACED)
        if found and not os.WIFSTOPPED(status):
            pager.returncode = os.waitstatus_to_exitcode(status)
            break
        with suppress(ProcessLookupError):
            if found:
                os.killpg(pager.pid, signal.SIGCONT)
            if called_away():
                os.killpg(pager.pid, next(ends, 0))
        time.sleep(WAIT_S)
    code = pager.returncode
    return f"the pager failed: it ended with {code}" if code > 0 else ""
