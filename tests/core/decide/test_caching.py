"""What is laid out for the prompt cache, and who waits for it."""

from typing import Any

from fanout.decide.caching import prefix_of
from fanout.decide.conversation import Conversation, request


def opening(**changes: Any) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-5",
        "system": None,
        "prompt": "do it",
        "inputs": "",
        "tools": [],
        "schema": None,
        "max_tokens": 100,
        "max_turns": 5,
        "writes_output": False,
        **changes,
    }


TOOL = {"name": "read", "description": "d" * 8_000, "input_schema": {"type": "object"}}


def test_a_short_prefix_is_not_waited_for() -> None:
    assert prefix_of(opening(system="be brief")) is None
    assert request(Conversation(opening(system="be brief")))["system"] == "be brief"


def test_agents_with_the_same_tools_and_system_share_a_prefix() -> None:
    one = prefix_of(opening(system="s" * 6_000, prompt="a"))
    other = prefix_of(opening(system="s" * 6_000, prompt="b"))
    assert one is not None
    assert one == other
    assert one != prefix_of(opening(system="t" * 6_000))
    assert one != prefix_of(opening(system="s" * 6_000, model="claude-opus-5"))


def test_the_breakpoint_stands_at_the_end_of_the_prefix() -> None:
    body = request(Conversation(opening(system="s" * 6_000, tools=[TOOL])))
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in body["tools"][-1]
    body = request(Conversation(opening(tools=[TOOL])))
    assert body["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in TOOL
