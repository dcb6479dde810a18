"""Lines: every fact comes back as it was, and nothing a stranger wrote stops one."""

import dataclasses
import json
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.decide.payload import BlobRef
from fanout.disk.codec import (
    INLINE_MAX,
    KINDS,
    BadLineError,
    Seal,
    Unknown,
    decode,
    encode,
    encode_seal,
)
from fanout.disk.jsonline import DEPTH_MAX, TOO_DEEP
from fanout.testing.stories import Story
from fanout.words.events import (
    PAYLOADS,
    CallRefused,
    Event,
    Noted,
    Record,
    RowDone,
    RowExpected,
    RowMissing,
    TurnsKept,
)
from fanout.words.model import MissingKind, RowId

A = RowId("audit", "a")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=30,
)


def record_of(event: Event) -> Record:
    return Record(7, 2, 1764.25, event)


def back(event: Event) -> Event:
    record = decode(encode(record_of(event)))
    assert isinstance(record, Record)
    return record.event


def value_of(value: object) -> typing.Any:
    event = back(RowDone(row=A, value=value))
    assert isinstance(event, RowDone)
    return event.value


def test_every_fact_of_many_stories_comes_back_as_it_was() -> None:
    told = {}
    for seed in range(8):
        for record in Story(seed).tell(300):
            assert decode(encode(record)) == record
            told[type(record.event).__name__] = record
    assert set(KINDS) - set(told) <= {"RunEnded"}


def test_no_field_of_a_fact_shadows_the_lines_own() -> None:
    for cls in KINDS.values():
        names = {f.name for f in dataclasses.fields(cls)}
        assert not names & {"c", "n", "at", "e", "blobs"}
    for kind, fields in PAYLOADS.items():
        assert set(fields) <= {f.name for f in dataclasses.fields(KINDS[kind])}


def test_a_line_reads_with_grep_and_jq() -> None:
    line = encode(record_of(RowMissing(row=A, kind=MissingKind.NO_OUTPUT, reason="é")))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    fields = json.loads(line)
    assert list(fields)[:5] == ["c", "n", "life", "at", "e"]
    assert fields["row"] == ["audit", "a"]
    assert fields["kind"] == "no output"
    assert "é" in line.decode()


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_any_value_makes_a_line_of_valid_json(value: typing.Any) -> None:
    line = encode(record_of(RowDone(row=A, value=value)))
    line.decode("utf-8")
    json.loads(line, parse_constant=pytest.fail)
    assert isinstance(decode(line), Record)


def nested(depth: int) -> list[typing.Any]:
    value: list[typing.Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circle() -> list[typing.Any]:
    value: list[typing.Any] = [1]
    value += [value, value]
    return value


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        ({"a": [float("inf"), 1.5]}, {"a": [None, 1.5]}),
        ("\ud800 alone", "\ufffd alone"),
        ("\ud83d\ude00", "\U0001f600"),
        ({"\udc00": 1}, {"\ufffd": 1}),
        (10**5_000, hex(10**5_000)),
        (10**200, 10**200),
        (b"ab\xff", "ab\ufffd"),
        ({"s": {2, 1}, "t": (1, 2)}, {"s": [1, 2], "t": [1, 2]}),
        (circle(), [1, TOO_DEEP, TOO_DEEP]),
        (Rude(), "(Rude)"),
        ({1: {A: 2}}, {"1": {"audit/a": 2}}),
        ("\0\x1b[2J\u202e\n", "\0\x1b[2J\u202e\n"),
    ],
    ids=range(13),
)
def test_what_json_cannot_hold_becomes_the_nearest_thing(
    value: object, expected: object
) -> None:
    assert value_of(value) == expected


@pytest.mark.parametrize("depth", [199, 200, 900, 5_000, 100_000])
def test_what_is_nested_too_deeply_is_cut_and_says_so(depth: int) -> None:
    text = json.dumps(value_of(nested(depth)))
    assert text.count("[") <= DEPTH_MAX
    assert (TOO_DEEP in text) == (depth >= DEPTH_MAX)


def test_a_wide_value_is_not_a_deep_one() -> None:
    wide = [{"a": [n]} for n in range(500)]
    assert value_of(wide) == wide


def test_a_big_payload_stands_beside_the_line() -> None:
    stored: list[bytes] = []

    def put(data: bytes) -> str:
        stored.append(data)
        return "ab" * 32

    event = RowDone(row=A, value="x" * INLINE_MAX)
    record = decode(encode(record_of(event), put))
    assert isinstance(record, Record)
    assert isinstance(record.event, RowDone)
    assert record.event.value == BlobRef("ab" * 32, INLINE_MAX + 2)
    assert json.loads(stored[0]) == event.value
    encode(record_of(RowDone(row=A, value="x" * (INLINE_MAX - 2))), put)
    assert len(stored) == 1


def test_turns_are_counted_even_where_their_entries_stand_beside() -> None:
    entries = [{"kind": "answer", "content": "x" * INLINE_MAX}, {"kind": "results"}] * 3
    event = TurnsKept(row=A, source="r", entries=tuple(entries))
    record = decode(encode(record_of(event), lambda _data: "ab" * 32))
    assert isinstance(record, Record)
    assert isinstance(record.event, TurnsKept)
    assert isinstance(record.event.entries, BlobRef)
    assert record.event.entries.turns == 3


def sign(fields: dict[str, object]) -> bytes:
    """A line with a valid checksum, whatever it says."""
    from fanout.disk.codec import _line

    return _line(json.dumps(fields)[1:])


HEAD: dict[str, object] = {"n": 1, "life": 1, "at": 1.0}


def test_a_newer_version_may_add_kinds_and_fields() -> None:
    record = decode(sign({**HEAD, "e": "MoonRose", "x": 1}))
    assert isinstance(record, Record)
    assert isinstance(record.event, Unknown)
    more = decode(sign({**HEAD, "e": "RowExpected", "row": ["a", "b"], "new": [1]}))
    assert isinstance(more, Record)
    assert more.event == RowExpected(row=RowId("a", "b"))


def test_a_field_that_is_missing_takes_its_default() -> None:
    fields = {
        **HEAD,
        "e": "CallRefused",
        "row": ["p", "k"],
        "call": 1,
        "cause": "x",
        "status": 429,
        "message": "m",
        "until": None,
    }
    record = decode(sign(fields))
    assert isinstance(record, Record)
    assert isinstance(record.event, CallRefused)
    assert record.event.wasted.total == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"e": "RowExpected"},
        {"e": "RowExpected", "row": "abc"},
        {"e": "RowExpected", "row": ["a", 1]},
        {"e": "RowExpected", "row": ["a", "b", "c"]},
        {"e": "RowsExpected", "rows": [["a", "b"], ["a"]]},
        {"e": "RowsExpected", "rows": "abc"},
        {"e": "RowMissing", "row": ["a", "b"], "kind": "tired", "reason": ""},
        {
            "e": "CallAnswered",
            "row": ["a", "b"],
            "call": 1,
            "usage": 3,
            "stop_reason": None,
            "answer": [],
        },
        {"e": "RowDone", "row": ["a", "b"], "blobs": {"value": 3}},
        {"e": "TurnsKept", "row": ["a", "b"], "source": "r", "entries": "text"},
        {"e": None},
    ],
    ids=str,
)
def test_a_fact_that_makes_no_sense_is_kept_as_unknown(
    fields: dict[str, object],
) -> None:
    record = decode(sign({**HEAD, **fields}))
    assert isinstance(record, Record)
    assert isinstance(record.event, Unknown)


@pytest.mark.parametrize(
    "fields",
    [{}, {"e": "Noted"}, {**HEAD, "n": "x", "e": "Noted"}, {"e": "Sealed"}],
    ids=str,
)
def test_a_line_without_its_head_is_no_record(fields: dict[str, object]) -> None:
    with pytest.raises(BadLineError):
        decode(sign(fields))


def test_no_flipped_bit_and_no_cut_passes() -> None:
    line = encode(record_of(Noted(source="script", text="naïve text")))
    for n in range(len(line)):
        with pytest.raises(BadLineError):
            decode(line[:n])
        for bit in range(8):
            flipped = bytearray(line)
            flipped[n] ^= 1 << bit
            with pytest.raises(BadLineError):
                decode(bytes(flipped))


def test_a_seal_reads_back() -> None:
    line = encode_seal(record_of(Noted(source="s", text="t")), Seal(3, "ab"))
    assert decode(line) == Seal(3, "ab")
