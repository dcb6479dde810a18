"""Words for people on stdout and stderr; never an exception because of them."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from fanout.words.clean import clean

_own: list[tuple[TextIO, TextIO]] = []
"""Where our words go while a script has stdout and stderr for itself."""


def write(text: str) -> None:
    """Put one or more lines on stdout."""
    _put(_own[-1][0] if _own else sys.stdout, text)


def write_raw(text: str) -> None:
    """Put text on stdout byte for byte; it was made safe where it was made."""
    with suppress(OSError, ValueError):
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


def warn(text: str) -> None:
    """Put one or more lines on stderr."""
    _put(_own[-1][1] if _own else sys.stderr, text)


@contextmanager
def through(out: int, err: int) -> Iterator[None]:
    """Use these descriptors instead of 1 and 2, which a script writes to."""
    with (
        os.fdopen(os.dup(out), "w", encoding=_encoding(sys.stdout)) as o,
        os.fdopen(os.dup(err), "w", encoding=_encoding(sys.stderr)) as e,
    ):
        _own.append((o, e))
        try:
            yield
        finally:
            _own.pop()


def _encoding(stream: TextIO) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def problem(message: str, hint: str = "") -> None:
    """Say what is wrong, and what to do about it."""
    warn(f"fanout-tui: {message}" + (f"\nhint: {hint}" if hint else ""))


def _put(stream: TextIO, text: str) -> None:
    shown = "\n".join(clean(line) for line in text.split("\n"))
    encoding = _encoding(stream)
    # A closed pipe or a terminal that is gone must not end a run.
    with suppress(OSError, ValueError):
        stream.write(shown.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
