import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import fanout
from core.script.ports import FakePort
from fanout.errors import UsageError
from fanout.script.inputs import render
from fanout.script.results import Done, Missing, Results
from fanout.script.session import Session
from fanout.words.model import MissingKind


class Finding(BaseModel):
    file: str


@dataclasses.dataclass
class Pair:
    left: str
    right: list[Finding]


def done(key: str, value: Any = "text") -> Done[Any]:
    return Done(key=key, phase="audit", value=value)


def hole(key: str, reason: str = "400") -> Missing:
    return Missing(key=key, phase="audit", kind=MissingKind.REJECTED, reason=reason)


SOME = Results([done("a", Finding(file="x")), hole("b"), done("c")])
NONE = Results([hole("a"), hole("b")])


def test_text_is_as_it_is() -> None:
    made = render("a <b> & \ud83d\ude00 \ud800")
    assert made.text == "a <b> & 😀 \ufffd"
    assert len(made.digests) == 1
    assert render(None).digests == ()


def test_results_begin_with_their_completeness() -> None:
    text = render(SOME).text
    assert text.startswith(
        "<results>\n<completeness>2 of 3 done; missing: audit/b</completeness>\n"
    )
    assert '<result phase="audit" key="a">\n{"file": "x"}\n</result>' in text
    assert "1 of 1 done" in render(Results([done("a")])).text


@pytest.mark.parametrize(
    "part",
    [
        SOME.done,
        SOME[::2],
        [one for one in SOME if one.ok],
        list(SOME.done),
        {one.key: one for one in SOME.done},
        ["Read these.", *SOME.done],
    ],
    ids=["done", "slice", "comprehension", "list", "mapping", "mixed"],
)
def test_a_part_cannot_pass_for_the_whole(part: Any) -> None:
    assert "2 of 3 done; missing: audit/b" in render(part).text


def test_one_done_alone_stands_for_itself() -> None:
    assert "completeness" not in render(SOME[0]).text
    assert render(SOME[0]).digests == render(done("a", Finding(file="x"))).digests


def test_loose_results_are_counted_as_one_whole() -> None:
    made = render([done("a"), hole("b")])
    assert made.text.startswith("<completeness>1 of 2 done; missing: audit/b")
    assert made.upstream is None


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (hole("b"), "audit/b is missing: rejected: 400"),
        ([hole("a"), hole("b")], "(and 1 more)"),
        ({"style": "terse", "audit": hole("b")}, "audit/b is missing"),
        (NONE, "0 of 2 done"),
        (NONE.done, "0 of 2 done"),
        ({"good": SOME, "bad": NONE}, "0 of 2 done"),
        (SOME[1:2], "2 of 3 done"),
    ],
)
def test_nothing_done_is_upstream(inputs: Any, why: str) -> None:
    made = render(inputs)
    assert made.upstream is not None
    assert why in made.upstream
    assert made.text == ""


def test_results_of_nothing_are_no_hole() -> None:
    assert render(Results([])).upstream is None


def test_the_reason_of_a_hole_does_not_change_what_its_reader_is_reused_by() -> None:
    first = Results([done("a"), hole("b", "request req_1")])
    second = Results([done("a"), hole("b", "request req_2")])
    assert render(first).digests == render(second).digests
    assert render(first).digests != render(SOME).digests


def test_objects_are_json_and_mappings_are_named() -> None:
    pair = Pair("l", [Finding(file="f")])
    made = render({"pair": pair, "note": 'say "hi"', "n": 3, 'odd "name"': None})
    assert '{"left": "l", "right": [{"file": "f"}]}' in made.text
    assert '<input name="note">\nsay "hi"\n</input>' in made.text
    assert '<input name="odd &quot;name&quot;">\nnull' in made.text
    assert render([Finding(file="a"), Finding(file="b")]).text == (
        '[{"file": "a"}, {"file": "b"}]'
    )


class Odd: ...


@pytest.mark.parametrize(
    "inputs",
    [3, 2.5, True, b"x", Path("a"), Odd(), {1, 2}, Finding, Pair],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_anything_else_is_named(inputs: Any) -> None:
    with pytest.raises(UsageError, match=type(inputs).__name__):
        render(inputs)


@pytest.mark.parametrize("inputs", [{"a": Odd()}, [Odd()], {"a": [b"x"]}])
def test_anything_else_inside_is_named_too(inputs: Any) -> None:
    with pytest.raises(UsageError, match=r"a (Odd|bytes) cannot"):
        render(inputs)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, str | list | dict))
)
def test_plain_data_always_renders_and_can_be_sent(inputs: Any) -> None:
    made = render(inputs)
    made.text.encode()
    assert made == render(inputs)
    assert made.upstream is None


@pytest.mark.anyio
async def test_a_partition_is_a_manifest_when_its_root_can_be_read(
    port: FakePort, session: Session, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("print('a')\n")
    (tmp_path / "empty.py").write_text("")
    (part,) = fanout.partition(tmp_path, "*.py", max_tokens=1000)
    tools = fanout.read_tools(tmp_path)
    await fanout.agent("Go.", key="inline", inputs=part)
    await fanout.agent("Go.", key="manifest", inputs=part, tools=tools)
    other = fanout.read_tools(tmp_path.parent)
    await fanout.agent("Go.", key="elsewhere", inputs=part, tools=other)
    inline, manifest, elsewhere = (order for batch in port.batches for order in batch)
    assert "print('a')" in inline.inputs
    assert "print('a')" not in manifest.inputs
    assert "a.py" in manifest.inputs
    assert elsewhere.inputs == inline.inputs
    assert inline.input_digests == manifest.input_digests
    assert part.digest in inline.input_digests
    assert ("log", "not in a partition: empty.py: empty") in port.notes


@pytest.mark.parametrize("size", [300, 5_000])
@pytest.mark.parametrize(
    ("name", "pattern"),
    [("{}", "**/*"), ("{}.csv", None), ("{}/a.jsonl", None), ("{}.txt", None)],
)
def test_a_name_that_no_file_can_have_cannot_be_partitioned(
    name: str, pattern: str | None, size: int
) -> None:
    with pytest.raises(UsageError):
        fanout.partition(name.format("x" * size), pattern, max_tokens=1_000)
