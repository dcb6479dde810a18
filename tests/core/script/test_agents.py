import asyncio
import sys
from pathlib import Path, PurePosixPath

import pytest
from pydantic import BaseModel

import fanout
from core.script.ports import FakePort, done, missing, settle
from fanout.errors import UsageError
from fanout.script.session import Session, one_file
from fanout.words.model import MissingKind, RowId, Usage

pytestmark = pytest.mark.anyio


class Finding(BaseModel):
    file: str
    line: int = 0


async def test_an_agent_awaited_alone_gives_its_done(
    port: FakePort, session: Session, tmp_path: Path
) -> None:
    path = str(tmp_path / "a.md")
    port.answer = lambda order: done(order.row, "hello", path=path, usage=Usage(3, 4))
    result = await fanout.agent("Say hello.", key="a", output="a.md")
    assert isinstance(result, fanout.Done)
    assert (result.key, result.phase, result.value) == ("a", "main", "hello")
    assert result.path == Path(path)
    assert result.usage.output_tokens == 4
    assert port.phases == [("main", None)]


async def test_a_schema_makes_objects_of_the_plain_json(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: done(order.row, [{"file": "a.py", "line": 3}])
    result = await fanout.agent("List.", key="a", schema=list[Finding])
    assert result.value == [Finding(file="a.py", line=3)]
    (order,) = port.batches[0]
    assert order.schema is not None
    assert order.schema["required"] == ["items"]
    assert order.validate is not None
    assert order.validate(b'{"items": [{"file": "b"}]}') == [{"file": "b"}]


async def test_awaited_twice_it_gives_the_same_outcome_and_is_sent_once(
    port: FakePort, session: Session
) -> None:
    one = fanout.agent("Once.", key="a")
    assert await one is await one
    assert len(port.scheduled) == 1


async def test_gather_create_task_and_a_task_group_all_take_it(
    port: FakePort, session: Session
) -> None:
    agents = [fanout.agent("Go.", key=f"{n}") for n in range(6)]
    a, b = await asyncio.gather(agents[0], agents[1])
    c = await asyncio.create_task(agents[2])
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agents[3]), group.create_task(agents[4])]
    d = await asyncio.wait_for(agents[5], 10)
    got = [a, b, c, *(task.result() for task in tasks), d]
    assert [one.key for one in got] == ["0", "1", "2", "3", "4", "5"]
    assert "agent" in repr(agents[0])


async def test_two_tasks_may_drive_one_agent(port: FakePort, session: Session) -> None:
    port.answer = lambda order: None
    one = fanout.agent("Go.", key="a")
    first, second = asyncio.create_task(one), asyncio.create_task(one)
    await settle()
    port.end(done(RowId("main", "a")))
    assert await first is await second
    assert len(port.scheduled) == 1


async def test_agents_awaited_in_one_tick_are_sent_in_one_go(
    port: FakePort, session: Session
) -> None:
    await asyncio.gather(*(fanout.agent("Go.", key=f"{n}") for n in range(40)))
    assert [len(batch) for batch in port.batches] == [40]


async def test_a_key_used_twice_in_one_tick_sends_nothing(
    port: FakePort, session: Session
) -> None:
    with pytest.raises(UsageError, match="`a` in the phase `main`") as caught:
        await asyncio.gather(
            fanout.agent("Go.", key="a"),
            fanout.agent("Go.", key="b"),
            fanout.agent("Go.", key="a"),
        )
    await settle()
    assert 'key=f"a/{n}"' in caught.value.hint
    assert port.batches == []
    session.close(returned=False)
    assert {row.key for row in port.expected} == {"a", "b"}


async def test_a_key_is_free_again_in_another_phase(
    port: FakePort, session: Session
) -> None:
    await fanout.agent("Go.", key="a")
    async with fanout.phase("second"):
        await fanout.agent("Go.", key="a")
    with pytest.raises(UsageError, match="two agents have the key"):
        await fanout.agent("Go.", key="a")
    assert port.scheduled == [RowId("main", "a"), RowId("second", "a")]


async def test_the_phase_binds_where_it_is_awaited(
    port: FakePort, session: Session
) -> None:
    async with fanout.phase("built"):
        one = fanout.agent("Go.", key="a")
    async with fanout.phase("awaited"):
        result = await one
    assert result.phase == "awaited"


async def test_two_rows_cannot_write_what_is_one_file_here(
    port: FakePort, session: Session, monkeypatch
) -> None:
    pairs = [("A.md", "a.md"), ("e\u0301.md", "\u00e9.md")]
    for platform, same in (("linux", False), ("darwin", True)):
        monkeypatch.setattr(sys, "platform", platform)
        for one, other in pairs:
            paths = PurePosixPath(one), PurePosixPath(other)
            assert (one_file(paths[0]) == one_file(paths[1])) is same
    for one, other in pairs:
        with pytest.raises(UsageError, match="cannot both write"):
            await fanout.parallel(
                fanout.agent("Go.", key=path, output=path) for path in (one, other)
            )


@pytest.mark.parametrize(
    "path", ["CON.txt", "x/nul", "n" * 250, "a\\b", ".fanout/x", "x/" * 600 + "y"]
)
def test_what_cannot_be_written_is_refused_before_it_is_paid_for(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        fanout.agent("Go.", key="a", output=path)
    assert caught.value.hint


async def test_two_rows_cannot_write_one_output(
    port: FakePort, session: Session
) -> None:
    with pytest.raises(UsageError, match="cannot both write"):
        await fanout.parallel(
            [
                fanout.agent("Go.", key="a", output="x/./same.md"),
                fanout.agent("Go.", key="b", output="x/same.md"),
            ]
        )
    with pytest.raises(UsageError, match="cannot both write"):
        await fanout.parallel(
            [
                fanout.agent("Go.", key="c", output="y/file"),
                fanout.agent("Go.", key="d", output="y/file/below.md"),
            ]
        )
    assert port.batches == []
    await fanout.agent("Go.", key="e", output="x/same.md")


@pytest.mark.parametrize(
    "output",
    ["/etc/x", "../x", "a/../../x", "C:\\x", "a\\..\\x", "", ".", "a/", "a\nb"],
)
def test_an_output_stays_below_the_output_folder(output: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        fanout.agent("Go.", key="a", output=output)


@pytest.mark.parametrize("key", ["", " a", "a\n", "x" * 201, 3, None])
def test_a_key_is_a_short_line_of_text(key: object) -> None:
    with pytest.raises(UsageError, match="key"):
        fanout.agent("Go.", key=key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt": ""},
        {"prompt": None},
        {"max_tokens": 0},
        {"max_turns": True},
        {"tools": "read"},
        {"tools": [object()]},
        {"tools": fanout.write_output},
        {"tools": [fanout.write_output]},
        {"schema": "Finding"},
        {"inputs": object()},
        {"inputs": b"bytes"},
        {"inputs": Path("a")},
        {"model": ""},
    ],
    # An object's own text names its address, which differs between processes.
    ids=lambda wrong: str(wrong).partition(" at 0x")[0],
)
def test_what_cannot_work_is_said_where_it_is_written(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        fanout.agent(**{"prompt": "Go.", "key": "a", **wrong})  # type: ignore[call-overload]
    assert caught.value.hint


async def test_write_output_among_nested_tools_is_told_to_the_engine(
    port: FakePort, session: Session, tmp_path: Path
) -> None:
    tools = [fanout.read_tools(tmp_path), fanout.write_output]
    await fanout.agent("Go.", key="a", tools=tools, output="a.md")
    (order,) = port.batches[0]
    assert order.writes_output
    assert [tool.name for tool in order.tools] == [
        "read",
        "glob",
        "grep",
        "write_output",
    ]


def test_two_tools_with_one_name_are_refused(tmp_path: Path) -> None:
    tools = [*fanout.read_tools(tmp_path), *fanout.write_tools(tmp_path)]
    with pytest.raises(UsageError, match="two tools"):
        fanout.agent("Go.", key="a", tools=tools)


async def test_a_missing_one_cannot_be_read_as_a_result(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: missing(order.row, MissingKind.REFUSED, "no")
    result = await fanout.agent("Go.", key="a")
    assert isinstance(result, fanout.Missing)
    assert result.kind == "refused"
    with pytest.raises(fanout.Incomplete, match="main/a is missing: refused: no"):
        _ = result.value


async def test_a_timeout_around_it_ends_its_row(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    row = RowId("main", "a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await fanout.agent("Go.", key="a")
    assert port.finished == [(row, MissingKind.CANCELLED, "cancelled by the script")]


async def test_a_row_is_given_up_only_by_its_last_waiter(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    one = fanout.agent("Go.", key="a")
    first, second = asyncio.create_task(one), asyncio.create_task(one)
    await settle()
    first.cancel()
    await settle()
    assert port.finished == []
    second.cancel()
    await settle()
    assert len(port.finished) == 1


async def test_given_up_before_it_was_sent_it_is_not_sent(
    port: FakePort, session: Session
) -> None:
    one = fanout.agent("Go.", key="a")
    one.send(None)
    one.close()
    await settle()
    assert port.batches == []
    assert port.expected == [RowId("main", "a")]
    assert [kind for _, kind, _ in port.finished] == [MissingKind.CANCELLED]


async def test_never_awaited_it_is_said_at_the_end(
    port: FakePort, session: Session
) -> None:
    fanout.agent("Go.", key="lost")
    async with fanout.phase("p"):
        kept = fanout.agent("Go.", key="kept")
    await kept
    session.close(returned=True)
    assert [(row, kind) for row, kind, _ in port.finished] == [
        (RowId("main", "lost"), MissingKind.NEVER_STARTED)
    ]


async def test_after_a_stop_no_await_returns_to_the_script(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    waiting = asyncio.create_task(fanout.agent("Go.", key="a"))
    await settle()
    session.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(asyncio.CancelledError):
        await fanout.agent("Go.", key="b")
    assert port.finished == []
    assert port.scheduled == [RowId("main", "a")]


async def test_without_a_run_it_says_how_to_start_one() -> None:
    with pytest.raises(UsageError, match="no run") as caught:
        await fanout.agent("Go.", key="a")
    assert "fanout-tui" in caught.value.hint
