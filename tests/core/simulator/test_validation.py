"""Requests the service would not start, each with its words."""

from typing import Any

import pytest

from fanout.simulator import validation
from fanout.simulator.call import Call
from fanout.simulator.errors import Refusal

USER = {"role": "user", "content": "hi"}
USE = {"type": "tool_use", "id": "t1", "name": "x", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
ASSISTANT = {"role": "assistant", "content": [USE]}
FIVE = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def check(version: str | None = "2026-10-21", **more: Any) -> Call | Refusal:
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [USER]} | more
    kept = {key: value for key, value in body.items() if value is not None}
    return validation.check(
        kept, version=version, endpoint="messages", digest="d", row=""
    )


def text(words: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | more


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"version": None}, 400, "anthropic-version: header is required"),
        ({"max_tokens": None}, 400, "max_tokens: Field required"),
        ({"model": None}, 400, "model: Field required"),
        ({"messages": []}, 400, "at least one message"),
        ({"model": "claude-2"}, 404, "model: claude-2"),
        ({"max_tokens": 128_001}, 400, "128001 > 128000"),
        ({"max_tokens": 0}, 400, "greater than or equal to 1"),
        ({"temperature": 0.5}, 400, "temperature: sampling"),
        ({"messages": [ASSISTANT]}, 400, "first message"),
        ({"messages": [USER, USER | {"role": "assistant"}]}, 400, "prefill"),
        ({"messages": [USER, ASSISTANT, USER]}, 400, "without `tool_result` blocks"),
        (
            {
                "messages": [
                    USER,
                    ASSISTANT,
                    {"role": "user", "content": [text(), RESULT]},
                ]
            },
            400,
            "without `tool_result` blocks",
        ),
        (
            {"messages": [{"role": "user", "content": [RESULT]}]},
            400,
            "unexpected `tool_use_id`",
        ),
        (
            {"messages": [{"role": "user", "content": [text(**FIVE)] * 5}]},
            400,
            "maximum of 4",
        ),
        (
            {"messages": [{"role": "user", "content": [text(**FIVE), text(**HOUR)]}]},
            400,
            "must not come after",
        ),
        ({"thinking": {"type": "enabled"}}, 400, "adaptive"),
        ({"thread": {"type": "create"}}, 400, "thread"),
        ({"tools": {}}, 400, "valid list"),
        (
            {
                "model": "claude-haiku-4-5",
                "messages": [{"role": "user", "content": "x " * 220_000}],
            },
            400,
            "prompt is too long: ",
        ),
    ],
)
def test_a_bad_request_is_refused_with_its_reason(
    more: dict[str, Any], status: int, words: str
) -> None:
    told = check(**more)
    assert isinstance(told, Refusal)
    assert told.status == status
    assert words in told.message


def test_what_is_fine_passes() -> None:
    done = {"role": "user", "content": [RESULT, text()]}
    assert isinstance(check(messages=[USER, ASSISTANT, done]), Call)
    assert isinstance(check(version="2023-06-01", temperature=0.5), Call)
    assert isinstance(check(model="claude-opus-4-5-20251101"), Call)
    four = [text(**HOUR), text(**HOUR), text(**FIVE), text(**FIVE)]
    assert isinstance(check(messages=[{"role": "user", "content": four}]), Call)
    old = check(model="claude-opus-4-5", messages=[USER, USER | {"role": "assistant"}])
    assert isinstance(old, Call)


def test_the_automatic_breakpoint_is_the_last_block() -> None:
    told = check(cache_control={"type": "ephemeral"}, system="s")
    assert isinstance(told, Call)
    assert [block.ttl for block in told.blocks] == [None, "5m"]
    assert told.input_tokens == sum(block.tokens for block in told.blocks)
