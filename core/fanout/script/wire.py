"""A JSON schema in the dialect that the API's structured output takes.

Objects are closed. Keywords that the API refuses (bounds, patterns) move into the
description, where the model can read them; our own check holds the answer to
them. What cannot be said at all raises ValueError: an object without named
fields would be sent as one that must stay empty.
"""

from collections.abc import Mapping
from typing import Any

_FORMATS = {
    *("date-time", "time", "date", "duration", "email", "hostname"),
    *("uri", "ipv4", "ipv6", "uuid"),
}
DEFINITIONS = ("$defs", "definitions")
"""Where a schema keeps what it refers to, in newer drafts and in older ones."""

_KEPT = ("enum", "const", "description", "title", "$ref")
_SILENT = {
    *("default", "examples", "additionalProperties", "discriminator"),
    *("$schema", "$id", "$comment"),
}
_LOCAL = "#/"


def closed(schema: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return `schema` as it is sent; raises ValueError naming the place."""
    left = dict(schema)
    made: dict[str, Any] = {}
    for keyword in DEFINITIONS:
        if definitions := left.pop(keyword, None):
            made[keyword] = {
                name: closed(inner, name) for name, inner in definitions.items()
            }
    for keyword in _KEPT:
        if keyword in left:
            made[keyword] = left.pop(keyword)
    if "$ref" in made:
        return {key: made[key] for key in (*DEFINITIONS, "$ref") if key in made}
    if "enum" in made or "const" in made:
        left.pop("type", None)
    made |= _typed(left, where) if "type" in left else _choices(left, made, where)
    rest = {key: value for key, value in left.items() if key not in _SILENT}
    if rest:
        words = ", ".join(f"{key}: {value}" for key, value in rest.items())
        made["description"] = f"{made.get('description', '')}\n\n{{{words}}}".strip()
    return made


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references from `schema`; raises ValueError when one leads off."""
    seen = 0
    while isinstance(reference := schema.get("$ref"), str):
        seen += 1
        found: Any = root
        for step in reference.removeprefix(_LOCAL).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping) or seen > len(str(root)):
            raise ValueError(f"the reference {reference} leads nowhere")
        schema = found
    return schema


def _typed(left: dict[str, Any], where: str) -> dict[str, Any]:
    kind = left.pop("type")
    if isinstance(kind, list):
        options = [closed({**left, "type": one}, where) for one in kind]
        left.clear()
        return {"anyOf": options}
    made: dict[str, Any] = {"type": kind}
    if kind == "object":
        made |= _fields(left, where)
    elif kind == "array":
        if "items" in left:
            made["items"] = closed(left.pop("items"), _inside(where, "items"))
        if left.get("minItems") in (0, 1):
            made["minItems"] = left.pop("minItems")
    elif kind == "string" and left.get("format") in _FORMATS:
        made["format"] = left.pop("format")
    return made


def _fields(left: dict[str, Any], where: str) -> dict[str, Any]:
    properties = left.pop("properties", {})
    required = left.pop("required", None)
    free = left.get("additionalProperties")
    if not properties and free is not False:
        place = f"`{where}`" if where else "the document"
        raise ValueError(f"{place} is an object without named fields")
    return {
        "properties": {
            name: closed(inner, _inside(where, name))
            for name, inner in properties.items()
        },
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


def _choices(left: dict[str, Any], made: Mapping[str, Any], where: str) -> Any:
    for source, target in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
        if source in left:
            return {target: [closed(one, where) for one in left.pop(source)]}
    if "enum" in made or "const" in made:
        return {}
    place = f"`{where}`" if where else "the document"
    raise ValueError(f"{place} may be anything; give it a type")


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
