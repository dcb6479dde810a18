"""A script's schema as what the API takes, and as what checks an answer.

A script gives a pydantic model, any type that pydantic can adapt (`list[Model]`),
or a JSON schema as a dict. From it come:

    wire        the schema sent: closed objects, no keyword the API refuses. A root
                that is no object is wrapped as `{"items": …}` or `{"value": …}`
    validate    bytes of an answer or of an output file to plain JSON, unwrapped;
                raises ValueError with a text the agent can act on
    load        that JSON to the value a script gets

What `validate` returns is the JSON as the model wrote it, not a dump of the
validated object: a file must check out again the next day, and a dump with
computed fields would not.
"""

import json
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from fanout.errors import UsageError
from fanout.script.wire import DEFINITIONS, closed, resolved

PROBLEMS_SHOWN = 5

_FENCE = re.compile(
    rb"\A\s*```[A-Za-z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL
)
_VALUES: tuple[type, ...] = (
    *(str, bytes, int, float, list, tuple),
    *(FunctionType, type(None)),
)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Schema:
    """What an agent's answer has to be."""

    wire: Mapping[str, Any]
    wrapper: str | None
    """Name of the one field around a root that is no object."""
    check: Callable[[Any, bytes], Any]
    """Plain JSON and its bytes to the value; raises ValueError."""

    def validate(self, data: bytes) -> Any:
        """Return the plain JSON of `data` when it fits, with or without wrapper."""
        from pydantic_core import from_json, to_json  # noqa: PLC0415  slow

        data = _bare(data)
        if not data.strip():
            raise ValueError("the answer is empty; give the JSON document")
        try:
            value = from_json(data, allow_inf_nan=False)
        except ValueError as error:
            raise ValueError(f"the answer is not valid JSON: {error}") from error
        if self._is_wrapped(value):
            inner = value[self.wrapper]
            try:
                self.check(inner, to_json(inner))
            except ValueError:
                if not self._fits(value, data):
                    raise
                return value
            return inner
        self.check(value, data)
        return value

    def load(self, value: Any) -> Any:
        """Return the script's value for plain JSON that `validate` gave."""
        from pydantic_core import to_json  # noqa: PLC0415  slow

        return self.check(value, to_json(value))

    def _is_wrapped(self, value: Any) -> bool:
        return (
            self.wrapper is not None
            and isinstance(value, dict)
            and set(value) == {self.wrapper}
        )

    def _fits(self, value: Any, data: bytes) -> bool:
        try:
            self.check(value, data)
        except ValueError:
            return False
        return True


def prepare(schema: Any) -> Schema:
    """Return what `schema` asks for; raises `UsageError` when it cannot be sent."""
    if isinstance(schema, Mapping):
        return _of_text(_as_text(schema))
    if isinstance(schema, _VALUES):
        raise _unusable(schema, "it is a value, not a type")
    try:
        return _of_type(schema)
    except TypeError:
        return _of_type.__wrapped__(schema)


def _as_text(schema: Mapping[str, Any]) -> str:
    """Return a schema as its JSON; what the script does to it later changes nothing."""
    try:
        return json.dumps(schema, allow_nan=False, default=_as_dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unusable(schema, f"it is not JSON: {error}") from error


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in it")


@lru_cache(maxsize=256)
def _of_text(text: str) -> Schema:
    from fanout.script.shapes import Shape  # noqa: PLC0415  slow

    described = json.loads(text)
    try:
        shape = Shape(json.loads(text))
    except ValueError as error:
        raise _unusable(described, str(error)) from error

    def check(value: Any, data: bytes) -> Any:  # noqa: ARG001  one signature for both
        if problems := shape.misfits(value):
            raise ValueError(_said(problems))
        return value

    return _made(described, described, check)


@lru_cache(maxsize=256)
def _of_type(schema: Any) -> Schema:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  slow
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(schema)
        described = adapter.json_schema()
    except (PydanticUserError, NameError, AttributeError) as error:
        raise _unusable(schema, str(error).split("\n", 1)[0]) from error

    def check(value: Any, data: bytes) -> Any:  # noqa: ARG001  one signature for both
        try:
            return adapter.validate_json(data)
        except ValidationError as error:
            raise ValueError(_said(_problems(error))) from error
        except Exception as error:
            # A validator is the script's own code, and may raise anything.
            name = type(error).__name__
            raise ValueError(
                f"the schema's own check raised {name}: {error}"
            ) from error

    return _made(schema, described, check)


def _made(
    schema: Any, described: dict[str, Any], check: Callable[[Any, bytes], Any]
) -> Schema:
    try:
        kind = resolved(described, described).get("type")
        wire = closed(described)
    except RecursionError as error:
        raise _unusable(schema, "it is nested too deeply") from error
    except ValueError as error:
        raise _unusable(schema, str(error)) from error
    wrapper = {"object": None, "array": "items"}.get(str(kind), "value")
    if wrapper is not None:
        definitions = {name: wire.pop(name) for name in DEFINITIONS if name in wire}
        wire = {
            **definitions,
            "type": "object",
            "properties": {wrapper: wire},
            "required": [wrapper],
            "additionalProperties": False,
        }
    return Schema(wire, wrapper, check)


def _problems(error: Any) -> list[str]:
    return [
        f"{'.'.join(map(str, one['loc'])) or 'the document'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)
    ]


def _said(problems: list[str]) -> str:
    more = len(problems) - PROBLEMS_SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    return "; ".join(problems[:PROBLEMS_SHOWN]) + tail


def _bare(data: bytes) -> bytes:
    data = data.removeprefix(_BOM)
    fenced = _FENCE.match(data)
    return fenced.group(1) if fenced else data


def _unusable(schema: Any, why: str) -> UsageError:
    name = schema.__name__ if isinstance(schema, type) else reprlib.repr(schema)
    return UsageError(
        f"the schema {name} cannot be used: {why}",
        hint="give a pydantic model, a type such as `list[Model]`, or a JSON schema "
        "whose objects name their fields",
    )
