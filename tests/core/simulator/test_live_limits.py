"""Acceptance 3 to 6: limits, cache and debt as the SDK sees them."""

import asyncio
import time
from datetime import datetime
from typing import Any

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic

from fanout.simulator.process import SimulatedAccount

MODEL = "claude-opus-5-5"
POOL = "opus-5.5"
QUOTA = "anthropic-ratelimit-input-tokens"


def asked(text: str, **more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    return {"model": MODEL, "max_tokens": 50, "messages": said} | more


def text_of(tokens: int) -> str:
    return "word " * tokens


async def ask(client: AsyncAnthropic, text: str, **more: Any) -> Any:
    return await client.messages.with_raw_response.create(**asked(text, **more))


def seconds_ahead(headers: Any, name: str) -> float:
    reset = datetime.fromisoformat(headers[f"{QUOTA}-{name}"])
    return reset.timestamp() - time.time()


@pytest.mark.anyio
async def test_a_retry_succeeds_once_waited_and_fails_a_second_earlier(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limits={"requests": 30}, burst={"requests": 1 / 30})
    await ask(client, "first")
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(client, "second")
    refused_at = time.monotonic()
    told = caught.value.response.headers
    assert told["retry-after"] == "2"
    assert told["anthropic-ratelimit-requests-remaining"] == "0"
    await asyncio.sleep(0.95)
    with pytest.raises(anthropic.RateLimitError):
        await ask(client, "second")
    await asyncio.sleep(refused_at + 2 - time.monotonic())
    await ask(client, "second")
    assert account.state()["refused"] == {"limiter": 2}


@pytest.mark.anyio
async def test_remaining_and_what_is_in_flight_add_up_to_capacity(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limits={"input_tokens": 60_000, "output_tokens": 60_000})
    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(ask(client, f"{at} {text_of(1_500)}")) for at in range(20)
        ]
    headers = tasks[-1].result().headers
    state = account.state()
    refilled = (time.monotonic() - started) * 1_000
    used = state["charged"]["input_tokens"]
    lowest = min(int(task.result().headers[f"{QUOTA}-remaining"]) for task in tasks)
    assert 60_000 - used - 1_000 <= lowest <= 60_000 - used + refilled + 1_000
    level = state["pools"][POOL]["input_tokens"]["level"]
    assert level == pytest.approx(60_000 - used, abs=refilled + 1)
    assert int(headers[f"{QUOTA}-limit"]) == 60_000
    assert state["pools"]["opus-5"]["input_tokens"]["level"] == 60_000


def sharing(at: int, order: str) -> dict[str, Any]:
    shared = {
        "type": "text",
        "text": text_of(3_000),
        "cache_control": {"type": "ephemeral"},
    }
    own = {"type": "text", "text": f"{at} {order}"}
    return asked("") | {"messages": [{"role": "user", "content": [shared, own]}]}


async def usages(url: str, count: int, order: str) -> list[dict[str, int]]:
    """Send many at once, past the SDK: 300 of its requests take it seconds."""
    told = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
    async with aiohttp.ClientSession(
        url, headers=told, connector=aiohttp.TCPConnector(limit=0)
    ) as session:

        async def one(at: int) -> dict[str, int]:
            body = sharing(at, order)
            async with session.post("/v1/messages", json=body) as reply:
                usage: dict[str, int] = (await reply.json())["usage"]
                return usage

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(at)) for at in range(count)]
    return [task.result() for task in tasks]


@pytest.mark.anyio
async def test_a_shared_prefix_is_paid_by_all_or_by_one(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    together = await usages(account.url, 300, "[[sim: ttft=1.5]]")
    assert all(usage["cache_creation_input_tokens"] > 3_000 for usage in together)
    account.reset()
    async with client.messages.stream(**sharing(0, "[[sim: tps=1]]")) as first:
        async for event in first:
            assert event.type == "message_start"
            break
        after = await usages(account.url, 299, "")
    assert all(usage["cache_read_input_tokens"] > 3_000 for usage in after)
    charged = account.state()["charged"]
    assert 3_000 < charged["cache_creation_input_tokens"] < 3_100


@pytest.mark.anyio
async def test_an_oversize_request_leaves_a_debt_behind(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limits={"input_tokens": 30_000})
    admitted = await ask(client, text_of(56_000))
    assert admitted.headers[f"{QUOTA}-remaining"] == "0"
    assert 105 < seconds_ahead(admitted.headers, "reset") < 115
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(client, "tiny")
    told = caught.value.response.headers
    assert 50 <= int(told["retry-after"]) <= 54
    assert seconds_ahead(told, "reset") > 60
    assert "of 30,000 input tokens per minute" in str(caught.value)


@pytest.mark.anyio
async def test_output_is_charged_while_it_is_written_and_then_refused(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limits={"output_tokens": 600})
    told = await ask(client, "[[sim: output=700]]", max_tokens=1_000)
    assert told.headers["anthropic-ratelimit-output-tokens-remaining"] == "0"
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(client, "more")
    assert "of 600 output tokens per minute" in str(caught.value)
    assert 8 <= int(caught.value.response.headers["retry-after"]) <= 11


@pytest.mark.anyio
async def test_a_stream_shows_output_without_its_own(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limits={"output_tokens": 50_000})
    order = asked("[[sim: output=5000]]", max_tokens=6_000)
    async with client.messages.stream(**order) as stream:
        told = stream.response.headers
        final = await stream.get_final_message()
    name = "anthropic-ratelimit-output-tokens-remaining"
    assert told[name] == "50000"
    assert final.usage.output_tokens == 5_000
    plain = await ask(client, "next")
    assert int(plain.headers[name]) in (45_000, 46_000)


@pytest.mark.anyio
async def test_counting_has_a_bucket_of_its_own_and_is_an_estimate(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limiter={"count_tokens_requests": 3})
    said = [{"role": "user", "content": text_of(10_000)}]
    counted = [
        (await client.messages.count_tokens(model=MODEL, messages=said)).input_tokens
        for _ in range(3)
    ]
    assert len(set(counted)) == 1
    assert counted[0] == pytest.approx(10_000, rel=0.021)
    with pytest.raises(anthropic.RateLimitError):
        await client.messages.count_tokens(model=MODEL, messages=said)
    await ask(client, "goes on")


@pytest.mark.anyio
async def test_foreign_load_and_limits_changed_in_the_run(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(foreign_load={"input_tokens": 0.5})
    state = account.state(0)["pools"][POOL]["input_tokens"]
    assert state["foreign_per_second"] == state["rate_per_second"] / 2
    account.set(changes=[{"at": 0, "input_tokens": 12_345}])
    told = await ask(client, "after the change")
    assert told.headers[f"{QUOTA}-limit"] == "12345"


@pytest.mark.anyio
async def test_the_ramp(account: SimulatedAccount, client: AsyncAnthropic) -> None:
    account.set(ramp={"start": 1_000, "step": 500})
    await ask(client, text_of(900))
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(client, text_of(901))
    assert caught.value.error_code == "ramp_limit_exceeded"
    assert "Your current limit is 1,000 input tokens" in str(caught.value)


@pytest.mark.anyio
async def test_models_and_what_is_not_there(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    names = [model.id async for model in client.models.list()]
    assert "claude-haiku-4-5" in names
    one = await client.models.retrieve("claude-haiku-4-5-20251001")
    assert (one.max_input_tokens, one.max_tokens) == (200_000, 64_000)
    with pytest.raises(anthropic.NotFoundError):
        await client.get("/v1/files", cast_to=object)
    beta = await client.beta.messages.create(**asked("with ?beta=true"))
    assert beta.stop_reason == "end_turn"
    with pytest.raises(anthropic.BadRequestError) as caught:
        await client.messages.create(**asked("x"), extra_body={"thread": {}})
    assert caught.value.error_code == "thread_unsupported_request"
