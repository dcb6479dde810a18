"""The page about profiles says all there is, and nothing else."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from fanout.simulator.faults import STAGES, Endpoint, FaultRule
from fanout.simulator.profile import Profile, ProfileError, build

PAGE = Path(__file__).parents[3] / "core" / "fanout" / "simulator" / "README.md"
TEXT = PAGE.read_text()
EXAMPLE = tomllib.loads(re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)[0])


def test_the_example_is_a_profile() -> None:
    made = build(EXAMPLE, "the page")
    assert made.name == "everything"
    assert len(made.faults) == 4


def left_out(model: type[BaseModel], table: dict[str, Any], at: str = "") -> list[str]:
    """Keys that a profile may have and the example does not show."""
    found = []
    for name, field in model.model_fields.items():
        shown = field.alias or name
        if shown not in table:
            found.append(at + shown)
        elif isinstance(table[shown], dict):
            if get_origin(field.annotation) is dict:
                inner = get_args(field.annotation)[1]
                for key, one in table[shown].items():
                    found += left_out(inner, one, f"{at}{shown}.{key}.")
                continue
            inner = [field.annotation, *get_args(field.annotation)]
            for one in inner:
                if isinstance(one, type) and issubclass(one, BaseModel):
                    found += left_out(one, table[shown], f"{at}{shown}.")
    return found


def test_the_example_has_every_key() -> None:
    assert left_out(Profile, EXAMPLE) == []


def test_the_rules_keys_are_all_named() -> None:
    shown = {key for rule in EXAMPLE["faults"] for key in rule}
    named = {field.alias or name for name, field in FaultRule.model_fields.items()}
    assert named - shown == {"seconds", "error_type"}
    assert "`seconds`" in TEXT
    assert "`error_type`" in TEXT


def test_every_kind_and_endpoint_is_named() -> None:
    for kinds in STAGES.values():
        assert all(f"`{kind}`" in TEXT for kind in kinds)
    assert all(f"`{name}`" in TEXT for name in get_args(Endpoint))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"colour": 1}, "there are name, limits, pools, burst,"),
        ({"limits": {"reqests": 1}}, "there are requests, input_tokens"),
        ({"faults": [{"kind": "cut", "chance": 1}]}, "kind, probability, from, to"),
        ({"faults": {"kind": "cut"}}, "write it as [[faults]]"),
        ({"changes": {"at": 1}}, "write it as [[changes]]"),
        ({"faults": [{"kind": "429"}]}, "core/fanout/simulator/README.md"),
    ],
)
def test_a_mistake_is_told_what_there_is(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ProfileError, match=re.escape(said)):
        build(table, "mine.toml")
