"""Why a row that is known from earlier work runs again: what of it is another one.

An agent's opening is kept as one small number for each of its parts, so that a
run of ten thousand rows can be compared with what it was the last time.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

PARTS = {
    "inputs": "inputs",
    "prompt": "prompt",
    "system": "system text",
    "tools": "tools",
    "schema": "schema",
    "model": "model",
    "max_tokens": "limits",
    "max_turns": "limits",
    "writes_output": "tools",
    "messages": "messages",
}
"""Parts of an opening, and what people call them."""
FILES = "the files or tools it is given changed"
"""The opening says the same: what differs is known by digest or version only."""
CHANGED_FILE = "a file it read or wrote changed"
USED_UP = "its earlier result serves another row, or is damaged"
UNUSABLE = "its earlier answer cannot be used"


def parts_of(opening: Any) -> dict[str, int]:
    """Return a small number for each part of an opening, or of a client's body."""
    if not isinstance(opening, Mapping):
        return {}
    return {name: _mark(opening[name]) for name in PARTS if name in opening}


def _mark(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return zlib.crc32(text.encode("utf-8", "replace"))


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Say what changed: `its inputs changed`, `its prompt and schema changed`."""
    names = [
        words
        for part, words in PARTS.items()
        if part in before and part in after and before[part] != after[part]
    ]
    names = list(dict.fromkeys(names))
    if not names:
        return FILES
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"its {listed} changed"


def was_missing(kind: str) -> str:
    """Say that a row had ended without its output."""
    return f"it was missing: {kind}"
