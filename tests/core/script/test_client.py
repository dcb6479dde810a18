import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest

import fanout
from core.script.ports import FakePort, called, settle
from fanout.errors import UsageError
from fanout.script.session import Session
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import ClientOrder, ClientReply

pytestmark = pytest.mark.anyio

ASK: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 50_000,
    "messages": [{"role": "user", "content": "Hi"}],
}


def message(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 11,
            "output_tokens": 7,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3,
            "service_tier": "standard",
        },
    }


TEXT = {"type": "text", "text": "Grüße 🌍", "citations": None}
EVERY_BLOCK = [
    {"type": "thinking", "thinking": "hm", "signature": "sig"},
    {"type": "redacted_thinking", "data": "xyz"},
    TEXT,
    {
        "type": "text",
        "text": "cited",
        "citations": [
            {
                "type": "char_location",
                "cited_text": "c",
                "document_index": 0,
                "document_title": None,
                "start_char_index": 0,
                "end_char_index": 1,
                "file_id": None,
            }
        ],
    },
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": "ü"}},
    {"type": "tool_use", "id": "toolu_2", "name": "none", "input": {}},
]


def answered(*content: dict[str, Any], **more: Any) -> ClientReply:
    headers = {"request-id": "req_1", "content-encoding": "gzip"}
    return ClientReply(status=200, headers=headers, message=message(*content, **more))


def refused(status: int, kind: str, **details: Any) -> ClientReply:
    error = {"type": kind, "message": "no", **details}
    return ClientReply(
        status=status,
        headers={"request-id": "req_2", "retry-after": "3600"},
        body=json.dumps({"type": "error", "error": error}),
    )


async def test_a_call_is_a_row_of_the_current_phase(
    port: FakePort, session: Session
) -> None:
    port.reply = lambda order: answered(TEXT)
    client = fanout.client()
    assert isinstance(client, anthropic.AsyncAnthropic)
    async with fanout.phase("asked"):
        got = await client.messages.create(**ASK, extra_headers={"anthropic-beta": "x"})
    assert got.content[0].type == "text"
    assert got.content[0].text == "Grüße 🌍"
    assert got._request_id == "req_1"
    (order,) = port.calls
    assert (order.row, order.phase, order.path) == (None, "asked", "/v1/messages")
    assert order.body == ASK
    assert order.headers["anthropic-beta"] == "x"
    assert not {"authorization", "x-api-key"} & set(order.headers)


async def test_many_calls_wait_at_the_same_time(
    port: FakePort, session: Session
) -> None:
    client = fanout.client()
    tasks = [asyncio.create_task(client.messages.create(**ASK)) for _ in range(20)]
    await called(port, 20)
    for reply in reversed(port.on_reply):
        reply(answered(TEXT))
    assert len(await asyncio.gather(*tasks)) == 20


@pytest.mark.parametrize("content", [EVERY_BLOCK, []], ids=["every block", "none"])
async def test_a_held_stream_gives_back_the_whole_message(
    port: FakePort, session: Session, content: list[dict[str, Any]]
) -> None:
    port.reply = lambda order: answered(*content, stop="tool_use")
    client = fanout.client()
    async with client.messages.stream(**ASK) as stream:
        texts = [text async for text in stream.text_stream]
        got = await stream.get_final_message()
    plain = await client.messages.create(**ASK)
    streamed = got.model_dump(exclude={"content": {"__all__": {"parsed_output"}}})
    assert streamed == plain.model_dump()
    assert "".join(texts) == ("Grüße 🌍cited" if content else "")
    assert port.calls[0].body["stream"] is True
    assert port.calls[0].sink is None


async def test_raw_events_and_raw_responses_work(
    port: FakePort, session: Session
) -> None:
    port.reply = lambda order: answered(TEXT)
    client = fanout.client()
    kinds = [e.type async for e in await client.messages.create(**ASK, stream=True)]
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    raw = await client.messages.with_raw_response.create(**ASK)
    assert raw.headers["request-id"] == "req_1"
    assert (await raw.parse()).stop_reason == "end_turn"


async def test_a_tool_loop_of_the_sdk_runs(port: FakePort, session: Session) -> None:
    @anthropic.beta_async_tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    use = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "add",
        "input": {"a": 1, "b": 2},
    }
    replies = [answered(use, stop="tool_use"), answered(TEXT)]
    port.reply = lambda order: replies[len(port.calls) - 1]
    runner = fanout.client(key="loop").beta.messages.tool_runner(
        **ASK, tools=[add], thread=False
    )
    final = await runner.until_done()
    assert final.stop_reason == "end_turn"
    assert [order.row for order in port.calls] == [RowId("main", "loop")] * 2
    assert port.calls[1].body["messages"][-1]["content"][0]["content"] == "3"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refused(400, "invalid_request_error"), anthropic.BadRequestError),
        (refused(401, "authentication_error"), anthropic.AuthenticationError),
        (refused(429, "rate_limit_error"), anthropic.RateLimitError),
        (refused(500, "api_error"), anthropic.InternalServerError),
        (refused(529, "overloaded_error"), anthropic.InternalServerError),
        (ClientReply(status=502, body="<html>bad"), anthropic.InternalServerError),
    ],
)
async def test_an_error_is_the_sdks_own_and_is_not_retried(
    port: FakePort,
    session: Session,
    reply: ClientReply,
    error: type[anthropic.APIStatusError],
) -> None:
    port.reply = lambda order: reply
    client = fanout.client().with_options(max_retries=5)
    with pytest.raises(error) as caught:
        await client.messages.create(**ASK)
    assert caught.value.status_code == reply.status
    with pytest.raises(error):
        async with client.messages.stream(**ASK):
            pass
    assert len(port.calls) == 2


async def test_given_up_while_waiting_the_engine_hears_of_it(
    port: FakePort, session: Session
) -> None:
    client = fanout.client()
    task = asyncio.create_task(client.messages.create(**ASK))
    await called(port)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert port.cancelled == port.calls
    port.on_reply[0](answered(TEXT))


async def test_a_stop_cancels_who_waits_and_who_will(
    port: FakePort, session: Session
) -> None:
    client = fanout.client()
    task = asyncio.create_task(client.messages.create(**ASK))
    await called(port)
    session.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(asyncio.CancelledError):
        await client.messages.create(**ASK)
    assert port.cancelled == []
    assert len(port.calls) == 1


async def test_with_a_key_calls_are_turns_of_one_row_in_call_order(
    port: FakePort, session: Session
) -> None:
    client = fanout.client(key="chat")
    tasks = [
        asyncio.create_task(client.messages.create(**ASK | {"max_tokens": n}))
        for n in (1, 2, 3)
    ]
    seen = []
    for n in (1, 2, 3):
        await called(port, n)
        await settle()
        seen.append(port.calls[-1].body["max_tokens"])
        assert len(port.calls) == n
        port.on_reply[-1](answered(TEXT))
    await asyncio.gather(*tasks)
    assert seen == [1, 2, 3]
    assert {order.row for order in port.calls} == {RowId("main", "chat")}
    session.close(returned=True)
    assert port.finished == []


async def test_a_client_with_a_key_that_is_never_used_is_missing(
    port: FakePort, session: Session
) -> None:
    fanout.client(key="chat")
    with pytest.raises(UsageError, match="the key `chat`"):
        fanout.client(key="chat")
    session.close(returned=True)
    assert [(row, kind) for row, kind, _ in port.finished] == [
        (RowId("main", "chat"), MissingKind.NEVER_STARTED)
    ]


async def test_counts_and_models_pass_and_batches_are_refused(
    port: FakePort, session: Session
) -> None:
    bodies = {
        "/v1/messages/count_tokens": '{"input_tokens": 5}',
        "/v1/models/claude-test": '{"id": "claude-test", "type": "model"}',
    }
    port.reply = lambda order: ClientReply(status=200, body=bodies[order.path])
    client = fanout.client()
    asked = {"model": "claude-test", "messages": ASK["messages"]}
    assert (await client.messages.count_tokens(**asked)).input_tokens == 5
    assert (await client.models.retrieve("claude-test")).id == "claude-test"
    with pytest.raises(anthropic.BadRequestError, match="--lane batch"):
        await client.messages.batches.list()
    with pytest.raises(anthropic.BadRequestError, match="does not send"):
        await client.post("/v1/complete", cast_to=object, body={})
    assert len(port.calls) == 2


def parts_of(order: ClientOrder) -> list[bytes]:
    """The events of a stream, as a socket would bring them."""
    from fanout.script.sse import stream_of

    assert order.sink is not None
    events = stream_of(message(TEXT)).split(b"\n\n")[:-1]
    return [event + b"\n\n" for event in events]


async def test_live_bytes_are_delivered_as_they_come(
    port: FakePort, session: Session
) -> None:
    client = fanout.client(live=True)
    seen: list[str] = []

    async def read() -> None:
        async with client.messages.stream(**ASK) as stream:
            seen.extend([event.type async for event in stream])

    task = asyncio.create_task(read())
    await called(port)
    (order,) = port.calls
    assert order.sink is not None
    for part in parts_of(order):
        order.sink(part)
    port.on_reply[0](answered(TEXT))
    await task
    assert seen[-1] == "message_stop"
    assert port.cancelled == []


async def test_a_live_stream_that_is_cut_raises(
    port: FakePort, session: Session
) -> None:
    def cut(order: ClientOrder) -> ClientReply:
        assert order.sink is not None
        for part in parts_of(order)[:3]:
            order.sink(part)
        return refused(529, "overloaded_error")

    port.reply = cut
    with pytest.raises(httpx2.RemoteProtocolError, match="no"):
        async with fanout.client(live=True).messages.stream(**ASK) as stream:
            await stream.get_final_message()


async def test_a_live_stream_left_early_is_given_up(
    port: FakePort, session: Session
) -> None:
    def begun(order: ClientOrder) -> None:
        assert order.sink is not None
        order.sink(parts_of(order)[0])

    port.reply = begun
    async with fanout.client(live=True).messages.stream(**ASK):
        pass
    assert port.cancelled == port.calls


async def test_a_live_answer_from_the_journal_is_a_stream_too(
    port: FakePort, session: Session
) -> None:
    port.reply = lambda order: answered(TEXT)
    async with fanout.client(live=True).messages.stream(**ASK) as stream:
        assert await stream.get_final_text() == "Grüße 🌍"


async def test_outside_of_a_run_it_says_so() -> None:
    with pytest.raises(UsageError, match="no run"):
        fanout.client()
