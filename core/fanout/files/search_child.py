"""The program that a search runs in, so that a runaway pattern can be killed.

It gets a pattern and files on stdin and opens nothing itself, so what it may
see is decided where the files are read. It imports nothing of ours and starts
in isolation within some 20 ms. A limit on processor time ends it even when the
process that started it is gone.

stdin: one JSON line `[pattern, limit, seconds]`, then for each file a line with
its number and size, and its bytes. stdout, in JSON lines: `[number]` when a
file is begun, `[number, line, text]` for a match, `"…"` for a bad pattern.
"""

import json
import os
import re
import resource
import sys
from typing import IO

MAX_LINE = 10_000
SHOWN = 500
_MEMORY = 1 << 30


def main(source: IO[bytes], target: int) -> None:
    """Match until the files end or enough was found."""
    pattern, limit, seconds = json.loads(source.readline())
    _restrain(seconds)
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        _say(target, str(error))
        return
    found = 0
    while header := source.readline():
        number, size = map(int, header.split())
        _say(target, [number])
        lines = source.read(size).decode(errors="replace").split("\n")
        for at, line in enumerate(lines, 1):
            if wanted.search(line[:MAX_LINE]):
                _say(target, [number, at, line[:SHOWN]])
                found += 1
                if found >= limit:
                    return


def _restrain(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, hard))


def _say(target: int, what: object) -> None:
    os.write(target, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.fileno())
