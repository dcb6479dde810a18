"""Schemas by hand: all keywords, no fetching, and a check that always ends."""

import json
import subprocess
import sys
from typing import Any

import pytest

from fanout.errors import UsageError
from fanout.script import shapes
from fanout.script.schemas import prepare
from fanout.script.shapes import Shape


@pytest.mark.parametrize(
    ("schema", "good", "bad", "said"),
    [
        ({"uniqueItems": True}, [1, 2], [1, 2, 1], "uniqueItems is true"),
        ({"uniqueItems": True}, [1, True], [1, 1.0], "uniqueItems is true"),
        ({"uniqueItems": True}, [{"a": 1}], [{"a": 1}, {"a": 1}], "uniqueItems"),
        ({"multipleOf": 5}, 10, 3, "multipleOf is 5"),
        ({"multipleOf": 0.01}, 19.99, 0.005, "multipleOf is 0.01"),
        ({"multipleOf": 0.5}, 10**400, 0.3, "multipleOf is 0.5"),
        ({"not": {"required": ["a"]}}, {}, {"a": 1}, 'should not fit {"required"'),
        ({"prefixItems": [{"type": "null"}]}, [None], [1], "of type null"),
        ({"contains": {"const": 1}}, [0, 1], [0], 'contains is {"const": 1}'),
        ({"minProperties": 1}, {"a": 1}, {}, "minProperties is 1"),
        ({"maxProperties": 0}, {}, {"a": 1}, "maxProperties is 0"),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1, "b": 1},
            {"a": 1},
            "dependentRequired is",
        ),
        ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}, "maxLength is 1"),
        ({"if": {"const": 1}, "then": False}, 2, 1, "this is not allowed"),
        ({"oneOf": [{"minimum": 0}, {"minimum": 5}]}, 1, 7, "one choice of oneOf"),
        ({"anyOf": [{"minimum": 5}, {"const": 0}]}, 0, 1, "choices of anyOf"),
        ({"enum": [1, "a"]}, "a", True, 'this should be one of [1, "a"]'),
        ({"const": {"a": 1}}, {"a": 1.0}, {"a": True}, 'this should be {"a": 1}'),
        ({"patternProperties": {"^a": False}}, {"b": 1}, {"ab": 1}, "not allowed"),
        (
            {"patternProperties": {"^a": {}}, "additionalProperties": False},
            {"ab": 1},
            {"b": 1},
            "b: there is no such field",
        ),
        ({"unevaluatedProperties": False}, {}, {"a": 1}, "unevaluatedProperties"),
        ({"format": "date"}, "tomorrow", None, ""),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_every_keyword_of_the_standard_holds(
    schema: dict[str, Any], good: Any, bad: Any, said: str
) -> None:
    shape = Shape(dict(schema))
    assert shape.misfits(good) == []
    if said:
        (told,) = shape.misfits(bad)
        assert said in told
        assert ": " in told
        assert len(told) < 300


def test_a_misfit_inside_says_path_and_rule_and_not_the_value() -> None:
    shape = Shape({"properties": {"a": {"items": {"type": "object"}}}})
    assert shape.misfits({"a": [{}, "secret" * 100]}) == [
        "a.1: this should be of type object"
    ]


def test_a_long_rule_is_cut_and_a_choice_says_what_came_closest() -> None:
    (told,) = Shape({"enum": [f"word-{n}" for n in range(500)]}).misfits("x")
    assert len(told) < 200
    assert "characters)" in told
    either = Shape(
        {
            "anyOf": [
                {"type": "null"},
                {"properties": {"a": {"type": "object", "required": ["b"]}}},
            ]
        }
    )
    assert either.misfits({"a": {}}) == ["a.b: this field is required"]


@pytest.mark.parametrize(
    ("draft", "schema", "bad"),
    [
        ("http://json-schema.org/draft-04/schema#", {"exclusiveMinimum": True}, 3),
        ("http://json-schema.org/draft-07/schema", {"items": [{"minimum": 4}]}, [3]),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [False]}, [1]),
    ],
)
def test_the_draft_is_the_one_that_the_schema_names(
    draft: str, schema: dict[str, Any], bad: Any
) -> None:
    assert Shape({"$schema": draft, "minimum": 3, **schema}).misfits(bad)
    if "items" in schema or "exclusiveMinimum" in schema:
        with pytest.raises(ValueError, match="it is no JSON schema"):
            Shape({"minimum": 3, **schema})


WORDS: dict[str, dict[str, Any]] = {
    "no JSON schema: properties.a.type": {"properties": {"a": {"type": "strin"}}},
    "no JSON schema: required": {"required": "a"},
    "no known draft": {"$schema": "http://127.0.0.1:1/draft"},
    "only the whole may have one": {"items": {"$schema": "urn:x"}},
    "leads nowhere in it, and nothing is fetched": {
        "properties": {"a": {"$ref": "http://127.0.0.1:1/a.json"}}
    },
    "#/allOf/x leads nowhere": {"$ref": "#/allOf/x", "allOf": [{}]},
    "look-around": {"properties": {"a": {"pattern": "^(?!x)"}}},
    "backreferences": {"patternProperties": {r"(a)\1": {}}},
    "no JSON schema: the document": {"$ref": "#/x/a", "x": {"a": 3}},
    "size limit": {"pattern": "(a{1000}){1000}"},
    "unevaluatedProperties": {
        "patternProperties": {"a": {}},
        "unevaluatedProperties": False,
    },
    "it is not JSON": {"enum": {1, 2}},
    "out of range|not JSON": {"minimum": float("inf")},
}


@pytest.mark.parametrize("words", WORDS)
def test_what_is_no_schema_is_an_error_before_anything_is_sent(words: str) -> None:
    whole = {"type": "object", "properties": {"a": {"type": "string"}}}
    with pytest.raises(UsageError, match=words) as caught:
        prepare(whole | WORDS[words])
    assert caught.value.hint


def test_schemas_that_never_end_are_told() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(3000):
        deep = {"type": "object", "properties": {"a": deep}}
    circle: dict[str, Any] = {"type": "object", "properties": {}}
    circle["properties"]["again"] = circle
    for schema in (deep, circle):
        with pytest.raises(UsageError, match="cannot be used"):
            prepare(schema)


def doubling(levels: int) -> dict[str, Any]:
    """A schema that takes 2 to the `levels` steps for any document."""
    twice = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**twice, f"a{levels}": {"type": "null"}}}


def test_a_check_ends_whatever_the_schema_makes_of_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shapes, "STEPS_MAX", 2_000)
    (told,) = Shape(doubling(40)).misfits(None)
    assert "takes over 2,000 steps" in told
    assert Shape(doubling(5)).misfits(None) == []
    for circle in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}):
        (told,) = Shape(circle).misfits({})
        assert "nested too deeply" in told


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(.*a){25}$"])
def test_no_pattern_takes_years_for_a_line(pattern: str) -> None:
    line = "a" * 20_000 + "!"
    assert Shape({"pattern": pattern}).misfits(line)
    assert Shape({"propertyNames": {"pattern": pattern}}).misfits({line: 1})
    closed = {"patternProperties": {pattern: {}}, "additionalProperties": False}
    assert Shape(closed).misfits({line: 1})


def test_thousands_of_objects_are_unique_in_one_pass() -> None:
    """Each with each would be fifty million comparisons."""
    shape = Shape({"uniqueItems": True})
    assert shape.misfits([{"n": n} for n in range(10_000)]) == []


def test_what_a_script_does_to_its_schema_later_changes_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    made = prepare(schema)
    schema["properties"] = {"a": {"type": "string"}}
    assert made.validate(b'{"a": 1}') == {"a": 1}


def test_definitions_of_older_drafts_are_sent_as_well() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": {"$ref": "#/definitions/one"},
        "definitions": {
            "one": {"type": "object", "properties": {"a": {"type": "integer"}}}
        },
    }
    wire = prepare(schema).wire
    assert wire["definitions"]["one"]["additionalProperties"] is False
    assert wire["properties"]["items"]["items"] == {"$ref": "#/definitions/one"}
    assert "draft-07" not in json.dumps(wire)


FIRST_SCHEMAS = """
import sys, fanout.life, fanout.script.agents as script
print("jsonschema" in sys.modules)
script.agent("x", key="a", schema=int)
print("jsonschema" in sys.modules)
script.agent("x", key="a", schema={"type": "null"})
print("jsonschema" in sys.modules)
"""


def test_the_library_is_loaded_by_the_first_schema_by_hand() -> None:
    told = subprocess.run(
        [sys.executable, "-c", FIRST_SCHEMAS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["False", "False", "True"]
