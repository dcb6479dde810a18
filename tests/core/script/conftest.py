"""Fixtures of the script's side: a port without an engine, and a session over it."""

import sys
from collections.abc import Iterator

import pytest

from core.script.ports import FakePort
from fanout.script.session import Session, make_current


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def port() -> FakePort:
    return FakePort()


@pytest.fixture
def session(port: FakePort) -> Iterator[Session]:
    made = Session(port)
    make_current(made)
    yield made
    make_current(None)


@pytest.fixture
def interpreter() -> Iterator[None]:
    """What running a script changes for good is undone after the test."""
    argv, search = sys.argv, list(sys.path)
    yield
    make_current(None)
    sys.argv, sys.path[:] = argv, search
    for name in ("__fanout__", "script_helper"):
        sys.modules.pop(name, None)
