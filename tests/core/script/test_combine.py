import asyncio
from collections.abc import Iterator

import pytest

import fanout
from core.script.ports import FakePort, done, missing, settle
from fanout.errors import UsageError
from fanout.script.agents import Agent
from fanout.script.session import Session
from fanout.words.model import MissingKind, RowId

pytestmark = pytest.mark.anyio


def agents(count: int) -> Iterator[Agent[str]]:
    return (fanout.agent("Go.", key=f"{n}") for n in range(count))


def row(n: int) -> RowId:
    return RowId("main", f"{n}")


async def test_results_come_in_call_order_from_one_schedule(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    task = asyncio.create_task(fanout.parallel(agents(3)))
    await settle()
    for n in (2, 0, 1):
        port.end(done(row(n), f"value {n}"))
    results = await task
    assert results.values() == ["value 0", "value 1", "value 2"]
    assert len(port.batches) == 1


async def test_a_missing_one_stands_in_the_results(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: (
        missing(order.row) if order.row == row(1) else done(order.row)
    )
    results = await fanout.parallel(agents(3))
    assert [one.ok for one in results] == [True, False, True]
    assert not results.complete


async def test_a_key_used_twice_sends_nothing(port: FakePort, session: Session) -> None:
    with pytest.raises(UsageError, match="two agents have the key `0`"):
        await fanout.parallel([*agents(2), *agents(1)])
    assert port.batches == []


async def test_a_row_reopened_while_others_are_awaited_is_waited_for_again(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    task = asyncio.create_task(fanout.parallel(agents(2)))
    await settle()
    port.end(missing(row(0)))
    await settle()
    port.reopen(row(0))
    port.end(done(row(1)))
    await settle()
    assert not task.done()
    port.end(done(row(0), "late"))
    assert (await task).values() == ["late", "text"]


async def test_none_at_all_is_complete(port: FakePort, session: Session) -> None:
    results = await fanout.parallel([])
    assert results.complete
    assert results.values() == []
    assert port.batches == []


async def test_awaited_twice_it_runs_once(port: FakePort, session: Session) -> None:
    both = fanout.parallel(agents(2))
    assert await both is await both
    assert len(port.batches) == 1


async def test_an_agent_that_already_runs_is_not_sent_again(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    first, second = agents(2)
    task = asyncio.create_task(first)
    await settle()
    both = asyncio.create_task(fanout.parallel([first, second, first]))
    await settle()
    port.end(done(row(0), "0"))
    port.end(done(row(1), "1"))
    assert (await both).values() == ["0", "1", "0"]
    assert (await task).value == "0"
    assert port.scheduled == [row(0), row(1)]


async def test_cancelled_it_gives_up_the_rows_that_are_open(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: done(order.row) if order.row == row(0) else None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await fanout.parallel(agents(3))
    assert [one for one, _, _ in port.finished] == [row(1), row(2)]


async def test_proved_the_rest_follows(port: FakePort, session: Session) -> None:
    port.answer = lambda order: (
        missing(order.row) if order.row == row(0) else done(order.row)
    )
    results = await fanout.parallel(agents(5), prove=2)
    assert [len(batch) for batch in port.batches] == [2, 3]
    assert port.expected == [row(2), row(3), row(4)]
    assert [one.ok for one in results] == [False, True, True, True, True]


async def test_unproven_the_rest_is_not_sent(port: FakePort, session: Session) -> None:
    port.answer = lambda order: missing(order.row, MissingKind.INVALID, "no JSON")
    results = await fanout.parallel(agents(5), prove=2)
    assert len(port.scheduled) == 2
    assert [one.kind for one in results.missing] == [
        *["invalid"] * 2,
        *["unproven"] * 3,
    ]
    assert {kind for _, kind, _ in port.finished} == {MissingKind.UNPROVEN}
    assert "main/0 is missing: invalid: no JSON" in results.missing[4].reason


async def test_a_timeout_of_the_first_proves_nothing(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: missing(order.row, MissingKind.TIMEOUT, "60 min")
    await fanout.parallel(agents(4), prove=2)
    assert len(port.scheduled) == 4


async def test_while_proving_a_reopened_row_is_waited_for(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    task = asyncio.create_task(fanout.parallel(agents(3), prove=2))
    await settle()
    port.end(missing(row(0)))
    port.reopen(row(0))
    port.end(missing(row(1)))
    await settle()
    assert len(port.scheduled) == 2
    port.answer = lambda order: done(order.row)
    port.end(done(row(0)))
    results = await task
    assert len(results.done) == 2


async def test_cancelled_while_proving_the_rest_is_cancelled_too(
    port: FakePort, session: Session
) -> None:
    port.answer = lambda order: None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await fanout.parallel(agents(3), prove=1)
    assert {one for one, _, _ in port.finished} == {row(0), row(1), row(2)}
    assert {kind for _, kind, _ in port.finished} == {MissingKind.CANCELLED}


@pytest.mark.parametrize("wrong", [3, "text", [3], None], ids=str)
def test_it_takes_agents_only(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"parallel\(\)"):
        fanout.parallel(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("prove", [-1, 1.5, True])
def test_prove_is_a_number_of_agents(prove: object) -> None:
    with pytest.raises(UsageError, match="prove="):
        fanout.parallel([], prove=prove)  # type: ignore[arg-type]
