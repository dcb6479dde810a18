"""Words for people on stdout and stderr; never an exception because of them."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from fanout.decide.ending import SIGNALS
from fanout.words.clean import clean
from fanout.words.hiding import redact
from fanout_tui.stdio import give_back

_own: list[tuple[TextIO, TextIO]] = []
"""Where our words go while a script has stdout and stderr for itself."""


_gone: list[TextIO] = []
"""Outputs that could not be written to, which was said."""


class Ended(BaseException):
    """A signal ended the command where there was no run to stop."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"stopped by {name} {what}")
        self.code = SIGNALS[name]


def write(text: str) -> None:
    """Put one or more lines on stdout."""
    _put(_own[-1][0] if _own else sys.stdout, text)


def write_raw(text: str) -> None:
    """Put text on stdout byte for byte; it was made safe where it was made."""
    give_back()
    with suppress(OSError, ValueError):
        if sys.stdout is not None:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()


def warn(text: str) -> None:
    """Put one or more lines on stderr."""
    _put(_own[-1][1] if _own else sys.stderr, text)


@contextmanager
def through(out: int, err: int) -> Iterator[None]:
    """Use these descriptors instead of 1 and 2, which a script writes to.

    Afterwards stdout and stderr are there again, whatever the script made of them.
    """
    found = (sys.stdout, sys.stderr)
    own = (
        os.fdopen(os.dup(out), "w", encoding=_encoding(sys.stdout)),
        os.fdopen(os.dup(err), "w", encoding=_encoding(sys.stderr)),
    )
    _own.append(own)
    try:
        yield
    finally:
        _own.pop()
        sys.stdout, sys.stderr = _mended(out, found[0]), _mended(err, found[1])
        for stream in own:
            # What a full disk would not take is lost; the run is not.
            with suppress(OSError):
                stream.close()


def _mended(number: int, stream: TextIO) -> TextIO:
    """Return a stream as it was found; if it was closed, another like it."""
    if stream is None or not stream.closed:
        return stream
    return os.fdopen(os.dup(number), "w", encoding=_encoding(stream))


def whole_descriptors() -> None:
    """Open what of 0, 1 and 2 is closed: the journal's file must not become one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def problem(message: str, hint: str = "") -> None:
    """Say what is wrong, and what to do about it."""
    warn(f"fanout-tui: {message}" + (f"\nhint: {hint}" if hint else ""))


def _put(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    give_back()
    shown = "\n".join(clean(line) for line in redact(text).split("\n"))
    encoding = _encoding(stream)
    # A closed pipe or a terminal that is gone must not end a run.
    try:
        stream.write(shown.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
    except (OSError, ValueError):
        _forget(stream)
        _say_once(stream)


def _say_once(stream: TextIO) -> None:
    """A run whose output nobody takes goes on: its report is in a file."""
    if not _own or stream is not _own[-1][0] or stream in _gone:
        return
    _gone.append(stream)
    warn(
        "fanout-tui: nobody takes the standard output any more; the run goes on\n"
        "hint: its reports are written all the same; `fanout-tui report last`"
    )


def _forget(stream: TextIO) -> None:
    """Say nothing more there: Python would fail over it once more at its exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is stream:
            setattr(sys, name, None)
