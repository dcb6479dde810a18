"""Core tests run on a clock that jumps over idle time."""

import pytest

from fanout.testing.virtual_loop import VirtualLoop


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": VirtualLoop}
