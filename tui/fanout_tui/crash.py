"""What is kept of a crash of the screen: a traceback, without local values.

Locals may hold prompts and answers; and formatting them takes seconds, in which
the run would stand still.
"""

import os
import traceback
from pathlib import Path

from fanout.words.clean import clean
from fanout.words.hiding import redact

NAME = "screen-crash.txt"


def harmless(text: str) -> str:
    """A traceback that can be shown and passed on: no escapes, no secrets."""
    return clean(redact(text), lines=True)


def keep_traceback(error: BaseException, folder: str | None) -> Path | None:
    """Append the traceback to a file in the run folder; None where it cannot be."""
    if folder is None:
        return None
    path = Path(folder) / NAME
    text = harmless("".join(traceback.format_exception(error)))
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")
    except OSError:
        return None
    return path
