"""Acceptance 2: streams that go wrong look to the SDK as the real ones do."""

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic, AsyncStream

from fanout.simulator.process import SimulatedAccount

WORDS = [{"role": "user", "content": "[[sim: output=100]]"}]
ASKED: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 400,
    "messages": WORDS,
}


def stage(account: SimulatedAccount, kind: str, **more: object) -> None:
    account.set(faults=[{"kind": kind, **more}])


async def helper(client: AsyncAnthropic, **more: Any) -> Any:
    async with client.messages.stream(**ASKED, **more) as stream:
        return await stream.get_final_message()


async def raw(client: AsyncAnthropic) -> list[str]:
    stream = await client.messages.create(**ASKED, stream=True)
    assert isinstance(stream, AsyncStream)
    return [event.type async for event in stream]


@pytest.mark.anyio
@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("type_", ["overloaded_error", "api_error", "rate_limit_error"])
async def test_an_error_event_has_status_200(
    account: SimulatedAccount, client: AsyncAnthropic, after: int, type_: str
) -> None:
    stage(account, "error_event", error_type=type_, after_events=after)
    for way in (helper, raw):
        with pytest.raises(anthropic.APIStatusError) as caught:
            await way(client)
        assert (caught.value.status_code, caught.value.type) == (200, type_)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["clean_eof", "close_delimited", "partial_frame"])
async def test_a_silent_end_gives_a_partial_message(
    account: SimulatedAccount, client: AsyncAnthropic, kind: str
) -> None:
    stage(account, kind, after_events=6)
    partial = await helper(client)
    assert partial.stop_reason is None
    assert partial.content[0].text
    assert "message_stop" not in await raw(client)
    assert account.state()["ended"] == {"cut": 2}


@pytest.mark.anyio
async def test_an_end_after_message_delta_is_a_whole_message(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    stage(account, "eof_after_delta")
    assert (await helper(client)).stop_reason == "end_turn"
    assert (await raw(client))[-1] == "message_delta"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["cut", "cut_after_stop"])
async def test_a_socket_closed_inside_the_body(
    account: SimulatedAccount, client: AsyncAnthropic, kind: str
) -> None:
    stage(account, kind)
    for way in (helper, raw):
        with pytest.raises(httpx2.RemoteProtocolError):
            await way(client)


@pytest.mark.anyio
async def test_a_reset(account: SimulatedAccount, client: AsyncAnthropic) -> None:
    stage(account, "reset", after_events=0)
    for way in (helper, raw):
        with pytest.raises(httpx2.ReadError):
            await way(client)


@pytest.mark.anyio
async def test_a_stall_longer_than_the_read_timeout(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    stage(account, "stall", seconds=5)
    with pytest.raises(httpx2.ReadTimeout):
        await helper(client, timeout=0.2)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["empty_body", "data_only"])
async def test_no_events(
    account: SimulatedAccount, client: AsyncAnthropic, kind: str
) -> None:
    stage(account, kind)
    with pytest.raises(AssertionError):
        await helper(client)
    assert await raw(client) == []


@pytest.mark.anyio
async def test_an_unknown_event_passes(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    stage(account, "unknown_event")
    assert (await helper(client)).stop_reason == "end_turn"
    assert (await raw(client))[-1] == "message_stop"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["drop", "reset_before", "cut", "reset"])
async def test_a_plain_response_that_does_not_come(
    account: SimulatedAccount, client: AsyncAnthropic, kind: str
) -> None:
    stage(account, kind)
    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.create(**ASKED)


@pytest.mark.anyio
async def test_plain_bodies_that_are_not_json(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    stage(account, "bad_json")
    with pytest.raises(json.JSONDecodeError):
        await client.messages.create(**ASKED)
    stage(account, "html")
    assert isinstance(await client.messages.create(**ASKED), str)


@pytest.mark.anyio
async def test_slow_headers(account: SimulatedAccount, client: AsyncAnthropic) -> None:
    stage(account, "slow_headers", seconds=5)
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(**ASKED, timeout=0.2)
    assert account.state()["ended"] == {"disconnected": 1}


@pytest.mark.anyio
async def test_a_client_that_hangs_up_stops_the_charge(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    long = [{"role": "user", "content": "[[sim: output=20000 tps=2000]]"}]
    async with client.messages.stream(
        **ASKED | {"messages": long, "max_tokens": 30_000}
    ) as stream:
        async for _ in stream:
            break
    first = account.state()
    assert first["ended"] in ({}, {"disconnected": 1})
    before = account.state()["charged"]["output_tokens"]
    state = account.state()
    assert state["ended"] == {"disconnected": 1}
    assert state["charged"]["output_tokens"] == before < 5_000
    assert state["in_flight"] == 0


@pytest.mark.anyio
async def test_faults_by_match_row_and_times(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(
        faults=[
            {"kind": "overloaded", "row": "^bad$", "times": 1},
            {"kind": "server_error", "match_last": "never"},
        ]
    )
    bad = {"x-fanout-row": "bad"}
    with pytest.raises(anthropic.InternalServerError):
        await client.messages.create(**ASKED, extra_headers=bad)
    await client.messages.create(**ASKED, extra_headers=bad)
    await client.messages.create(**ASKED, extra_headers={"x-fanout-row": "good"})
    rows = account.state()["rows"]
    assert (rows["bad"]["refused"], rows["bad"]["admitted"]) == (1, 1)
    assert rows["good"]["charged"]["output_tokens"] == 100


@pytest.mark.anyio
async def test_headers_that_lie(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    quota = "anthropic-ratelimit"
    account.set(faults=[{"kind": "missing_headers"}])
    told = (await client.messages.with_raw_response.create(**ASKED)).headers
    assert f"{quota}-requests-limit" in told
    assert not [n for n in told if n.startswith((f"{quota}-input", f"{quota}-tokens"))]
    account.set(faults=[{"kind": "clock_skew", "seconds": 3600}])
    skewed = (await client.messages.with_raw_response.create(**ASKED)).headers
    assert skewed["date"] != told["date"]
    account.set(faults=[{"kind": "stale_headers"}])
    stale = (await client.messages.with_raw_response.create(**ASKED)).headers
    remaining = f"{quota}-requests-remaining"
    assert stale[remaining] == skewed[remaining]
