"""Core tests run on a clock that jumps over idle time, and the same one each time.

Properties are tried on the same examples in every run, so that a green suite stays
green; `HYPOTHESIS_PROFILE=explore` looks for new ones. What it finds belongs into
a test of its own.
"""

import gc
import os
import time
from collections.abc import Generator, Iterator

import hypothesis
import pytest

import canary
import figures
from fanout.testing.virtual_loop import VirtualLoop

hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": VirtualLoop}


@pytest.fixture(scope="session", autouse=True)
def _no_secret_is_left_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Whatever the suite wrote, run folders and reports and logs: no key is in it."""
    yield
    base = tmp_path_factory.getbasetemp()
    found, looked = canary.found_below(base)
    assert found == []
    figures.record_figure(
        "canary secrets over everything the suite writes",
        "0 hits",
        looked,
        unit="files, 0 hits",
    )


def pytest_xdist_auto_num_workers() -> int:
    """Two a core: many tests wait for a program, a terminal or a server."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in what is imported and rewritten: it all stays.

    That would take each process twice as long, and each later search longer.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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
