import os

import pytest

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
os.environ.pop("NO_COLOR", None)


@pytest.fixture
def anyio_backend() -> str:
    """The screen keeps its own timers: the real loop, and no sleeping."""
    return "asyncio"
