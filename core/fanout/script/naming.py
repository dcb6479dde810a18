"""What keys, phases, outputs and tolerances may look like.

All of these end up in file names, on the screen and on the command line, so
what would be ambiguous there is an error where the script says it:

    key            text of one line, 1 to 200 characters, no blanks around it
    phase          the same, up to 100; `outer/inner` names a nested phase
    output         a relative path without `..`, on any platform
    allow_missing  `N` or `P%`

Every function returns the checked value or raises `UsageError` with a hint.
"""

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from fanout.errors import UsageError
from fanout.files.outputs import names_of
from fanout.words.budgets import Budget

KEY_LENGTH_MAX = 200
PHASE_LENGTH_MAX = 100

NO_BUDGET = Budget()

_TOLERANCE = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(\.[0-9]+)?%")
_PERCENT_MAX = 100.0


def flaw(text: str, longest: int) -> str | None:
    """Return what makes `text` unusable as a name; None when nothing does."""
    if not text:
        return "it is empty"
    if text != text.strip():
        return "it begins or ends with a blank"
    if len(text) > longest:
        return f"it is longer than {longest} characters"
    if not text.isprintable():
        return "it has characters that cannot be printed on one line"
    return None


def checked_key(key: Any) -> str:
    """Return a key that can name a row."""
    if not isinstance(key, str):
        raise UsageError(
            f"a key is text, not {type(key).__name__}: {_short(key)}",
            hint="write `key=str(...)`; a key names the row for people",
        )
    if problem := flaw(key, KEY_LENGTH_MAX):
        raise UsageError(
            f"the key {_short(key)} cannot be used: {problem}",
            hint="a key is a short label, such as a file's name",
        )
    return key


def checked_phase(name: Any) -> str:
    """Return a phase's name."""
    if not isinstance(name, str):
        raise UsageError(
            f"a phase's name is text, not {type(name).__name__}: {_short(name)}",
            hint='write `async with fanout.phase("audit"):`',
        )
    problem = flaw(name, PHASE_LENGTH_MAX)
    if problem is None and not all(name.split("/")):
        problem = "a part between slashes is empty"
    if problem:
        raise UsageError(
            f"the phase {_short(name)} cannot be used: {problem}",
            hint="a phase is one word or two, such as `audit`",
        )
    return name


def checked_output(output: Any) -> str | None:
    """Return an output's path in its one spelling, `/` between its parts."""
    if output is None:
        return None
    if not isinstance(output, str | PurePosixPath | PureWindowsPath):
        raise UsageError(
            f"an output is a path, not {type(output).__name__}",
            hint='write `output="findings/a.json"`',
        )
    text = str(output)
    if problem := _path_flaw(text):
        raise UsageError(
            f"the output {_short(text)} cannot be used: {problem}",
            hint="an output is a relative path below the output folder (`--out`)",
        )
    path = PurePosixPath(text).as_posix()
    # What cannot be written in the end is not paid for first.
    names_of(path)
    return path


def checked_tolerance(allow_missing: Any) -> str | None:
    """Return `N` or `P%` as text."""
    if allow_missing is None:
        return None
    number = isinstance(allow_missing, int) and not isinstance(allow_missing, bool)
    text = str(allow_missing) if number else allow_missing
    if (
        not isinstance(text, str)
        or not _TOLERANCE.fullmatch(text)
        or (text.endswith("%") and float(text[:-1]) > _PERCENT_MAX)
    ):
        raise UsageError(
            f"allow_missing={allow_missing!r} is neither a number nor a percentage",
            hint='write `allow_missing=2` or `allow_missing="5%"`',
        )
    return text


def checked_count(name: str, value: Any) -> int | None:
    """Return a limit that is a whole number above zero, or None."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(
            f"{name}={value!r} is not a whole number above zero",
            hint=f"leave {name} out for the default",
        )
    return value


def checked_budget(max_tokens_total: Any, max_usd: Any) -> Budget:
    """Return a budget; None is no ceiling."""
    if max_tokens_total is None and max_usd is None:
        return NO_BUDGET
    return Budget(
        tokens=checked_count("max_tokens_total", max_tokens_total),
        dollars=checked_amount("max_usd", max_usd, "dollars"),
    )


def checked_amount(name: str, value: Any, unit: str) -> float | None:
    """Return a finite amount above zero, or None."""
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < float("inf"):
        raise UsageError(
            f"{name}={value!r} is no amount of {unit} above zero",
            hint=f"leave {name} out for none",
        )
    return float(value)


def _path_flaw(text: str) -> str | None:
    windows = PureWindowsPath(text)
    if not text or not windows.parts or text.endswith(("/", "\\")):
        return "it names no file"
    if not text.isprintable():
        return "it has characters that cannot be printed on one line"
    if PurePosixPath(text).is_absolute() or windows.drive or windows.root:
        return "it is absolute"
    if ".." in windows.parts:
        return "it has `..` in it"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= PHASE_LENGTH_MAX else text[:PHASE_LENGTH_MAX] + "…"
