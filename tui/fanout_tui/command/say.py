"""Words for people on stdout and stderr; never an exception because of them."""

import sys
from contextlib import suppress
from typing import TextIO

from fanout.words.clean import clean


def write(text: str) -> None:
    """Put one or more lines on stdout."""
    _put(sys.stdout, text)


def warn(text: str) -> None:
    """Put one or more lines on stderr."""
    _put(sys.stderr, text)


def problem(message: str, hint: str = "") -> None:
    """Say what is wrong, and what to do about it."""
    warn(f"fanout-tui: {message}" + (f"\nhint: {hint}" if hint else ""))


def _put(stream: TextIO, text: str) -> None:
    shown = "\n".join(clean(line) for line in text.split("\n"))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # A closed pipe or a terminal that is gone must not end a run.
    with suppress(OSError, ValueError):
        stream.write(shown.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
