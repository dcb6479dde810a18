"""Values that go into a checkpoint come back as they were, or not at all."""

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from fanout.decide.forecast.outlook import Going, Name
from fanout.disk.checkpoints import packed_values
from fanout.disk.checkpoints.packed import packer
from fanout.disk.recent import Recent, Spent
from fanout.words.events import RowDone
from fanout.words.model import (
    Cause,
    End,
    Flight,
    MissingKind,
    Need,
    RowId,
    Tally,
    Usage,
    Wait,
)

A = RowId("audit", "a\u202e")


def back(value: Any) -> Any:
    return packed_values.unpack(json.loads(json.dumps(packed_values.pack(value))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0.1,
        "x",
        [1, ["list", 2]],
        (1, (2, [3])),
        {A: Cause.PAUSED, 3: {"same": ["object", "dict"]}},
        {"kind": MissingKind.STALE, "wait": Wait(Cause.LIMIT, 9.5, "n")},
        RowDone(row=A, value={"a": [1, None]}, files_read={"/a": "1"}),
    ],
    ids=repr,
)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    assert back(value) == value
    assert repr(back(value)) == repr(value), "types too"


def test_what_is_shared_and_can_change_stays_shared() -> None:
    going = Going(Name("audit", "m"), 3.0)
    one, other = back({"rows": {A: going}, "groups": [going]}).values()
    assert one[A] is other[0] is not going


def test_an_object_with_wiring_works_again() -> None:
    recent = Recent()
    recent.calls.append(Spent(1.0, "p", Usage(1)))
    again = back(recent)
    assert again.calls == deque([Spent(1.0, "p", Usage(1))])
    assert again._handlers.keys() == recent._handlers.keys()


@pytest.mark.parametrize("value", [{1, 2}, Path("/x"), b"x", print, 1j], ids=repr)
def test_a_stranger_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be packed"):
        packed_values.pack([value])


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:eval", "fanout.disk.codec:json"]
)
def test_nothing_but_our_own_classes_is_looked_up(name: str) -> None:
    with pytest.raises(TypeError, match="is no"):
        packed_values.unpack(["object", name, {}])


@pytest.mark.parametrize(
    "value",
    [
        Tally(),
        Tally(3, 4, useful=Usage(1, 2, 3, 4)),
        Flight(7, 2, Need(1, 2, 3), 5.0),
        Wait(Cause.OVERLOADED),
        End(kind=MissingKind.NO_OUTPUT, reason="none"),
        End(output="a.json", size=3),
    ],
    ids=repr,
)
def test_parts_of_a_row_come_back_from_short_lists(value: Any) -> None:
    one = packer(type(value))
    packed = json.loads(json.dumps(one.pack(value)))
    assert one.unpack(packed) == value
    assert one.unpack(one.pack(None)) is None


def test_a_list_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        packer(Wait).unpack(["paused", None])
