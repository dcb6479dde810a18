"""Message batches by the real SDK: handed in, looked at, read, cancelled, lost."""

import asyncio
import http.client as http_client
import json
import time
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic

from fanout.simulator import batches as office
from fanout.simulator.batches import Batch, BatchOffice, Item
from fanout.simulator.errors import Refusal
from fanout.simulator.process import SimulatedAccount
from fanout.simulator.profile import BatchTable

pytestmark = pytest.mark.anyio

QUICK = {"seconds_per_hour": 0.4, "hours": {"min": 0.1, "max": 0.9}}


def one(name: str, text: str = "Say hello.", **more: Any) -> Any:
    params = {
        "model": "claude-sonnet-5",
        "max_tokens": 300,
        "messages": [{"role": "user", "content": text}],
    }
    return {"custom_id": name, "params": params | more}


async def ended(client: AsyncAnthropic, name: str) -> Any:
    for _ in range(200):
        batch = await client.messages.batches.retrieve(name)
        if batch.processing_status == "ended":
            return batch
        assert batch.request_counts.succeeded == 0
        assert batch.results_url is None
        await asyncio.sleep(0.02)
    raise AssertionError("the batch does not end")


async def results(client: AsyncAnthropic, name: str) -> dict[str, Any]:
    stream = await client.messages.batches.results(name)
    return {line.custom_id: line.result async for line in stream}


async def test_a_batch_is_answered_at_half_the_price(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(batches=QUICK)
    asked = [one(f"r{n}", f"Say {n}.") for n in range(30)]
    made = await client.messages.batches.create(requests=asked)
    assert made.processing_status == "in_progress"
    assert made.request_counts.processing == 30
    assert (made.expires_at - made.created_at).total_seconds() == pytest.approx(9.6)
    batch = await ended(client, made.id)
    assert batch.request_counts.succeeded == 30
    assert batch.request_counts.processing == 0
    found = await results(client, made.id)
    assert {r.type for r in found.values()} == {"succeeded"}
    assert found.keys() == {f"r{n}" for n in range(30)}
    assert list(found) != sorted(found, key=lambda name: int(name[1:]))
    usage = [r.message.usage for r in found.values()]
    assert {u.service_tier for u in usage} == {"batch"}
    books = account.state(0)
    assert books["charged"] == books["batched"]
    tokens_in = sum(u.input_tokens for u in usage)
    tokens_out = sum(u.output_tokens for u in usage)
    assert books["charged"]["input_tokens"] == tokens_in
    assert books["charged"]["output_tokens"] == tokens_out
    price = (2 * tokens_in + 10 * tokens_out) / 1e6
    assert books["charged"]["usd"] == pytest.approx(price / 2)
    assert books["batch_results"] == {"succeeded": 30}


async def test_a_batch_takes_nothing_from_the_limits_of_messages(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(batches=QUICK)
    before = account.state(0)["pools"]["sonnet-5"]
    made = await client.messages.batches.create(requests=[one("a")])
    await ended(client, made.id)
    after = account.state(0)["pools"]["sonnet-5"]
    assert [d["level"] for d in after.values()] == [d["level"] for d in before.values()]
    assert account.state(0)["in_flight_peak"] == 0


async def test_what_is_wrong_with_a_request_is_its_own_result(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(batches=QUICK)
    asked = [
        one("good"),
        one("model", model="claude-2"),
        one("streams", stream=True),
        one("nothing", max_tokens=0),
        one("ordered", "x [[sim: error=500]]"),
    ]
    made = await client.messages.batches.create(requests=asked)
    batch = await ended(client, made.id)
    assert batch.request_counts.succeeded == 1
    assert batch.request_counts.errored == 4
    found = await results(client, made.id)
    kinds = {k: r.error.error.type for k, r in found.items() if r.type == "errored"}
    assert kinds == {
        "model": "not_found_error",
        "streams": "invalid_request_error",
        "nothing": "invalid_request_error",
        "ordered": "api_error",
    }
    assert account.state(0)["rows"]["model"]["charged"]["input_tokens"] == 0


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ([], "from 1 to"),
        ([one("a b")], "requests.0.custom_id: String should match pattern"),
        ([one("x" * 65)], "custom_id"),
        ([one("a"), one("b"), one("a")], "requests.2.custom_id: must be unique"),
        ([{"custom_id": "a"}], "requests.0.params: Field required"),
        ([one(f"r{n}") for n in range(6)], "from 1 to 5"),
    ],
)
async def test_a_misshapen_batch_is_refused_as_a_whole(
    client: AsyncAnthropic, account: SimulatedAccount, requests: Any, words: str
) -> None:
    account.set(batches={"per_batch": 5})
    with pytest.raises(anthropic.BadRequestError) as caught:
        await client.messages.batches.create(requests=requests)
    assert words in caught.value.message
    assert account.state(0)["batches"] == []


async def test_batches_have_limits_of_their_own(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(batches={"requests": 2, "queued": 3, "seconds_per_hour": 60})
    asked = [one(f"r{n}") for n in range(3)]
    await client.messages.batches.create(requests=asked)
    with pytest.raises(anthropic.RateLimitError) as caught:
        await client.messages.batches.create(requests=[one("more")])
    assert "3 requests queued in batches" in caught.value.message
    with pytest.raises(anthropic.RateLimitError) as caught:
        await client.messages.batches.list()
    assert "2 batch requests per minute" in caught.value.message
    assert int(caught.value.response.headers["retry-after"]) >= 1
    await client.messages.create(**one("x")["params"])


async def test_batches_are_listed_newest_first_and_page_by_page(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(batches={"seconds_per_hour": 60})
    made = [
        (await client.messages.batches.create(requests=[one("a")])).id for _ in range(5)
    ]
    page = await client.messages.batches.list(limit=2)
    assert [b.id for b in page.data] == [made[4], made[3]]
    assert page.has_more
    everything = [b.id async for b in client.messages.batches.list(limit=2)]
    assert everything == made[::-1]
    page = await client.messages.batches.list(before_id=made[1], limit=2)
    assert [b.id for b in page.data] == [made[3], made[2]]
    with pytest.raises(anthropic.BadRequestError):
        await client.messages.batches.list(limit=0)


async def test_a_cancelled_batch_keeps_what_had_been_got_to(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(
        batches={
            "seconds_per_hour": 1,
            "hours": {"min": 0, "max": 4},
            "cancel_hours": 0.2,
        }
    )
    asked = [one(f"r{n}") for n in range(60)]
    made = await client.messages.batches.create(requests=asked)
    with pytest.raises(anthropic.BadRequestError):
        await client.messages.batches.delete(made.id)
    await asyncio.sleep(1.0)
    batch = await client.messages.batches.cancel(made.id)
    assert batch.processing_status == "canceling"
    assert batch.cancel_initiated_at is not None
    batch = await ended(client, made.id)
    counts = batch.request_counts
    assert counts.succeeded > 5
    assert counts.canceled > 5
    assert counts.succeeded + counts.canceled == 60
    found = await results(client, made.id)
    assert sum(r.type == "canceled" for r in found.values()) == counts.canceled
    assert account.state(0)["batch_results"] == {
        "succeeded": counts.succeeded,
        "canceled": counts.canceled,
    }
    with pytest.raises(anthropic.BadRequestError):
        await client.messages.batches.cancel(made.id)
    gone = await client.messages.batches.delete(made.id)
    assert gone.id == made.id
    with pytest.raises(anthropic.NotFoundError):
        await client.messages.batches.retrieve(made.id)


async def test_what_is_not_got_to_expires_and_costs_nothing(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    rules = [{"kind": "expire", "endpoint": "batch_requests", "row": "^r[01]$"}]
    account.set(batches=QUICK | {"expiry_hours": 2, "errored": 0.3}, faults=rules)
    made = await client.messages.batches.create(
        requests=[one(f"r{n}") for n in range(40)]
    )
    batch = await ended(client, made.id)
    counts = batch.request_counts
    assert batch.ended_at is not None
    assert batch.ended_at >= batch.expires_at
    assert counts.expired == 2
    assert counts.errored > 3
    assert counts.succeeded == 38 - counts.errored
    found = await results(client, made.id)
    assert {found["r0"].type, found["r1"].type} == {"expired"}
    assert account.state(0)["rows"]["r0"]["charged"]["output_tokens"] == 0
    assert account.state(0)["faults"] == {"expire": 2}


async def test_a_creation_may_be_lost_on_the_way_back(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    account.set(
        batches=QUICK, faults=[{"kind": "drop", "endpoint": "batches", "times": 1}]
    )
    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.batches.create(requests=[one("a")])
    (known,) = [b async for b in client.messages.batches.list()]
    assert known.request_counts.processing == 1
    account.set(faults=[{"kind": "overloaded", "endpoint": "batches", "times": 1}])
    with pytest.raises(anthropic.InternalServerError):
        await client.messages.batches.create(requests=[one("b")])
    assert len([b async for b in client.messages.batches.list()]) == 1


async def test_results_may_be_cut_and_read_again(
    client: AsyncAnthropic, account: SimulatedAccount
) -> None:
    rule = {"kind": "cut", "endpoint": "batch_results", "after_events": 4, "times": 1}
    account.set(batches=QUICK, faults=[rule])
    asked = [one(f"r{n}") for n in range(12)]
    made = await client.messages.batches.create(requests=asked)
    with pytest.raises(anthropic.NotFoundError):
        await client.get(f"/v1/messages/batches/{made.id}/results", cast_to=object)
    await ended(client, made.id)
    with pytest.raises((httpx2.HTTPError, ValueError)):
        await results(client, made.id)
    assert len(await results(client, made.id)) == 12


async def test_without_a_key_or_a_version_there_is_nothing(
    account: SimulatedAccount,
) -> None:
    url = f"{account.url}/v1/messages/batches"
    async with httpx2.AsyncClient(trust_env=False) as http:
        assert (await http.get(url)).status_code == 401
        key = {"x-api-key": "any"}
        asked = {"requests": [one("a")]}
        assert (await http.post(url, headers=key, json=asked)).status_code == 400
    host, port = account.url.removeprefix("http://").split(":")
    line = http_client.HTTPConnection(host, int(port), timeout=10)
    line.putrequest("POST", "/v1/messages/batches")
    line.putheader("x-api-key", "any")
    line.putheader("content-length", str(257 * 1024 * 1024))
    line.endheaders()
    assert line.getresponse().status == 413
    line.close()


def _office(**table: Any) -> BatchOffice:
    def perform(item: Item, now: float, gone: str | None) -> dict[str, Any]:
        return {"type": gone or "succeeded", "at": now, "of": item.custom_id}

    made = BatchTable.model_validate(table)
    return BatchOffice(lambda: made, 7, perform, lambda item: item.custom_id == "late")


def _made(desk: BatchOffice, names: list[str], now: float = 100.0) -> Batch:
    batch = desk.create({"requests": [one(n) for n in names]}, "v", now)
    assert isinstance(batch, Batch)
    return batch


async def test_a_hundred_thousand_requests_are_done_a_few_at_a_time() -> None:
    desk = _office(hours={"min": 0, "max": 1}, seconds_per_hour=10)
    begun = time.process_time()
    batch = _made(desk, [f"r{n}" for n in range(100_000)])
    refused = desk.create({"requests": [one("x")] * 100_001}, "v", 0)
    assert isinstance(refused, Refusal)
    looks = 0
    while batch.status != "ended":
        desk.settle(111.0, 5_000)
        looks += 1
    assert looks == 20
    assert batch.counts == {"succeeded": 100_000}
    assert time.process_time() - begun < 20


async def test_time_decides_and_nothing_else() -> None:
    desk = _office(hours={"min": 1, "max": 2}, seconds_per_hour=10, expiry_hours=5)
    batch = _made(desk, ["a", "b", "late"])
    desk.settle(109.9)
    assert batch.done == 0
    desk.settle(120.1)
    assert batch.done == 2
    assert batch.status == "in_progress"
    desk.settle(149.9)
    assert batch.status == "in_progress"
    desk.settle(150.0)
    assert batch.status == "ended"
    assert batch.counts == {"succeeded": 2, "expired": 1}
    lines = office.results(batch, 1)
    assert json.loads(json.dumps(lines)) == lines
    again = _office(hours={"min": 1, "max": 2}, seconds_per_hour=10, expiry_hours=5)
    assert [i.due for i in _made(again, ["a", "b", "late"]).items] == [
        i.due for i in batch.items
    ]
