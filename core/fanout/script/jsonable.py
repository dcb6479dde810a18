"""Python values as plain JSON values.

`jsonable` takes anything: what `main` returns must reach the journal and the
terminal whatever it is. `strict_json` takes what was said it takes, because an
agent that is shown `<object at 0x…>` would work on nothing.
"""

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from fanout.errors import UsageError
from fanout.script.results import Done, Missing, Results
from fanout.words.clean import well_formed

_AS_TEXT = PurePath | date | datetime | time | Decimal | UUID

Convert = Callable[[Any], Any]


def is_model(value: object) -> bool:
    """Whether `value` is an object of a pydantic model."""
    return hasattr(type(value), "__pydantic_core_schema__") and hasattr(
        value, "model_dump"
    )


def jsonable(value: Any) -> Any:
    """Return `value` as JSON values; what has no such form becomes its repr."""
    try:
        return _convert(value, repr)
    except RecursionError:
        return repr(value)


def strict_json(value: Any) -> Any:
    """Return `value` as JSON values; raises `UsageError` for what has none."""
    try:
        return _convert(value, _refuse)
    except RecursionError as error:
        raise UsageError(
            f"a {type(value).__name__} that holds itself cannot be an input",
            hint="give text, mappings, lists or pydantic objects",
        ) from error


def _refuse(value: Any) -> Any:
    raise UsageError(
        f"a {type(value).__name__} cannot be an input",
        hint="give text, a Partition, a mapping, Results, pydantic objects or "
        "dataclasses, or lists of these",
    )


def _convert(value: Any, other: Convert) -> Any:
    if isinstance(value, Enum):
        return _convert(value.value, other)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str | _AS_TEXT):
        return well_formed(str(value))
    if isinstance(value, Results | list | tuple):
        return [_convert(item, other) for item in value]
    return _convert_named(value, other)


def _convert_named(given: Any, other: Convert) -> Any:
    value = given
    if isinstance(value, Done | Missing):
        return _item(value, other)
    if is_model(value):
        value = value.model_dump(mode="json", by_alias=True)
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, AbstractSet):
        # The order of a set differs between processes; a fingerprint must not.
        return sorted((_convert(item, other) for item in value), key=repr)
    if not isinstance(value, Mapping):
        # The root of a pydantic model may be any JSON value.
        return other(value) if value is given else _convert(value, other)
    return {_convert_key(key): _convert(item, other) for key, item in value.items()}


def _convert_key(key: Any) -> str:
    return well_formed(str(key.value if isinstance(key, Enum) else key))


def _item(item: Done[Any] | Missing, other: Convert) -> dict[str, Any]:
    head: dict[str, Any] = {"phase": item.phase, "key": item.key}
    if isinstance(item, Done):
        return {**head, "status": "done", "value": _convert(item.value, other)}
    return {
        **head,
        "status": "missing",
        "kind": str(item.kind),
        "reason": well_formed(item.reason),
    }
