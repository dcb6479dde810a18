"""Acceptance 1: each refusal of the service is what the SDK makes of it."""

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic

from fanout.simulator.process import SimulatedAccount

MODEL = "claude-opus-5-5"
HELLO = [{"role": "user", "content": "hello"}]
LIMITED = "This request would exceed your organization's rate limit of "

ROWS = [
    ("invalid_request", "BadRequestError", 400, "invalid_request_error", None),
    ("own_spend", "BadRequestError", 400, "invalid_request_error", None),
    ("authentication", "AuthenticationError", 401, "authentication_error", None),
    ("billing", "PaymentRequiredError", 402, "billing_error", None),
    ("permission", "PermissionDeniedError", 403, "permission_error", None),
    ("timeout", "RequestTimeoutError", 408, "timeout_error", None),
    ("conflict", "ConflictError", 409, "conflict_error", None),
    ("too_large", "ContentTooLargeError", 413, "request_too_large", None),
    ("unprocessable", "UnprocessableEntityError", 422, "invalid_request_error", None),
    ("rate_limit", "RateLimitError", 429, "rate_limit_error", None),
    ("rate_limit_no_retry_after", "RateLimitError", 429, "rate_limit_error", None),
    ("concurrency", "RateLimitError", 429, "rate_limit_error", None),
    ("server_throttle", "RateLimitError", 429, "rate_limit_error", None),
    ("ramp", "RampLimitExceededError", 429, "rate_limit_error", "ramp_limit_exceeded"),
    (
        "spend",
        "EnforcedSpendLimitReachedError",
        429,
        "rate_limit_error",
        "enforced_spend_limit_reached",
    ),
    (
        "contract_spend",
        "ContractSpendLimitReachedError",
        429,
        "rate_limit_error",
        "contract_spend_limit_reached",
    ),
    ("server_error", "InternalServerError", 500, "api_error", None),
    ("bad_gateway", "InternalServerError", 502, None, None),
    ("unavailable", "ServiceUnavailableError", 503, None, None),
    ("gateway_timeout", "GatewayTimeoutError", 504, "timeout_error", None),
    ("overloaded", "OverloadedError", 529, "overloaded_error", None),
]


async def refused(client: AsyncAnthropic, **more: object) -> anthropic.APIStatusError:
    wanted = {"model": MODEL, "max_tokens": 100, "messages": HELLO} | more
    with pytest.raises(anthropic.APIStatusError) as caught:
        await client.messages.create(**wanted)
    return caught.value


@pytest.mark.anyio
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
async def test_a_staged_refusal_has_its_class_type_and_code(
    account: SimulatedAccount,
    client: AsyncAnthropic,
    row: tuple[str, str, int, str | None, str | None],
) -> None:
    kind, name, status, type_, code = row
    account.set(faults=[{"kind": kind}])
    error = await refused(client)
    assert type(error).__name__ == name
    assert (error.status_code, error.type, error.error_code) == (status, type_, code)
    assert account.state()["charged"]["input_tokens"] == 0


@pytest.mark.anyio
async def test_which_refusals_carry_which_headers(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    quota = "anthropic-ratelimit-input-tokens-remaining"
    expected = {
        "rate_limit": (True, "5", "true"),
        "rate_limit_no_retry_after": (True, None, "true"),
        "ramp": (True, "5", "true"),
        "server_throttle": (False, None, None),
        "concurrency": (False, None, "true"),
        "spend": (False, None, None),
        "billing": (False, None, "false"),
        "overloaded": (False, None, None),
        "server_error": (False, None, None),
        "too_large": (False, None, None),
        "authentication": (False, None, None),
    }
    for kind, (has_quota, wait, again) in expected.items():
        account.set(faults=[{"kind": kind}])
        told = (await refused(client)).response.headers
        assert (quota in told) is has_quota, kind
        assert told.get("retry-after") == wait, kind
        assert told.get("x-should-retry") == again, kind


@pytest.mark.anyio
async def test_a_very_long_retry_after_is_sent_as_told(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(faults=[{"kind": "rate_limit", "retry_after": 3600}])
    error = await refused(client)
    assert error.response.headers["retry-after"] == "3600"
    assert error.api_message is not None
    assert error.api_message.startswith(LIMITED + "100,000,000 input tokens")


@pytest.mark.anyio
async def test_no_key_is_401_without_organisation(account: SimulatedAccount) -> None:
    async with aiohttp.ClientSession() as session:
        for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/nothing"):
            async with session.post(account.url + path, json={}) as response:
                told = await response.json()
                assert response.status == 401
                assert told["error"]["type"] == "authentication_error"
                assert told["request_id"] == response.headers["request-id"]
                assert "anthropic-organization-id" not in response.headers


@pytest.mark.anyio
async def test_real_limits_of_money(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    said = await client.messages.create(
        model=MODEL, max_tokens=100, messages=HELLO, extra_headers={"x-api-key": "k"}
    )
    assert account.state()["charged"]["usd"] > 0
    assert said.usage.output_tokens > 0
    for table, name in (
        ({"limit_usd": 0}, "EnforcedSpendLimitReachedError"),
        ({"limit_usd": None, "balance_usd": 0}, "PaymentRequiredError"),
        ({"balance_usd": None, "own_limit_usd": 0}, "BadRequestError"),
    ):
        account.set(spend=table)
        assert type(await refused(client)).__name__ == name


@pytest.mark.anyio
async def test_the_concurrency_limit(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(limiter={"concurrency": 1})
    order = [{"role": "user", "content": "[[sim: ttft=5]]"}]
    async with client.messages.stream(
        model=MODEL,
        max_tokens=100,
        messages=[{"role": "user", "content": "[[sim: output=4000 tps=100]]"}],
    ):
        error = await refused(client, messages=order)
    assert error.api_message is not None
    assert error.api_message.startswith("Number of concurrent connections")


@pytest.mark.anyio
async def test_a_wall_of_529_ends_by_itself(
    account: SimulatedAccount, client: AsyncAnthropic
) -> None:
    account.set(overloaded_seconds=0.3)
    assert isinstance(await refused(client), anthropic.InternalServerError)
    account.set(overloaded_seconds=0)
    await client.messages.create(model=MODEL, max_tokens=10, messages=HELLO)
    assert account.state()["refused"] == {"overloaded": 1}
