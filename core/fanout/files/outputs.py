"""Expected outputs: written whole or not at all, and believed only when read back.

A partition is done when its output is there, is a plain file inside the output
folder, is not empty and holds what it should, and not because something said
so. Names come from scripts and are checked before anything is sent; the folders
are walked by descriptor, so a link that appears in between is refused and not
followed.

Everything here blocks; callers put it into threads.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from fanout.decide.hollow import hollow, is_blank
from fanout.disk.jsonline import DEPTH_MAX, is_too_deep
from fanout.errors import FanoutError, UsageError
from fanout.files.safefile import (
    TEMPORARY_PREFIX,
    Content,
    TooLarge,
    not_text,
    open_regular,
    read_whole,
    replace,
)
from fanout.files.safepath import Refused, Root

MAX_OUTPUT_BYTES = 8 * 1024 * 1024
"""Far beyond what an agent can write; parsing more would hold every thread up."""

ProblemKind = Literal[
    "absent", "unsafe", "empty", "too large", "not text", "not json", "misfit"
]
Validator = Callable[[bytes], Any]

_MAX_NAME = 255 - 30  # room for the temporary name beside it
_MAX_PATH = 1024
_CHUNK = 1024 * 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written."""

    path: str
    """Absolute."""
    sha256: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Verified:
    """An output that is there and holds what it should."""

    path: str
    """Absolute."""
    sha256: str
    size: int
    """Bytes."""
    value: Any
    """What the validator gave, else the text."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an output does not count."""

    kind: ProblemKind
    text: str


class OutputFolder:
    """The folder that the outputs of a run go to; made if it is missing."""

    def __init__(self, root: str | os.PathLike[str], *, make: bool = True) -> None:
        """Make the folder, unless it is only looked at, and resolve it.

        Raises `UsageError`.
        """
        try:
            if make:
                Path(root).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"the output folder `{os.fspath(root)}` cannot be made: "
                f"{error.strerror}",
                hint="choose another one with --out",
            ) from error
        self._root = Root(root)
        self.path = self._root.path
        """Absolute."""

    def write(self, relative: str, data: bytes) -> Written:
        """Write an output whole: beside, synced, renamed, the folder synced.

        Makes the folders above it. Raises `UsageError` for a bad name and
        `FanoutError` when the disk refuses.
        """
        names = names_of(relative)
        try:
            with self._root.opened(names[:-1], make=True) as folder:
                digest = replace(names[-1], folder, data)
        except Refused as error:
            raise FanoutError(
                f"the output `{relative}` cannot be written: {error}",
                hint="make room or access for it, then resume",
            ) from error
        return Written(self._root.absolute(names), digest, len(data))

    def verify(
        self, relative: str, validator: Validator | None = None
    ) -> Verified | Problem:
        """Read an output back and say whether it counts.

        `validator` turns its bytes into a value and raises `ValueError` when
        they do not fit. Without one, it must be text, and JSON where its name ends
        in `.json` or `.jsonl`. Raises `UsageError` for a bad name, and nothing
        else.
        """
        names = names_of(relative)
        content = self._read(names)
        if isinstance(content, Problem):
            return content
        if reason := not_text(content.data):
            return Problem("not text", f"`{relative}` is {reason}")
        text = content.data.decode()
        if is_blank(text):
            return Problem("empty", f"`{relative}` is empty")
        value = _value(content.data, text, names[-1], validator)
        if isinstance(value, Problem):
            return value
        path = self._root.absolute(names)
        return Verified(path, content.sha256, len(content.data), value)

    def _read(self, names: tuple[str, ...]) -> Content | Problem:
        try:
            with self._root.opened(names[:-1]) as folder:
                return read_whole(names[-1], folder, limit=MAX_OUTPUT_BYTES, alone=True)
        except TooLarge as error:
            return Problem("too large", str(error))
        except Refused as error:
            absent = isinstance(error.__cause__, FileNotFoundError)
            return Problem("absent" if absent else "unsafe", str(error))


def encode_output(value: Any) -> bytes:
    """Return a value as its output holds it: text as it is, else indented JSON."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace")
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.encode("utf-8", errors="replace") + b"\n"


@dataclass(frozen=True, slots=True)
class Restored:
    """A reused output that is in its place and counts."""

    sha256: str
    size: int
    """Bytes."""
    value: Any
    edited: bool = False
    """Somebody changed it since it was written: the value is what it holds now."""


def restore(
    folder: OutputFolder,
    relative: str,
    value: Any,
    sha256: str | None,
    validator: Validator | None = None,
) -> Restored | Problem:
    """See that a reused output is where it is expected, and counts; blocking.

    What is gone is written again from the journal's value. What is there and
    differs was edited by somebody: it is never written over, and counts for what it
    holds now, or does not count.
    """
    if sha256 is not None and digest_of(folder, relative) == sha256:
        size = os.stat(os.path.join(folder.path, relative)).st_size  # noqa: PTH116, PTH118
        return Restored(sha256, size, value)
    found = folder.verify(relative, validator)
    if isinstance(found, Problem):
        if found.kind != "absent":
            return found
        written = folder.write(relative, encode_output(value))
        return Restored(written.sha256, written.size, value)
    if validator is None and (problem := hollow(found.value, None)):
        return Problem("misfit", problem)
    return Restored(found.sha256, found.size, found.value, edited=True)


def digest_of(folder: OutputFolder, relative: str) -> str | None:
    """Return the digest of an output as it is now; None for no plain file. Blocking."""
    # Its name was checked when it was written.
    return digest(os.path.join(folder.path, relative))  # noqa: PTH118


def digest(path: str) -> str | None:
    """Return the SHA-256 hex digest of a file as it is now.

    None when there is no plain file that can be read. Blocking.
    """
    try:
        opened = open_regular(path, None)
    except (Refused, ValueError):
        return None
    hashed = hashlib.sha256()
    try:
        while chunk := os.read(opened, _CHUNK):
            hashed.update(chunk)
    except OSError:
        return None
    finally:
        os.close(opened)
    return hashed.hexdigest()


def names_of(relative: object) -> tuple[str, ...]:
    """Split an output's path into names. Raises `UsageError`."""
    if not isinstance(relative, str) or not relative:
        raise _bad(relative, "it is empty")
    if relative.startswith(("/", "~")):
        raise _bad(relative, "it is absolute")
    if relative.endswith(("/", "/.")):
        raise _bad(relative, "it names a folder")
    if len(relative.encode(errors="surrogatepass")) > _MAX_PATH:
        raise _bad(relative, f"it is longer than {_MAX_PATH} bytes")
    names = tuple(name for name in relative.split("/") if name not in {"", "."})
    for name in names:
        if reason := _name_fault(name):
            raise _bad(relative, reason)
    if not names:
        raise _bad(relative, "it names a folder")
    return names


def _name_fault(name: str) -> str | None:
    if name == "..":
        return "`..` is not allowed"
    if _CONTROL.search(name) or "\\" in name:
        return "it has a control character or a backslash"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if size > _MAX_NAME:
        return f"a name in it is longer than {_MAX_NAME} bytes"
    if _DEVICES.fullmatch(name) or name.lower().startswith(TEMPORARY_PREFIX):
        return f"`{name}` is reserved"
    return "`.fanout` is reserved" if name.lower() == ".fanout" else None


def _bad(relative: object, why: str) -> UsageError:
    return UsageError(
        f"{relative!r} cannot be an output: {why}",
        hint="give a path relative to the output folder, such as `findings/a.json`",
    )


def _value(data: bytes, text: str, name: str, validator: Validator | None) -> Any:
    try:
        if validator is not None:
            return validator(data)
        if name.endswith(".json"):
            _json(text)
        if name.endswith(".jsonl"):
            for line in text.split("\n"):
                if line.strip():
                    _json(line)
    except RecursionError:
        return Problem("not json", f"`{name}` is nested too deeply")
    except ValueError as error:
        kind: ProblemKind = "misfit" if validator is not None else "not json"
        return Problem(kind, f"`{name}`: {error}")
    return text


def _json(text: str) -> Any:
    value = json.loads(
        text, parse_constant=_no_constant, object_pairs_hook=_each_name_once
    )
    if is_too_deep(value):
        raise ValueError(f"it is nested deeper than {DEPTH_MAX} levels")
    return value


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers of such an object would see different values.
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:80]!r} occurs twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
