import json
from dataclasses import dataclass
from typing import Any, Literal

import anthropic
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field

from fanout.errors import UsageError
from fanout.script.schemas import prepare


class Finding(BaseModel):
    file: str
    line: int = Field(ge=1, le=9)
    level: Literal["low", "high"] = "low"
    note: str | None = Field(None, description="Why")


class Findings(BaseModel):
    findings: list[Finding]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.width**2


class Names(RootModel[list[str]]):
    pass


@dataclass
class Point:
    x: int


@pytest.mark.parametrize("model", [Finding, Findings, Strict])
def test_the_wire_schema_is_what_the_sdk_would_send(model: type[BaseModel]) -> None:
    ours, theirs = prepare(model).wire, anthropic.transform_schema(model)

    def shape(schema: Any) -> Any:
        """All but the wording of what was moved into descriptions."""
        if isinstance(schema, dict):
            return {k: shape(v) for k, v in schema.items() if k != "description"}
        return [shape(one) for one in schema] if isinstance(schema, list) else schema

    assert shape(ours) == shape(theirs)
    assert "maximum: 9" in json.dumps(ours) or model is Strict


def test_objects_come_from_plain_json() -> None:
    schema = prepare(Findings)
    plain = schema.validate(b'{"findings": [{"file": "a", "line": 2}]}')
    assert plain == {"findings": [{"file": "a", "line": 2}]}
    assert schema.load(plain).findings[0].level == "low"


def test_what_was_validated_validates_again() -> None:
    schema = prepare(Strict)
    plain = schema.validate(b'{"width": 3}')
    assert schema.validate(json.dumps(plain).encode()) == plain
    assert schema.load(plain).area == 9


@pytest.mark.parametrize(
    ("schema", "wrapped", "plain"),
    [
        (list[Finding], {"items": [{"file": "a", "line": 1}]}, None),
        (Names, {"items": ["a"]}, None),
        (int, {"value": 3}, None),
        (Point | None, {"value": {"x": 1}}, None),
        ({"type": "array", "items": {"type": "string"}}, {"items": ["a"]}, None),
    ],
    ids=str,
)
def test_a_root_that_is_no_object_is_wrapped_for_the_wire(
    schema: Any, wrapped: dict[str, Any], plain: Any
) -> None:
    made = prepare(schema)
    (name,) = wrapped
    assert made.wire["type"] == "object"
    assert made.wire["required"] == [name]
    assert made.wire["additionalProperties"] is False
    plain = wrapped[name]
    assert made.validate(json.dumps(wrapped).encode()) == plain
    # The output file has no wrapper.
    assert made.validate(json.dumps(plain).encode()) == plain


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"x": 1}\n```',
        '```\n{"x": 1}```\n',
        '\ufeff{"x": 1}',
        '  {"x": 1}\n',
    ],
)
def test_a_fence_around_the_answer_is_taken_off(text: str) -> None:
    made = prepare(Point)
    assert made.validate(text.encode()) == {"x": 1}
    assert made.load({"x": 1}) == Point(1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"file": NaN}', "not valid JSON"),
        (b'Here it is: {"file": "a"}', "not valid JSON"),
        (b"[]", "the document"),
        (b'{"file": "a", "line": 0}', "line: "),
        (b'{"file": "a", "line": "two", "level": "x"}', "level: "),
    ],
)
def test_a_misfit_says_what_is_wrong_in_a_line(data: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        prepare(Finding).validate(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_many_problems_are_counted() -> None:
    with pytest.raises(ValueError, match="and 15 more"):
        prepare(list[int]).validate(json.dumps(["x"] * 20).encode())


BY_HAND = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
        "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}, "maxItems": 2},
        "kind": {"enum": ["a", "b"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"size": {"type": "integer", "minimum": 1}},
}


def test_a_schema_by_hand_is_held_to() -> None:
    made = prepare(BY_HAND)
    good = {"name": "ab", "sizes": [1, 2.0], "kind": "a", "either": None}
    assert made.validate(json.dumps(good).encode()) == good
    assert made.load(good) is good


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": 3}, "name: this should be of type string"),
        ({"name": "a"}, "name: minLength is 2"),
        ({"name": "A1"}, "name: pattern"),
        ({"sizes": [1, 2, 3]}, "sizes: maxItems"),
        ({"sizes": [0]}, "sizes.0: minimum"),
        ({"sizes": [True]}, "sizes.0: this should be of type integer"),
        ({"kind": "c"}, "kind: this should be one of"),
        ({"either": "x"}, "either: "),
        ({"more": 1}, "more: there is no such field"),
    ],
)
def test_a_schema_by_hand_names_the_place(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        prepare(BY_HAND).validate(json.dumps({"name": "ab", **change}).encode())
    with pytest.raises(ValueError, match="name: this field is required"):
        prepare(BY_HAND).validate(b"{}")


class Free(BaseModel):
    by_file: dict[str, int]


class Anything(BaseModel):
    payload: Any


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (Free, "`by_file` is an object without named fields"),
        (Anything, "`payload` may be anything"),
        ({"type": "object"}, "the document is an object without"),
        ({}, "may be anything"),
        ({"$ref": "#/nowhere"}, "leads nowhere"),
        ("Finding", "a value, not a type"),
        (Point(1), "cannot be used"),
        (lambda: 1, "cannot be used"),
    ],
)
def test_what_the_api_cannot_be_held_to_is_refused(schema: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        prepare(schema)
