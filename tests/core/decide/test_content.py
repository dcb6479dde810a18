"""What a text is made of: counted by kinds, from pieces where it is large."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.parts.content import (
    NOTHING,
    WEIGHTS,
    WHOLE_MAX,
    Kind,
    checked,
    measure,
    of_body,
    of_files,
    of_opening,
    total,
    weight,
)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("two words", {Kind.WORDS: 2}),
        ("lineCount", {Kind.WORDS: 1, Kind.HUMPS: 1, Kind.LONG: 1}),
        ("HTTP", {Kind.WORDS: 1, Kind.CAPITALS: 2}),
        ("12 345", {Kind.DIGITS: 5, Kind.NUMBERS: 2}),
        ("a += (b)", {Kind.WORDS: 2, Kind.SIGNS: 4, Kind.RUNS: 3}),
        ("a\n  b\n", {Kind.WORDS: 2, Kind.LINES: 2, Kind.INDENTS: 1}),
        ("né", {Kind.WORDS: 1, Kind.ACCENTS: 1}),
        ("мир", {Kind.LETTERS: 3}),
        ("—", {Kind.SYMBOLS: 1}),
        ("日本", {Kind.HAN: 2}),
        ("🙂", {Kind.HAN: 1}),
        ("x" * 64, {Kind.WORDS: 1, Kind.LONG: 9, Kind.BLOBS: 2}),
        ("", {}),
    ],
)
def test_each_kind_is_counted(text: str, counts: dict[Kind, int]) -> None:
    found = measure(text)
    assert {kind: found[kind] for kind in Kind if found[kind]} == counts


def test_every_kind_has_a_weight() -> None:
    assert len(WEIGHTS) == len(Kind)
    assert all(weight > 0 for weight in WEIGHTS)


@given(st.text(max_size=400), st.text(max_size=400))
def test_a_text_is_its_lines_and_never_below_nothing(one: str, other: str) -> None:
    parts = total([measure(one), measure(other)])
    joined = measure(f"{one}\n{other}")
    assert min(joined) >= 0
    # The line end between them, and a run that stands at the seam.
    gaps = [abs(a - b) for a, b in zip(joined, parts, strict=True)]
    assert max(gaps) <= 1


def test_of_a_large_text_pieces_are_looked_at() -> None:
    line = "for index, name in enumerate(names): total[name] += 1  # counted\n"
    text = line * (8 * WHOLE_MAX // len(line))
    share = weight(measure(text)) / (len(text) / len(line) * weight(measure(line)))
    assert 0.99 < share < 1.01


def test_what_a_journal_says_is_looked_at_before_it_is_believed() -> None:
    sound = measure("some text")
    assert checked(list(sound)) == sound
    for bad in ([], [1, 2], [-1] * len(Kind), ["1"] * len(Kind), [10**30] * len(Kind)):
        assert checked(bad) == NOTHING


def test_an_opening_and_its_request_hold_the_same() -> None:
    tool = {"name": "read", "description": "Read a file.", "input_schema": {}}
    opening = {
        "system": "Be brief.",
        "inputs": "import os\n" * 40,
        "prompt": "Audit.",
        "tools": [tool],
        "schema": {"type": "object"},
    }
    text = [{"type": "text", "text": t} for t in (opening["inputs"], "Audit.")]
    body = {
        "system": "Be brief.",
        "messages": [{"role": "user", "content": text}],
        "tools": [tool],
        "output_config": {"format": {"schema": {"type": "object"}}},
    }
    one, other = of_opening(opening), of_body(body)
    assert weight(one) == pytest.approx(weight(other), rel=0.15)
    measured = of_opening(opening, measure(str(opening["inputs"])))
    assert measured == one


def test_images_and_strange_bodies_are_no_text() -> None:
    blob = {"type": "image", "source": {"data": "A" * 90_000}}
    assert weight(of_body({"messages": [{"role": "user", "content": [blob]}]})) < 50
    assert of_body({"messages": None, "system": 7})[Kind.WORDS] == 0
    result = {"type": "tool_result", "content": [{"type": "text", "text": "six words"}]}
    told = of_body({"messages": [{"role": "user", "content": [result]}]})
    assert told[Kind.WORDS] == 2


def test_files_that_were_not_read_are_taken_to_be_like_others_of_their_kind() -> None:
    whole = {"code": 3.6, "prose": 3.8, "json": 3.4, "other": 3.6}
    for kind, density in whole.items():
        content = of_files({kind: 360_000})  # type: ignore[dict-item]
        assert 360_000 / weight(content) == pytest.approx(density, rel=0.05)
    assert of_files({}) == NOTHING
    assert json.loads(json.dumps(of_files({"code": 1}))) == [0] * len(Kind)
