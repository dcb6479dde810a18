import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fanout
from core.script.ports import FakePort, done, missing, settle
from fanout.errors import UsageError
from fanout.script.session import Session
from fanout.words.model import MissingKind, RowId

pytestmark = pytest.mark.anyio


def draft(value: str, item: str) -> Any:
    return fanout.agent(f"Draft {value}.", key=item)


def review(value: str, item: str) -> Any:
    return fanout.agent("Review.", key=item, inputs=value)


def rows(phase: str, *keys: str) -> list[RowId]:
    return [RowId(phase, key) for key in keys]


async def test_every_item_goes_through_every_stage(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: done(order.row, f"{order.row}: {order.inputs}")
    async with fanout.phase("work"):
        results = await fanout.pipeline(["a", "b"], draft, review)
    assert results.values() == [
        "work/review/a: work/draft/a: ",
        "work/review/b: work/draft/b: ",
    ]
    assert [len(batch) for batch in port.batches] == [2, 2]
    assert port.withdrawn == []


async def test_all_rows_are_expected_before_any_stage_is_called(
    port: FakePort, session: Session
) -> None:
    def first(value: str, item: str) -> Any:
        assert port.expected == [
            *rows("main/first", "a", "b"),
            *rows("main/review", "a", "b"),
        ]
        return draft(value, item)

    await fanout.pipeline(["a", "b"], first, review)


async def test_there_is_no_barrier(port: FakePort, session: Session) -> None:
    slow = RowId("main/draft", "a")
    port.answer = lambda order: None if order.row == slow else done(order.row)
    task = asyncio.create_task(fanout.pipeline(["a", "b"], draft, review))
    await settle()
    await settle()
    assert RowId("main/review", "b") in port.scheduled
    port.end(done(slow))
    assert (await task).complete


async def test_a_hole_is_missing_at_the_end_and_upstream_later(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: (
        missing(order.row) if order.row.key == "b" else done(order.row)
    )
    results = await fanout.pipeline(["a", "b", "c"], draft, review)
    assert [one.ok for one in results] == [True, False, True]
    (hole,) = results.missing
    assert (hole.phase, hole.key, hole.kind) == ("main/review", "b", "upstream")
    assert hole.reason == "main/draft/b is missing: rejected: 400"
    assert [(row, kind) for row, kind, _ in port.finished] == [
        (RowId("main/review", "b"), MissingKind.UPSTREAM)
    ]


async def test_a_hole_in_the_last_stage_keeps_its_own_kind(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: missing(order.row, MissingKind.REFUSED)
    results = await fanout.pipeline(["a"], draft)
    assert [one.kind for one in results.missing] == [MissingKind.REFUSED]
    assert port.finished == []


async def test_a_stage_may_be_async_and_may_wait_itself(
    port: FakePort, session: Session
) -> None:
    async def describes(value: str, item: str) -> Any:
        await asyncio.sleep(0)
        return draft(value, item)

    async def waits(value: str, item: str) -> Any:
        return await fanout.agent("Go.", key=item)

    def plain(value: str, item: str) -> str:
        return value.upper()

    results = await fanout.pipeline(["a"], describes, waits, plain)
    assert results.values() == ["TEXT"]
    assert port.scheduled == [RowId("main/describes", "a"), RowId("main/waits", "a")]
    # A stage that makes no agent has no row of its own.
    assert port.withdrawn == [RowId("main/plain", "a")]


async def test_a_stage_may_return_a_parallel(port: FakePort, session: Session) -> None:
    def split(value: str, item: str) -> Any:
        return fanout.parallel(fanout.agent("Go.", key=f"{item}/{n}") for n in range(3))

    def join(value: fanout.Results[str], item: str) -> Any:
        return fanout.agent("Join.", key=item, inputs=value)

    port.answer = lambda order: (
        missing(order.row) if order.row.key == "a/1" else done(order.row)
    )
    results = await fanout.pipeline(["a"], split, join)
    assert results.complete
    assert "2 of 3 done; missing: main/split/a/1" in port.batches[-1][0].inputs
    assert port.withdrawn == [RowId("main/split", "a")]
    last = await fanout.pipeline(["b"], split)
    assert last.values()[0].values() == ["text"] * 3


async def test_a_parallel_with_nothing_done_ends_the_item(
    port: FakePort, session: Session
) -> None:
    def split(value: str, item: str) -> Any:
        return fanout.parallel([fanout.agent("Go.", key=f"{item}/0")])

    port.answer = lambda order: missing(order.row)
    results = await fanout.pipeline(["a"], split, review)
    assert results.missing[0].kind == "upstream"
    assert "0 of 1 done" in results.missing[0].reason


async def test_an_agent_with_another_key_replaces_its_declared_row(
    port: FakePort, session: Session
) -> None:
    def renames(value: str, item: str) -> Any:
        return fanout.agent("Go.", key=f"new-{item}")

    await fanout.pipeline(["a"], renames)
    assert port.withdrawn == [RowId("main/renames", "a")]
    assert port.scheduled == [RowId("main/renames", "new-a")]


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        ([3, 4], ["3", "4"]),
        ([Path("x/a.py")], ["x/a.py"]),
        (["a", "a"], ["0001", "0002"]),
        (["a", "b" * 81], ["0001", "0002"]),
        ([{"n": 1}], ["0001"]),
        ([fanout.Done(key="k", value=1)], ["k"]),
    ],
    ids=str,
)
async def test_items_are_named_by_what_they_are(
    port: FakePort, session: Session, items: list[Any], keys: list[str]
) -> None:
    def stage(value: Any, item: Any) -> Any:
        return "plain"

    results = await fanout.pipeline(items, stage)
    assert [one.key for one in results] == keys


async def test_stages_of_one_name_get_phases_of_their_own(
    port: FakePort, session: Session
) -> None:
    named = partial(draft)
    await fanout.pipeline(
        ["a"], draft, named, lambda value, item: draft(value + "!", item)
    )
    assert [row.phase for row in port.scheduled] == [
        "main/draft",
        "main/draft-2",
        "main/stage-3",
    ]


async def test_a_stage_that_raises_raises_its_own_exception(
    port: FakePort, session: Session
) -> None:
    def breaks(value: str, item: str) -> Any:
        raise LookupError(item)

    with pytest.raises(LookupError):
        await fanout.pipeline(["a", "b"], breaks)
    with pytest.raises(UsageError, match="returned None"):
        await fanout.pipeline(["a"], lambda value, item: None)


async def test_cancelled_all_its_open_rows_are_cancelled(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await fanout.pipeline(["a", "b"], draft, review)
    assert {row for row, _, _ in port.finished} == {
        *rows("main/draft", "a", "b"),
        *rows("main/review", "a", "b"),
    }
    assert {kind for _, kind, _ in port.finished} == {MissingKind.CANCELLED}


@pytest.mark.parametrize("arguments", [(["a"],), ("a", draft), (3, draft), (["a"], 3)])
def test_it_takes_items_and_functions(arguments: Any) -> None:
    with pytest.raises(UsageError, match=r"pipeline\(\)"):
        fanout.pipeline(*arguments)
