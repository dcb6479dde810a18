"""What a script may do to the process that it shares with us, and what is made of it.

    os._exit        would end everything at once, the terminal left as it is: here it
                    ends the script, as `sys.exit` does, and is named
    os.fork         the copy has the script's thread, and no engine: agents are an
                    error there, and where its `main` ends, it ends
    replacements    of functions that the run itself needs: named when it breaks

Nothing is done about a script that kills its process, or closes descriptors that
are not its own; what was finished is on disk.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

leave = os._exit
"""The real one: ends this process now."""

NEEDED = ("asyncio", "json", "os", "select", "socket", "sys", "threading", "time")
NAMED_MAX = 5

Functions = Mapping[tuple[str, str], Any]


class ForcedExit(SystemExit):
    """The script called `os._exit`."""


@contextmanager
def exits_named(tell: Callable[[str], None]) -> Iterator[None]:
    """While entered, `os._exit` ends the thread that calls it, by `ForcedExit`.

    `tell` hears of it. In copies of the process it does what it always does.
    """
    process = os.getpid()

    def exit_(status: int) -> NoReturn:
        if os.getpid() != process:
            leave(status)
        tell(f"os._exit({status}) was called: it ends the script, not the process")
        raise ForcedExit(status)

    os._exit = exit_
    try:
        yield
    finally:
        os._exit = leave


def functions() -> Functions:
    """Return the functions that a run needs, as they are now."""
    return {
        (module, name): value
        for module in NEEDED
        for name, value in vars(sys.modules[module]).items()
        if callable(value) and (module, name) != ("os", "_exit")
    }


def replaced(before: Functions) -> str:
    """Name what is no longer as it was: `asyncio.sleep, time.time`; empty if all is."""
    names = sorted(
        f"{module}.{name}"
        for (module, name), value in before.items()
        if vars(sys.modules[module]).get(name) is not value
    )
    if len(names) > NAMED_MAX:
        names[NAMED_MAX:] = [f"{len(names) - NAMED_MAX} more"]
    return ", ".join(names)


def end_copy(code: int, told: str) -> NoReturn:
    """End a copy of the process, and say on stderr what it has to tell."""
    with suppress(Exception):
        if told:
            sys.stderr.write(told)
        sys.stdout.flush()
        sys.stderr.flush()
    leave(code)
