import os
from collections.abc import Iterator

import pytest

from tui.screening import Start
from tui.terminal import Terminal

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


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts programs on terminals, and ends them with the test."""
    terminals: list[Terminal] = []

    def begin(code: str, **env: str) -> Terminal:
        terminals.append(Terminal(code, **env))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()
