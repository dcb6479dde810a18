"""A search through files with a pattern that nobody has to trust.

Python's regular expressions can run for years on one line and hold every
thread while they do. So the files are read here, confined as ever, and matched
in a child process with a time limit. What was found until then is kept, and
where it stopped is said.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fanout.files.safefile import Content

SECONDS = 5.0

_CHILD = str(Path(__file__).with_name("search_child.py"))


@dataclass(frozen=True, slots=True)
class Match:
    """One line that the pattern was found in."""

    path: str
    line: int
    """From 1."""
    text: str
    """At most 500 characters of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What a search gave before it ended or was stopped."""

    matches: list[Match]
    digests: dict[str, str]
    """Path to SHA-256 of each file with a match."""
    full: bool
    """Whether it ended because enough was found."""
    stopped_at: str | None
    """The file in which time ran out."""
    bad_pattern: str | None
    """Why the pattern cannot be used."""


@dataclass(slots=True)
class _Sent:
    paths: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)


def search(
    pattern: str,
    files: Iterable[tuple[str, Content]],
    *,
    limit: int,
    seconds: float = SECONDS,
) -> Searched:
    """Return the lines of `files` that match, in order. Blocking.

    Ends after `limit` matches or `seconds`, whichever is first.
    """
    sent = _Sent()
    late = threading.Event()
    with tempfile.TemporaryFile() as output, _start(output) as child:

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            _send(child, _header(pattern, limit, seconds), files, sent, late)
            child.wait()
        finally:
            timer.cancel()
            child.kill()
        output.seek(0)
        stopped = late.is_set() or child.returncode != 0
        return _outcome(output, sent, limit, stopped=stopped)


def _start(output: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  our own program, no shell
        [sys.executable, "-I", "-S", _CHILD],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


def _header(pattern: str, limit: int, seconds: float) -> bytes:
    return json.dumps([pattern, limit, int(seconds) + 2]).encode() + b"\n"


def _send(
    child: subprocess.Popen[bytes],
    header: bytes,
    files: Iterable[tuple[str, Content]],
    sent: _Sent,
    late: threading.Event,
) -> None:
    assert child.stdin is not None
    try:
        with child.stdin as stdin:
            stdin.write(header)
            for path, content in files:
                if late.is_set():
                    return
                sent.paths.append(path)
                sent.digests.append(content.sha256)
                stdin.write(b"%d %d\n" % (len(sent.paths) - 1, len(content.data)))
                stdin.write(content.data)
    except BrokenPipeError:
        # It has found enough, refused the pattern or was killed: see its output.
        return


def _outcome(output: IO[bytes], sent: _Sent, limit: int, *, stopped: bool) -> Searched:
    matches: list[Match] = []
    digests: dict[str, str] = {}
    bad: str | None = None
    last = ""
    for said in _lines(output):
        if isinstance(said, str):
            bad = said
            break
        last = sent.paths[said[0]]
        if len(said) > 1:
            matches.append(Match(last, said[1], said[2]))
            digests[last] = sent.digests[said[0]]
    return Searched(
        matches=matches,
        digests=digests,
        full=len(matches) >= limit,
        stopped_at=(last or "the first file") if stopped else None,
        bad_pattern=bad,
    )


def _lines(output: IO[bytes]) -> Iterator[Any]:
    for line in output:
        if line.endswith(b"\n"):
            yield json.loads(line)
