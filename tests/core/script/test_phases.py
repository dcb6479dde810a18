import asyncio
import subprocess
import sys
from typing import Any

import pytest

import fanout
from core.script.ports import FakePort
from fanout.errors import UsageError
from fanout.script.phases import current_phase
from fanout.script.session import Session
from fanout.words.model import RowId

pytestmark = pytest.mark.anyio


async def test_nested_phases_are_joined_and_left_again(
    port: FakePort, session: Session
) -> None:
    assert current_phase() == "main"
    async with fanout.phase("outer"):
        with fanout.phase("inner"):
            assert current_phase() == "outer/inner"
        assert current_phase() == "outer"
    assert current_phase() == "main"
    assert port.phases == [("outer", None), ("outer/inner", None)]


async def test_entering_a_name_again_is_the_same_phase(
    port: FakePort, session: Session
) -> None:
    both = fanout.phase("p", allow_missing=2)
    async with both:
        await fanout.agent("Go.", key="a")
    async with both:
        with pytest.raises(UsageError, match="the key `a`"):
            await fanout.agent("Go.", key="a")


async def test_concurrent_tasks_have_their_own(
    port: FakePort, session: Session
) -> None:
    shared = fanout.phase("shared")

    async def work(name: str) -> str:
        async with shared, fanout.phase(name):
            await asyncio.sleep(0)
            return (await fanout.agent("Go.", key="a")).phase

    assert await asyncio.gather(work("x"), work("y")) == ["shared/x", "shared/y"]
    assert current_phase() == "main"


@pytest.mark.parametrize(
    ("given", "told"), [(0, "0"), (3, "3"), ("4", "4"), ("12.5%", "12.5%")]
)
async def test_a_tolerance_is_told_to_the_engine(
    port: FakePort, session: Session, given: Any, told: str
) -> None:
    async with fanout.phase("p", allow_missing=given):
        assert port.phases == [("p", told)]


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "x", "101%", "-1%", "", "5 %"])
def test_any_other_tolerance_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="allow_missing"):
        fanout.phase("p", allow_missing=wrong)


@pytest.mark.parametrize("wrong", ["", " p", "a//b", "/a", "a\nb", "x" * 101, 3])
def test_a_phase_is_a_short_line(wrong: Any) -> None:
    with pytest.raises(UsageError, match="phase"):
        fanout.phase(wrong)


async def test_expected_partitions_are_declared_ahead(
    port: FakePort, session: Session
) -> None:
    fanout.expect(["a", "b", "a"])
    fanout.expect((f"{n}" for n in range(2)), phase="audit")
    assert port.expected == [
        RowId("main", "a"),
        RowId("main", "b"),
        RowId("audit", "0"),
        RowId("audit", "1"),
    ]
    with pytest.raises(UsageError, match="several keys"):
        fanout.expect("abc")


async def test_a_line_goes_to_the_log(port: FakePort, session: Session) -> None:
    fanout.log("half way")
    assert port.notes == [("log", "half way")]


def test_importing_the_package_loads_next_to_nothing() -> None:
    probe = (
        "import fanout, sys; from fanout import agent, parallel, Results, phase\n"
        "slow = {'anthropic', 'httpx2', 'textual', 'rich', 'pydantic', 'aiohttp'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
