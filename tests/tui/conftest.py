import os

import pytest

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
os.environ.pop("NO_COLOR", None)


@pytest.fixture
def anyio_backend() -> str:
    """The screen keeps its own timers: the real loop, and no sleeping."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests answer a question as soon as it is there."""
    monkeypatch.setattr("fanout_tui.screens.dialog.CALM_S", 0.0)
