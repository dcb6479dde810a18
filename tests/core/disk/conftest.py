import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The journal commits on a thread, so these tests run on the real loop."""
    return "asyncio"
