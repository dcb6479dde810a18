"""A JSON schema, filled with what is known.

Names of properties say what is meant: `file`, `line`, `problem`, `summary`,
`count`, … Lists of objects describe findings, files or earlier results,
whichever their properties speak of. What is not known gets the plainest value
that the schema allows, so that the result always fits.
"""

import re
from typing import Any

from fanout.simulator import meaning
from fanout.simulator.knowledge import Knowledge

_DEPTH_MAX = 12
_ITEMS_MAX = 2_000

Schema = dict[str, Any]


class Filler:
    """Fills one schema; it holds the definitions that `$ref` points to."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._open: list[str] = []

    def fill(self, known: Knowledge) -> Any:
        """A value that fits the schema."""
        return self._value(self._root, "", known, 0)

    def _value(self, schema: Any, name: str, known: Knowledge, depth: int) -> Any:
        """Fill one schema; a definition inside itself ends where it may."""
        reference = _reference(schema)
        if reference is None:
            return self._plain(schema, name, known, depth)
        self._open.append(reference)
        try:
            return self._plain(schema, name, known, depth)
        finally:
            self._open.pop()

    def _plain(self, schema: Any, name: str, known: Knowledge, depth: int) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return meaning.choose(schema["enum"], known)
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            return self._option(options, name, known, depth)
        return self._of_kind(schema, name, known, depth)

    def _of_kind(self, schema: Schema, name: str, known: Knowledge, depth: int) -> Any:
        kind = self._kind(schema, name, known)
        if kind == "object":
            deep = depth > _DEPTH_MAX
            return {} if deep else self._object(schema, name, known, depth)
        if kind == "array":
            deep = depth > _DEPTH_MAX
            return [] if deep else self._array(schema, name, known, depth)
        return _scalar(kind, schema, name, known)

    def _resolved(self, schema: Any) -> Schema:
        for _ in range(_DEPTH_MAX):
            if not isinstance(schema, dict):
                return {}
            if "$ref" in schema:
                schema = self._target(str(schema["$ref"]))
            elif schema.get("allOf"):
                schema = self._united(schema)
            else:
                return schema
        return {}

    def _target(self, reference: str) -> Any:
        place: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            place = place.get(key, {}) if isinstance(place, dict) else {}
        return place

    def _united(self, schema: Schema) -> Schema:
        united = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            resolved = self._resolved(part)
            properties = united.get("properties", {}) | resolved.get("properties", {})
            required = [*united.get("required", []), *resolved.get("required", [])]
            united = united | resolved
            if properties:
                united |= {"properties": properties, "required": required}
        return united

    def _option(
        self, options: list[Any], name: str, known: Knowledge, depth: int
    ) -> Any:
        filled = [
            option for option in options if self._resolved(option).get("type") != "null"
        ]
        nullable = len(filled) < len(options)
        ends = [option for option in filled if _reference(option) not in self._open]
        if not filled or (nullable and not (ends and meaning.is_known(name, known))):
            return None
        return self._value((ends or filled)[0], name, known, depth + 1)

    def _kind(self, schema: Schema, name: str, known: Knowledge) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            named = [one for one in kind if one != "null"]
            if len(named) < len(kind) and not meaning.is_known(name, known):
                return "null"
            kind = named[0] if named else "null"
        if isinstance(kind, str):
            return kind
        if "properties" in schema:
            return "object"
        return "array" if "items" in schema else "string"

    def _object(
        self, schema: Schema, name: str, known: Knowledge, depth: int
    ) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        filled = {
            key: self._value(part, key, known, depth + 1)
            for key, part in properties.items()
        }
        missing = [key for key in schema.get("required", []) if key not in filled]
        filled |= {key: self._value({}, key, known, depth + 1) for key in missing}
        extra = schema.get("additionalProperties")
        if not properties and isinstance(extra, dict):
            return self._mapping(extra, name, known, depth)
        return filled

    def _mapping(
        self, extra: Schema, name: str, known: Knowledge, depth: int
    ) -> dict[str, Any]:
        if known.earlier is not None and known.earlier.counts:
            kind = self._kind(self._resolved(extra), name, known)
            if kind in ("integer", "number"):
                return dict(known.earlier.counts)
        return {
            path: self._value(extra, "count", known.about_file(path), depth + 1)
            for path in known.files
        }

    def _array(
        self, schema: Schema, name: str, known: Knowledge, depth: int
    ) -> list[Any]:
        if isinstance(schema.get("prefixItems"), list):
            parts = schema["prefixItems"]
            return [self._value(part, name, known, depth + 1) for part in parts]
        inner = schema.get("items") or {}
        items = self._resolved(inner)
        least = int(schema.get("minItems") or 0)
        if not least and _reference(inner) in self._open:
            return []
        if schema.get("uniqueItems"):
            once = self._array({**schema, "uniqueItems": False}, name, known, depth)
            return [one for at, one in enumerate(once) if one not in once[:at]]
        most = min(_ITEMS_MAX, int(schema.get("maxItems") or _ITEMS_MAX))
        if self._kind(items, name, known) == "object" or self._is_choice(items):
            subjects = meaning.subjects(_words(items, self._resolved), name, known)
        else:
            listed = meaning.listed(name, known, str(items.get("type", "string")))
            if listed is not None and "enum" not in items:
                kept = listed[:most]
                while len(kept) < least:
                    kept.append(self._value(inner, name, known, _DEPTH_MAX))
                return kept
            subjects = meaning.subjects(set(), name, known) if least else []
        filled = [
            self._value(inner, name, subject, depth + 1) for subject in subjects[:most]
        ]
        while len(filled) < least:
            filled.append(self._value(inner, name, known, depth + 1))
        return filled

    def _is_choice(self, items: Schema) -> bool:
        options = items.get("anyOf") or items.get("oneOf") or []
        kinds = [self._resolved(option) for option in options]
        return any("properties" in kind for kind in kinds)


def _reference(schema: Any) -> str | None:
    return schema.get("$ref") if isinstance(schema, dict) else None


def _words(items: Schema, resolve: Any) -> set[str]:
    words = set(items.get("properties") or {})
    for option in items.get("anyOf") or items.get("oneOf") or []:
        words |= set(resolve(option).get("properties") or {})
    return words


def _scalar(kind: str, schema: Schema, name: str, known: Knowledge) -> Any:
    if kind == "null":
        return None
    if kind == "boolean":
        return meaning.truth(name, known)
    if kind in ("integer", "number"):
        return _number(kind, schema, meaning.number(name, known))
    return _text(schema, meaning.text(name, known))


def _number(kind: str, schema: Schema, value: float) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    step = 1 if kind == "integer" else 0.001
    if low is not None:
        value = max(value, low + (step if "minimum" not in schema else 0))
    if high is not None:
        value = min(value, high - (step if "maximum" not in schema else 0))
    multiple = schema.get("multipleOf")
    if multiple:
        value = round(value / multiple) * multiple
    return int(value) if kind == "integer" else float(value)


_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.invalid",
    "uri": "https://example.invalid/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
}


def _text(schema: Schema, value: str) -> str:
    wanted = schema.get("format")
    if wanted in _FORMATS:
        fits = wanted == "date" and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value)
        value = value if fits else _FORMATS[wanted]
    least = int(schema.get("minLength") or 0)
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        value = _matching(pattern, value)
    value = value.ljust(least, ".")
    most = schema.get("maxLength")
    return value if most is None else value[: int(most)]


# No text is made from a pattern; these are tried, the true one first.
_TRIALS = (
    "",
    "a",
    "A",
    "0",
    "1",
    "a1",
    "A1",
    "abc",
    "ABC",
    "2026-01-01",
    "a.py",
    "a/b",
)


def _matching(pattern: str, value: str) -> str:
    try:
        wanted = re.compile(pattern)
    except re.error:
        return value
    return next((one for one in (value, *_TRIALS) if wanted.search(one)), value)
