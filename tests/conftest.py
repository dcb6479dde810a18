"""Core tests run on a clock that jumps over idle time, and the same one each time.

Properties are tried on the same examples in every run, so that a green suite stays
green; `HYPOTHESIS_PROFILE=explore` looks for new ones. What it finds belongs into
a test of its own.
"""

import os
import time

import hypothesis
import pytest

import figures
from fanout.testing.virtual_loop import VirtualLoop

hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": VirtualLoop}


STARTED = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STARTED] = time.time()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures that this run has measured."""
    if told := list(figures.lines(since=config.stash[STARTED])):
        terminalreporter.section("figures")
        for line in told:
            terminalreporter.write_line(line)
