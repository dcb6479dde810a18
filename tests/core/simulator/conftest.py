"""One simulated account in its own process, started anew before each test."""

from collections.abc import AsyncIterator, Iterator

import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from fanout.simulator.process import SimulatedAccount

FAST = {
    "limits": {"requests": 100_000, "input_tokens": 10**8, "output_tokens": 10**8},
    "generation": {
        "ttft_seconds": 0.0,
        "ttft_per_1k_input": 0.0,
        "tokens_per_second": 100_000,
        "jitter": 0.0,
    },
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator[SimulatedAccount]:
    with SimulatedAccount.start("evaluation", extra=FAST) as account:
        yield account


@pytest.fixture
def account(server: SimulatedAccount) -> SimulatedAccount:
    server.reset()
    return server


@pytest.fixture
async def client(account: SimulatedAccount) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        api_key="any",
        base_url=account.url,
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
    ) as made:
        yield made
