"""Whatever is given as a tool becomes one, and whatever it does ends in a result."""

import asyncio
import copy
import threading
import time

import pytest
from pydantic import BaseModel

from fanout.errors import UsageError
from fanout.files.adapters import adapt
from fanout.files.safecall import MAX_TEXT
from fanout.files.tools import read_tools, write_output
from fanout.words.tools import ToolResult

pytestmark = pytest.mark.anyio


class Report(BaseModel):
    lines: list[int]


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


async def fetch(name: str) -> Report:
    """Fetch a report."""
    await asyncio.sleep(0)
    return Report(lines=[len(name)])


async def test_a_plain_function_gets_its_schema_from_its_annotations() -> None:
    tool = adapt(add)
    assert (tool.name, tool.description) == ("add", "Add two numbers.")
    assert tool.version == ""
    assert tool.input_schema["required"] == ["a"]
    assert tool.input_schema["properties"]["b"]["default"] == 2
    assert (await tool.run({"a": 1})).content == "3"
    assert (await tool.run({"a": "40", "b": 2})).content == "42"
    wrong = await tool.run({"a": "x"})
    assert wrong.is_error
    assert "add: ValidationError" in wrong.content


async def test_an_async_function_runs_on_the_loop_a_sync_one_does_not() -> None:
    assert (await adapt(fetch).run({"name": "abc"})).content == '{"lines":[3]}'
    seen = []

    def where() -> str:
        """Say where."""
        seen.append(threading.current_thread())
        return "there"

    assert (await adapt(where).run({})).content == "there"
    assert seen[0] is not threading.current_thread()
    assert seen[0].daemon


class Spec:
    """Ours by shape."""

    name = "mine"
    description = "Mine."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012
    version = "7"

    async def run(self, arguments: dict) -> ToolResult:
        if arguments:
            raise RuntimeError("no arguments, please")
        return ToolResult(content="ok", files_read={"/a": "d"})


async def test_our_own_tools_stay_or_are_guarded() -> None:
    (mine, *_) = read_tools(".")
    assert adapt(mine) is mine
    assert adapt(write_output) is write_output
    tool = adapt(Spec())
    assert adapt(tool) is tool
    assert tool.version == "7"
    assert (await tool.run({})).files_read == {"/a": "d"}
    assert (
        await tool.run({"x": 1})
    ).content == "mine: RuntimeError: no arguments, please"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"), SystemExit(3), KeyboardInterrupt(), StopIteration(1),
        GeneratorExit(), asyncio.CancelledError(), TimeoutError("slow"),
        RecursionError("deep"), BaseException("base"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_whatever_a_tool_raises_is_a_result(error: BaseException) -> None:
    def sync() -> None:
        raise error

    async def on_loop() -> None:
        raise error

    for function in (sync, on_loop):
        result = await adapt(function).run({})
        assert result.is_error
        expected = "RuntimeError" if (
            isinstance(error, StopIteration) and function is on_loop
        ) else type(error).__name__  # fmt: skip
        assert str(result.content).startswith(f"{function.__name__}: {expected}")


async def test_an_error_that_cannot_be_told_is_told() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def mute() -> None:
        raise MuteError

    assert "without a text" in (await adapt(mute).run({})).content


async def test_a_cancelled_agent_is_cancelled() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    def block() -> None:
        time.sleep(0.2)

    for function in (wait, block):
        task = asyncio.create_task(adapt(function).run({}))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_tool_that_hangs_is_left_to_itself() -> None:
    def hang() -> None:
        time.sleep(0.3)

    async def hang_on_loop() -> None:
        await asyncio.sleep(60)

    for function in (hang, hang_on_loop):
        begun = time.monotonic()
        result = await adapt(function, timeout=0.05).run({})
        assert time.monotonic() - begun < 0.25
        assert result.is_error
        assert "no answer within 0.05 seconds" in result.content


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("text", "text"),
        ("half \ud83d", "half ?"),
        (None, "done"),
        ([1, 2], "[1, 2]"),
        ([], "[]"),
        ({"type": "x"}, '{"type": "x"}'),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ({"é": {1}}, '{"é": "{1}"}'),
        (b"raw", "\"b'raw'\""),
    ],
)
async def test_what_a_tool_gives(given: object, content: object) -> None:
    def give() -> object:
        return given

    assert (await adapt(give).run({})).content == content


async def test_a_huge_result_is_cut_and_said() -> None:
    def huge() -> str:
        return "x" * 1_000_000

    content = (await adapt(huge).run({})).content
    assert len(content) < MAX_TEXT + 100
    assert content.endswith("[cut: 400,000 of 1,000,000 characters]")


def _positional(a: int, /) -> int:
    return a


def _unknown(a: "Nowhere") -> None:  # noqa: F821
    return a


@pytest.mark.parametrize("bad", [3, "text", None, lambda x: x, _positional, _unknown])
async def test_what_is_no_tool_is_refused_with_a_hint(bad: object) -> None:
    with pytest.raises(UsageError) as caught:
        adapt(bad)
    assert caught.value.hint


async def test_the_sdks_tool_functions_are_taken() -> None:
    from anthropic import beta_async_tool, beta_tool
    from anthropic.lib.tools import ToolError

    @beta_tool
    def double(number: int) -> str:
        """Double a number."""
        if number < 0:
            raise ToolError([{"type": "text", "text": "not below zero"}])
        return str(number * 2)

    @beta_async_tool
    async def triple(number: int) -> str:
        """Triple a number."""
        return str(number * 3)

    tool = adapt(double)
    assert (tool.name, tool.description) == ("double", "Double a number.")
    assert tool.input_schema["required"] == ["number"]
    assert (await tool.run({"number": 4})).content == "8"
    assert (await adapt(triple).run({"number": 4})).content == "12"
    failed = await tool.run({"number": -1})
    assert failed == ToolResult(
        content=[{"type": "text", "text": "not below zero"}], is_error=True
    )
    assert "Invalid arguments" in (await tool.run({"number": "x"})).content


async def test_names_and_schemas_are_those_of_the_sdks_file_tools(tmp_path) -> None:
    from anthropic.lib.tools import agent_toolset

    from fanout.files.tools import write_tools

    context = agent_toolset.AgentToolContext(workdir=str(tmp_path))
    theirs = {
        tool.name: tool.input_schema
        for tool in agent_toolset.beta_agent_toolset_20260401(context)
        if tool.name != "bash"
    }
    ours = {
        tool.name: copy.deepcopy(tool.input_schema) for tool in write_tools(tmp_path)
    }
    assert ours.keys() == theirs.keys()
    for name, schema in ours.items():
        assert sorted(schema["required"]) == sorted(theirs[name]["required"])
        for argument, described in theirs[name]["properties"].items():
            described.pop("title")
            assert schema["properties"].pop(argument) == described
        assert not schema["properties"]
