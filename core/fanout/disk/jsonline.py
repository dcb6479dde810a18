"""Values made fit for a JSON line, whatever they were.

Nothing that a model, a tool or a script produced may stop the journal. What
JSON cannot hold is replaced by the nearest thing that it can: no number by
null, a lone surrogate by U+FFFD, an object by its text. What is nested deeper
than a reader can follow is cut, and says so.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from fanout.words.clean import escaped, well_formed

DEPTH_MAX = 200
"""Parsers recurse; beyond about a thousand levels they give up."""
DIGITS_MAX = 4_000
"""Python refuses to read or write integers of more than 4,300 digits."""
TOO_DEEP = "(nested too deeply)"

# Made once: `json.dumps` makes one for each value, which takes as long as encoding it.
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
_BITS_MAX = int(DIGITS_MAX * math.log2(10))


def to_json(value: Any) -> str:
    """Encode `value`; always succeeds, and is always valid UTF-8 and JSON.

    Shown on a terminal, by `cat` or `grep`, it does nothing to it.
    """
    try:
        text = _encode(value)
    except (ValueError, TypeError, RecursionError):
        return _forced(value)
    # A value is at most as deep as it has opening brackets.
    if text.count("[") + text.count("{") > DEPTH_MAX and is_too_deep(value):
        return _forced(value)
    return escaped(well_formed(text))


def _forced(value: Any) -> str:
    return escaped(well_formed(_encode(plain(value))))


def plain(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """Return `value` as plain JSON values, cut at circles and below `DEPTH_MAX`."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if len(above) >= DEPTH_MAX or id(value) in above:
        return TOO_DEEP
    return _container(value, above | {id(value)})


def _container(value: Any, inside: frozenset[int]) -> Any:
    if isinstance(value, Mapping):
        return {_key(k): plain(v, inside) for k, v in value.items()}
    if isinstance(value, Sequence):
        return [plain(v, inside) for v in value]
    if isinstance(value, AbstractSet):
        return sorted((plain(v, inside) for v in value), key=str)
    return _text(value)


def _number(value: float) -> Any:
    if isinstance(value, int):
        return int(value) if value.bit_length() < _BITS_MAX else hex(value)
    return value if math.isfinite(value) else None


def _key(key: Any) -> str:
    return key if isinstance(key, str) else _text(key)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a stranger's __str__ may raise anything
        return f"({type(value).__name__})"


def is_too_deep(value: Any) -> bool:
    """Whether a value without circles is nested below `DEPTH_MAX`."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
