"""What an answer may look like and still be one, and where it may come from.

One that makes no sense has been paid for: it is asked for a few times, not for an
hour. Whatever counts, names or dates a stranger sends, nothing of ours fails by it.
"""

import asyncio
import json
from typing import Any

import pytest

from core.api.test_misbehaving_service import one
from core.api.wires import END, MESSAGE, Act, Server, chunk, head, open_api, said, sse
from core.api.wires import refusal as served
from fanout.decide.admission.retry import SENSELESS_MAX, Tries, classify, next_try
from fanout.decide.assembly import read_usage
from fanout.decide.batching import may_be, read_batch, read_result
from fanout.words.model import MissingKind, Usage
from fanout.words.outcome import Answered, Broken, Refused
from fanout.world.wire import capping

USAGE = {"input_tokens": 3, "output_tokens": 4}
FLAWS: dict[str, Any] = {
    "text for blocks": {"content": ["x"]},
    "null for a block": {"content": [None]},
    "a block without a type": {"content": [{"text": "x"}]},
    "a number for text": {"content": [{"type": "text", "text": 5}]},
    "a tool without a name": {"content": [{"type": "tool_use", "id": "t"}]},
    "a list for a reason": {"content": [], "stop_reason": ["end_turn"]},
    "a number for a reason": {"content": [], "stop_reason": 5},
}


def streamed(message: dict[str, Any]) -> Act:
    events = [sse(type="message_start", message={**MESSAGE, "usage": message["usage"]})]
    events += [
        sse(type="content_block_start", index=n, content_block=block)
        for n, block in enumerate(message["content"])
    ]
    reason = message.get("stop_reason", "end_turn")
    events.append(sse(type="message_delta", delta={"stop_reason": reason}))
    events.append(sse(type="message_stop"))
    return said(head(), *(chunk(event) for event in events), END)


@pytest.mark.parametrize("name", FLAWS)
def test_an_answer_that_makes_no_sense_is_none_wherever_it_came(
    server: Server, name: str
) -> None:
    message = {"stop_reason": "end_turn", "usage": USAGE, **FLAWS[name]}
    batched = read_result({"type": "succeeded", "message": message}, 1.0)
    for outcome in (batched, one(server, streamed(message))):
        assert isinstance(outcome, Broken), outcome
        assert outcome.senseless


def test_an_answer_that_makes_no_sense_is_paid_for_a_few_times_at_most() -> None:
    verdict = classify(Broken(stage="stream", message="it is odd", senseless=True))
    history, now = Tries(), 0.0
    for _ in range(SENSELESS_MAX - 1):
        history = history.after(verdict, now)
        retry = next_try(verdict, history, now, lambda: 0.5)
        assert retry.at is not None
        now = retry.at
    history = history.after(verdict, now)
    retry = next_try(verdict, history, now, lambda: 0.5)
    assert (retry.at, retry.missing) == (None, MissingKind.REJECTED)
    assert retry.reason == "what came is no answer: it is odd; it was sent 3 times"


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (None, Usage()),
        ("much", Usage()),
        ([1], Usage()),
        ({"input_tokens": float("inf"), "output_tokens": 2}, Usage(0, 2)),
        ({"input_tokens": float("nan"), "output_tokens": 2.9}, Usage(0, 2)),
        ({"input_tokens": -5, "output_tokens": True}, Usage()),
        ({"input_tokens": 10**400, "output_tokens": 1e300}, Usage()),
        ({"input_tokens": "7", "output_tokens": 2**29}, Usage(0, 2**29)),
    ],
)
def test_figures_that_cannot_be_count_nothing(told: Any, usage: Usage) -> None:
    assert read_usage(told) == usage
    message = {"stop_reason": "end_turn", "content": [], "usage": told}
    batched = read_result({"type": "succeeded", "message": message}, 1.0)
    assert isinstance(batched, Answered)
    assert batched.usage == usage


def test_usage_that_is_none_takes_nothing_from_an_answer(server: Server) -> None:
    block = {"type": "text", "text": "hello"}
    for told in ("much", [1], 7, None):
        outcome = one(server, streamed({"content": [block], "usage": told}))
        assert isinstance(outcome, Answered)
        assert outcome.usage == Usage()


# -- batches as they are told ------------------------------------------------------

BATCH = {
    "id": "msgbatch_1",
    "processing_status": "in_progress",
    "created_at": "2026-12-01T00:00:00Z",
    "expires_at": "2026-12-02T00:00:00Z",
    "request_counts": {"processing": 2},
}


@pytest.mark.parametrize("name", ["", ".", "..", "a\nb", "\x1b[31m", "x" * 400, 5])
def test_a_batch_has_a_name_that_it_can_be_asked_by(name: Any) -> None:
    assert read_batch({**BATCH, "id": name}) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"created_at": "0001-01-01T00:00:00", "expires_at": "9999-12-31T23:59:59"},
        {"created_at": 10**30, "expires_at": [1]},
        {"request_counts": {"processing": -(10**400), "succeeded": 10**400}},
        {"request_counts": [1]},
        {"processing_status": None, "results_url": 5},
    ],
)
def test_whatever_is_told_of_a_batch_can_be_read(wrong: dict[str, Any]) -> None:
    seen = read_batch({**BATCH, **wrong})
    assert seen is not None
    assert 0 <= seen.done <= seen.total < 10**10


def test_a_batch_that_does_not_say_when_it_came_may_be_any() -> None:
    seen = read_batch({**BATCH, "created_at": None})
    assert seen is not None
    assert may_be(seen, planned_at=1.8e9, count=2)


# -- over the wire -------------------------------------------------------------------


def plain(server: Server, act: Act) -> tuple[int, dict[str, str], str]:
    server.acts, server.requests = [act], []

    async def go() -> tuple[int, dict[str, str], str]:
        api = open_api(server.url)
        try:
            return await api.plain("get", "/v1/messages/batches", None)
        finally:
            await api.close()

    return asyncio.run(go())


def lines(server: Server, act: Act) -> tuple[Any, list[str]]:
    server.acts, server.requests = [act], []
    found: list[str] = []

    def take(line: str) -> bool:
        found.append(line)
        return True

    async def go() -> Any:
        api = open_api(server.url)
        try:
            return await api.lines("/v1/messages/batches/x/results", take)
        finally:
            await api.close()

    return asyncio.run(go()), found


@pytest.mark.parametrize("status", [200, 400, 500])
def test_json_without_a_bottom_is_an_outcome(server: Server, status: int) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    got, _, text = plain(server, served(status, deep))
    assert got == (502 if status == 200 else status)
    assert text


def test_the_clock_of_the_service_is_told(server: Server) -> None:
    date = "Tue, 01 Dec 2026 06:00:00 GMT"
    status, headers, text = plain(server, served(200, {"a": 1}, f"date: {date}\r\n"))
    assert (status, headers["date"], json.loads(text)) == (200, date, {"a": 1})


def test_results_may_be_longer_than_any_answer(server: Server, monkeypatch) -> None:
    monkeypatch.setattr(capping, "RESPONSE_MAX", 100_000)
    line = json.dumps({"text": "x" * 60_000}).encode() + b"\n"
    failed, found = lines(server, said(head(), *[chunk(line)] * 20, END))
    assert failed is None
    assert len(found) == 20
    assert {json.loads(one)["text"] for one in found} == {"x" * 60_000}
    failed, found = lines(server, said(head(), *[chunk(b"x" * 60_000)] * 3, END))
    assert isinstance(failed, Broken)
    assert "more than 100,000 bytes" in failed.message
    assert found == []


def test_line_feeds_alone_end_results(server: Server) -> None:
    """U+2028, U+0085 and their kin may stand in JSON as they are."""
    texts = ["a\u2028b\u2029c", "d\x85e", "f\x1cg\x0bh", ""]
    told = [json.dumps({"t": t}, ensure_ascii=False) for t in texts[:2]]
    told += [texts[2], json.dumps({"t": "last \U0001f600"}, ensure_ascii=False)]
    data = "\n".join(told).encode()
    parts = [chunk(data[n : n + 5]) for n in range(0, len(data), 5)]
    failed, found = lines(server, said(head(), *parts, END))
    assert failed is None
    assert found == told


def test_nothing_goes_to_another_address(server: Server) -> None:
    with Server() as other:
        other.acts = [served(200, {"x": 1})]
        for status in (301, 302, 303, 307, 308):
            act = served(status, {}, f"location: {other.url}/v1/messages\r\n")
            outcome = one(server, act)
            assert isinstance(outcome, Refused)
            verdict = classify(outcome)
            assert verdict.missing is MissingKind.REJECTED
            assert f"redirects to {other.url}" in verdict.reason
            assert plain(server, act)[0] == status
            failed, _ = lines(server, act)
            assert isinstance(failed, Refused)
        assert other.requests == []
