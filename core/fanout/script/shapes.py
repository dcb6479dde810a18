"""Whether a JSON value fits a JSON schema that a script wrote by hand.

Covers what such schemas use: types, `enum`, `const`, fields, items, bounds,
lengths, `pattern`, local `$ref`, `anyOf`, `oneOf`, `allOf`. Keywords not known
here are not checked, as the standard has it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fanout.script.wire import resolved

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}

_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
}
_SIZES: dict[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
}
_COUNTS: dict[str, Callable[[Any, Any], bool]] = {
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
}


def misfits(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """What does not fit, each with its place; nothing when all does."""
    return _misfits(value, schema, schema, "")


def _misfits(
    value: Any, schema: Any, root: Mapping[str, Any], where: str
) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        if schema is False:
            yield f"{_at(where)}: this is not allowed"
        return
    schema = resolved(schema, root)
    kind = schema.get("type")
    if kind is not None and not _is_any(value, kind):
        yield f"{_at(where)}: this should be of type {kind}"
        return
    yield from _literal(value, schema, where)
    yield from _combined(value, schema, root, where)
    yield from _inner(value, schema, root, where)


def _inner(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _object(value, schema, root, where)
    elif isinstance(value, list):
        yield from _bounded(value, schema, _COUNTS, where)
        for index, item in enumerate(value):
            inner = schema.get("items", True)
            yield from _misfits(item, inner, root, _in(where, str(index)))
    elif isinstance(value, str):
        yield from _bounded(value, schema, _SIZES, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bounded(value, schema, _BOUNDS, where)


def _is_any(value: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(_is(value, one) for one in kinds)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _literal(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if "const" in schema and value != schema["const"]:
        yield f"{_at(where)}: this should be {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{_at(where)}: this should be one of {schema['enum']!r}"


def _combined(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    for one in schema.get("allOf", ()):
        yield from _misfits(value, one, root, where)
    for keyword in ("anyOf", "oneOf"):
        if keyword not in schema:
            continue
        tried = [list(_misfits(value, one, root, where)) for one in schema[keyword]]
        fitting = sum(not problems for problems in tried)
        if not fitting:
            yield min(tried, key=len, default=[f"{_at(where)}: no choice"])[0]
        elif keyword == "oneOf" and fitting > 1:
            yield f"{_at(where)}: this fits {fitting} choices and should fit one"


def _object(
    value: dict[str, Any],
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    where: str,
) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_in(where, name)}: this field is required"
    free = schema.get("additionalProperties", True)
    for name, inner in value.items():
        place = _in(where, name)
        if name in known:
            yield from _misfits(inner, known[name], root, place)
        elif free is False:
            yield f"{place}: there is no such field"
        else:
            yield from _misfits(inner, free, root, place)


def _bounded(
    value: Any,
    schema: Mapping[str, Any],
    rules: Mapping[str, Callable[[Any, Any], bool]],
    where: str,
) -> Iterator[str]:
    for keyword, holds in rules.items():
        if keyword in schema and not holds(value, schema[keyword]):
            yield f"{_at(where)}: {keyword} is {schema[keyword]!r}"


def _at(where: str) -> str:
    return where or "the document"


def _in(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
