"""What an answer is saying while it comes, and what it said once it is whole."""

from typing import Any

import pytest

from fanout.decide.assembly import Assembly


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **change: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": change}


def said(index: int, text: str) -> dict[str, Any]:
    return delta(index, type="text_delta", text=text)


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def fed(*events: dict[str, Any]) -> Assembly:
    assembly = Assembly()
    assembly.feed({"type": "message_start", "message": {"usage": {}}})
    for event in events:
        assembly.feed(event)
    return assembly


def texts(assembly: Assembly) -> list[str]:
    return [block.get("text", "") for block in assembly.message()["content"]]


@pytest.mark.parametrize("asked", [False, True])
def test_a_text_is_the_same_however_often_it_was_asked_for(asked: bool) -> None:
    assembly, far = fed(opened(0, type="text", text="Once ")), "Once "
    for piece in ("upon ", "", "a ", "time"):
        assembly.feed(said(0, piece))
        far += piece
        if asked:
            assert assembly.saying() == far
    assert texts(assembly) == [far]
    assert assembly.characters == len(far) - len("Once ")


def test_nothing_is_being_said_before_after_and_between_texts() -> None:
    assembly = fed(opened(0, type="text", text=""))
    assert assembly.saying() == ""
    assembly.feed(said(0, "one"))
    assert assembly.saying() == "one"
    assembly.feed(closed(0))
    assert assembly.saying() == ""
    assembly.feed(opened(1, type="tool_use", id="t", name="read", input={}))
    assembly.feed(delta(1, type="input_json_delta", partial_json='{"a"'))
    assert (assembly.saying(), assembly.doing) == ("", "read")
    assembly.feed(opened(2, type="thinking", thinking=""))
    assembly.feed(delta(2, type="thinking_delta", thinking="hm"))
    assert assembly.saying() == "hm"
    assert assembly.message()["content"][2]["thinking"] == "hm"


def test_a_block_that_is_opened_again_begins_anew() -> None:
    begun = opened(0, type="text", text="")
    assembly = fed(begun, said(0, "old"), begun, said(0, "new"))
    assert assembly.saying() == "new"
    assert texts(assembly) == ["new"]


def test_blocks_that_come_in_turns_are_kept_apart() -> None:
    first, second = opened(0, type="text", text=""), opened(1, type="text", text="")
    assembly = fed(first, second, said(0, "a"), said(1, "x"), said(0, "b"))
    assert assembly.saying() == "ab"
    assert texts(assembly) == ["ab", "x"]


def test_what_comes_behind_the_end_of_a_block_is_kept() -> None:
    assembly = fed(opened(0, type="text", text=""), said(0, "a"), closed(0))
    assembly.feed(said(0, "b"))
    assert texts(assembly) == ["ab"]
    assert texts(assembly) == ["ab"]
