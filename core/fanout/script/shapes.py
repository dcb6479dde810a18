"""Whether a JSON value fits a JSON schema that a script wrote by hand.

What the keywords mean is the business of `jsonschema`; the draft is the one that
`$schema` names, else 2020-12, and `format` is a note, as that draft has it. Here
is what such a check needs to be let loose on the answers of a model:

    nothing is fetched: a `$ref` leads into the schema itself, or is an error
    patterns are matched in linear time, by the engine that pydantic uses; the one
        of Python can take years for a line, and holds every thread while it does
    a check ends after `STEPS_MAX` steps, whatever the schema makes of a document

What is no schema is told before anything is sent: `Shape` raises ValueError.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import Draft202012Validator, extend, validator_for
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from fanout.words.clean import shortened

STEPS_MAX = 500_000
"""Keywords held against values, some ten seconds; the longest answers take a fifth."""

RULE_MAX = 120
"""Characters of a rule that an agent is told."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECT = "$schema"
_NO_DRAFT: Any = None

Rule = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
"""What a keyword asks: of validator, its own value, the instance, the schema."""


class Shape:
    """A schema that values are held against."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Take a schema of plain JSON; raise ValueError when it is none."""
        try:
            self._validator = _validator(dict(schema))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def misfits(self, value: Any) -> list[str]:
        """Return what does not fit, each with its place; nothing when all does."""
        said: list[str] = []
        unset = _steps.set(iter(range(STEPS_MAX)))
        try:
            said.extend(_said(error) for error in self._validator.iter_errors(value))
        except _TooManyStepsError:
            said.append(f"the document: its check takes over {STEPS_MAX:,} steps")
        except RecursionError:
            said.append("the document: it is nested too deeply for its schema")
        except Exception as error:  # noqa: BLE001  no document may end the run
            said.append(f"the document: its check raised {type(error).__name__}")
        finally:
            _steps.reset(unset)
        return said


# -- what is a schema ------------------------------------------------------


def _validator(schema: dict[str, Any]) -> Any:
    draft = _draft(schema.pop(_DIALECT, None))
    names = _checked(schema, draft)
    if {"patternProperties", "unevaluatedProperties"} <= names:
        raise ValueError("it has both patternProperties and unevaluatedProperties")
    return _bounded(draft)(schema, registry=Registry())


def _draft(dialect: Any) -> Any:
    if dialect is None:
        return Draft202012Validator
    found: Any = validator_for({_DIALECT: str(dialect)}, default=_NO_DRAFT)
    if found is _NO_DRAFT:
        raise ValueError(f"its {_DIALECT} is {dialect!r}, which is no known draft")
    return found


def _checked(schema: dict[str, Any], draft: Any) -> set[str]:
    """Return all keywords in a schema; raise ValueError for what is none.

    A reference may lead where no keyword does: what is there is held to be a schema
    as well.
    """
    kind = specification_with(draft.ID_OF(draft.META_SCHEMA))
    meta = draft(draft.META_SCHEMA)
    root: Resource[Any] = kind.create_resource(schema)
    todo = [(root, Registry[Any]().resolver_with_root(root))]
    _is_schema(schema, meta)
    seen: set[int] = set()
    names: set[str] = set()
    while todo:
        resource, resolver = todo.pop()
        held = resource.contents
        if id(held) in seen or not isinstance(held, dict):
            continue
        seen.add(id(held))
        names |= held.keys()
        _check_words(held)
        for reference in _references(held):
            target = _followed(reference, resolver)
            _is_schema(target.contents, meta)
            todo.append((kind.create_resource(target.contents), target.resolver))
        inner = resource.subresources()
        todo += [(one, resolver.in_subresource(one)) for one in inner]
    return names


def _is_schema(held: Any, meta: Any) -> None:
    if (wrong := best_match(meta.iter_errors(held))) is not None:
        raise ValueError(f"it is no JSON schema: {_said(wrong)}")


def _check_words(held: Mapping[str, Any]) -> None:
    if _DIALECT in held:
        raise ValueError(f"{_DIALECT} stands within it; only the whole may have one")
    patterns = [held["pattern"]] if "pattern" in held else []
    for pattern in [*patterns, *held.get("patternProperties", ())]:
        _matcher(pattern)


def _references(held: Mapping[str, Any]) -> Iterator[str]:
    return (held[name] for name in _REFERENCES if isinstance(held.get(name), str))


def _followed(reference: str, resolver: Any) -> Any:
    try:
        return resolver.lookup(reference)
    except (Unresolvable, TypeError, ValueError) as error:
        raise ValueError(
            f"the reference {reference} leads nowhere in it, and nothing is fetched"
        ) from error


# -- rules that are bounded ------------------------------------------------


class _TooManyStepsError(Exception):
    """A check has taken its steps."""


_steps: ContextVar[Iterator[int]] = ContextVar("steps left of a check")


@lru_cache
def _bounded(draft: Any) -> Any:
    rules = {**draft.VALIDATORS, **_RULES}
    counted = {name: _counted(rules[name]) for name in draft.VALIDATORS}
    return extend(draft, counted)  # type: ignore[no-untyped-call]


def _counted(rule: Rule) -> Rule:
    def counted(
        validator: Any, asked: Any, value: Any, schema: Any
    ) -> Iterable[ValidationError] | None:
        if next(_steps.get(), None) is None:
            raise _TooManyStepsError
        return rule(validator, asked, value, schema)

    return counted


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], bool]:
    try:
        made = SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError as error:
        why = str(error).rsplit("\n", 1)[-1].strip().removeprefix("error: ")
        raise ValueError(f"its pattern {pattern!r} cannot be used: {why}") from error
    return made.isinstance_python


def _pattern(
    validator: Any, asked: str, value: Any, _: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not _matcher(asked)(value):
        yield ValidationError("")


def _pattern_properties(
    validator: Any, asked: Mapping[str, Any], value: Any, _: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in asked.items():
        for name in filter(_matcher(pattern), value):
            yield from validator.descend(
                value[name], schema, path=name, schema_path=pattern
            )


def _additional_properties(
    validator: Any, asked: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    known = schema.get("properties", {})
    matchers = [_matcher(one) for one in schema.get("patternProperties", ())]
    for name, inner in value.items():
        if name in known or any(matches(name) for matches in matchers):
            continue
        if asked is False:
            yield ValidationError("there is no such field", path=[name])
        else:
            yield from validator.descend(inner, asked, path=name)


def _required(
    validator: Any, asked: Iterable[str], value: Any, _: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for name in asked:
            if name not in value:
                yield ValidationError("this field is required", path=[name])


def _multiple_of(
    validator: Any, asked: float, value: Any, _: Any
) -> Iterator[ValidationError]:
    # As decimals, which they are in JSON: as floats, 19.99 is no multiple of 0.01.
    if validator.is_type(value, "number") and _exact(value) % _exact(asked):
        yield ValidationError("")


def _exact(number: float) -> Fraction:
    return Fraction(number if isinstance(number, int) else repr(number))


def _unique_items(
    validator: Any, asked: bool, value: Any, _: Any
) -> Iterator[ValidationError]:
    # By their texts, since comparing each with each takes minutes for thousands.
    if asked and validator.is_type(value, "array"):
        texts = {json.dumps(_plain(one), sort_keys=True) for one in value}
        if len(texts) < len(value):
            yield ValidationError("")


def _plain(value: Any) -> Any:
    """1 and 1.0 are one number in JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


_RULES: dict[str, Rule] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
    "multipleOf": _multiple_of,
    "uniqueItems": _unique_items,
}


# -- what is said ----------------------------------------------------------

_WORDS = {
    "type": "this should be of type {asked}",
    "const": "this should be {asked}",
    "enum": "this should be one of {asked}",
    "not": "this should not fit {asked}",
    "anyOf": "this fits none of the choices of anyOf",
    "oneOf": "this should fit one choice of oneOf, and only one",
}
_OWN = {"required", "additionalProperties"}


def _said(error: ValidationError) -> str:
    """Return the place and the rule; the value is known to whom it is told."""
    chosen = best_match([error])
    place = ".".join(map(str, chosen.absolute_path)) or "the document"
    return f"{place}: {_rule(chosen)}"


def _rule(error: ValidationError) -> str:
    name, asked = str(error.validator), error.validator_value
    if error.validator is None:
        return "this is not allowed"
    if name in _OWN:
        return error.message
    text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
    words = _WORDS.get(name, f"{name} is {{asked}}")
    return words.format(asked=shortened(text, RULE_MAX))
