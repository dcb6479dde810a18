"""What comes back over the wire, however strange, is an outcome and no exception."""

import asyncio
import json
import socket
import time
from typing import Any

import pytest

from core.api.wires import (
    BODY,
    END,
    HELLO,
    LAST,
    MESSAGE,
    OPEN,
    SHUT,
    START,
    STOP,
    WHOLE,
    Act,
    Server,
    ask,
    chunk,
    error_event,
    head,
    open_api,
    refusal,
    said,
    sse,
    stream,
)
from fanout.decide.admission.retry import classify
from fanout.words.model import Cause, MissingKind, Usage
from fanout.words.outcome import Answered, Broken, Refused


def one(server: Server, act: Act, **more: Any) -> Any:
    server.acts, server.requests = [act], []
    (outcome,), _ = ask(server.url, **more)
    return outcome


def test_a_healthy_stream_is_an_answer(server: Server) -> None:
    server.acts, server.requests = [stream(WHOLE)], []
    (outcome,), seen = ask(server.url)
    assert isinstance(outcome, Answered)
    assert outcome.message["content"] == [{"type": "text", "text": "hello"}]
    assert outcome.usage == Usage(12, 7)
    assert outcome.request_id == "req_1"
    assert seen.inputs[0] == Usage(12, 1)
    assert b"".join(seen.chunks).count(b"data:") == 6
    assert json.loads(server.requests[0])["stream"] is True


UNHARMED: dict[str, Act] = {
    "an error after the stop": stream(WHOLE, error_event("api_error")),
    "a cut after the stop": said(head(), chunk(WHOLE), "rst"),
    "no message_stop": stream(START, OPEN, HELLO, SHUT, LAST),
    "unknown events": stream(
        START, sse(type="new_thing", x=[1]), OPEN, HELLO, LAST, STOP
    ),
    "data without event": stream(
        *(part.split(b"\n", 1)[1] for part in (START, OPEN, HELLO, LAST, STOP))
    ),
    "pings": stream(sse(type="ping"), WHOLE, sse(type="ping")),
    "closed, not chunked": said(
        head(more="content-length: 99999\r\n").replace(
            b"content-length: 99999\r\n", b"connection: close\r\n"
        ),
        WHOLE,
        "fin",
    ),
    "split anywhere": said(
        head(), *(chunk(WHOLE[n : n + 7]) for n in range(0, len(WHOLE), 7)), END
    ),
    "garbage headers": said(
        head(
            more="anthropic-ratelimit-requests-limit: many\r\n"
            "anthropic-ratelimit-input-tokens-remaining: -1e999\r\n"
            "anthropic-ratelimit-output-tokens-reset: never\r\nretry-after: soon\r\n"
        ),
        chunk(WHOLE),
        END,
    ),
    "usage of nulls": stream(
        sse(type="message_start", message={**MESSAGE, "usage": None}),
        OPEN,
        HELLO,
        LAST,
        STOP,
    ),
}


@pytest.mark.parametrize("name", UNHARMED)
def test_what_is_whole_is_an_answer(server: Server, name: str) -> None:
    outcome = one(server, UNHARMED[name])
    assert isinstance(outcome, Answered), outcome
    assert outcome.message["content"][0]["text"] == "hello"
    assert outcome.message["stop_reason"] == "end_turn"


def delta(**changes: Any) -> bytes:
    return sse(type="content_block_delta", **changes)


BROKEN: dict[str, tuple[Act, str]] = {
    "clean end, no stop": (stream(START, OPEN, HELLO), "stream"),
    "half a frame": (stream(START, OPEN, HELLO[:-20]), "stream"),
    "cut in a chunk": (said(head(), chunk(START), b"ff\r\nhalf", "fin"), "stream"),
    "reset": (said(head(), chunk(START), 0.1, "rst"), "stream"),
    "reset before headers": (said("rst"), "headers"),
    "closed before headers": (said("fin"), "headers"),
    "empty body": (stream(), "stream"),
    "no body": (said(head(more="content-length: 0\r\n")), "stream"),
    "HTML with 200": (
        refusal(200, b"<html>maintenance</html>", kind="text/html"),
        "stream",
    ),
    "JSON with 200": (refusal(200, {"hello": 1}), "stream"),
    "bad JSON": (stream(START, b"event: x\ndata: {nope\n\n"), "stream"),
    "NaN": (
        stream(
            START,
            b'event: x\ndata: {"type":"message_delta","usage":{"output_tokens":Infinity}}\n\n',
        ),
        "stream",
    ),
    "nested": (stream(START, b"event: x\ndata: " + b"[" * 100_000 + b"\n\n"), "stream"),
    "a list": (stream(sse(type="message_start", message=["x"])), "stream"),
    "a number": (stream(sse(type="message_start", message=7)), "stream"),
    "usage is text": (
        stream(sse(type="message_start", message={**MESSAGE, "usage": "much"})),
        "stream",
    ),
    "delta is text": (stream(START, delta(index=0, delta="x")), "stream"),
    "index is a list": (
        stream(START, delta(index=[], delta={"type": "text_delta", "text": "x"})),
        "stream",
    ),
    "indexes of two kinds": (
        stream(
            START,
            *(
                delta(index=i, delta={"type": "text_delta", "text": "x"})
                for i in (0, "1")
            ),
            LAST,
            STOP,
        ),
        "stream",
    ),
    "garbage for HTTP": (said(b"SSH-2.0-OpenSSH\r\n\r\n", "fin"), "headers"),
}

NO_ANSWERS = {
    "NaN",
    "nested",
    "a list",
    "a number",
    "delta is text",
    "index is a list",
    "indexes of two kinds",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_whole_is_broken_and_tried_again(server: Server, name: str) -> None:
    act, stage = BROKEN[name]
    outcome = one(server, act)
    assert isinstance(outcome, Broken), outcome
    assert outcome.stage == stage
    assert outcome.message
    cause = Cause.SERVICE if outcome.senseless else Cause.CUT
    assert classify(outcome).cause is cause
    assert outcome.senseless == (name in NO_ANSWERS)


def test_what_a_cut_stream_had_said_is_known(server: Server) -> None:
    outcome = one(server, stream(START, OPEN, HELLO * 5))
    assert outcome.usage == Usage(12, 6)
    assert outcome.request_id == "req_1"


def test_silence_is_cut_and_named(server: Server) -> None:
    for act, stage in (
        (said(30.0), "headers"),
        (said(head(), chunk(START), 30.0), "stream"),
    ):
        begun = time.monotonic()
        outcome = one(server, act)
        assert isinstance(outcome, Broken)
        assert (outcome.stage, outcome.timeout) == (stage, True)
        assert "nothing came for 2 s" in outcome.message
        assert outcome.limit == {"headers": "first-byte", "stream": "idle"}[stage]
        assert time.monotonic() - begun < 8


def test_a_slow_stream_is_not_silence(server: Server) -> None:
    slow = [chunk(sse(type="ping")), 1.0] * 4
    outcome = one(server, said(head(), *slow, chunk(WHOLE), END))  # type: ignore[arg-type]
    assert isinstance(outcome, Answered)


def test_a_blocked_loop_is_not_silence(server: Server) -> None:
    act = said(head(), chunk(START), 1.0, chunk(OPEN + HELLO + SHUT + LAST + STOP), END)
    outcome = one(server, act, meanwhile=lambda: time.sleep(4))
    assert isinstance(outcome, Answered)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        (outcome,), _ = ask(url)
    assert isinstance(outcome, Broken)
    assert outcome.stage == "connect"
    assert not outcome.usage.total


def test_a_server_that_closes_idle_connections_loses_no_call(server: Server) -> None:
    server.acts, server.requests = [said(head(), chunk(WHOLE), END, "fin")], []
    outcomes, _ = ask(server.url, times=4)
    # A race the client cannot win always: but then it is told as what it is.
    assert all(isinstance(o, Answered | Broken) for o in outcomes)
    assert isinstance(outcomes[0], Answered)


ERRORS = {
    400: ("invalid_request_error", None, MissingKind.REJECTED),
    401: ("authentication_error", None, MissingKind.ACCOUNT),
    402: ("billing_error", None, MissingKind.ACCOUNT),
    403: ("permission_error", None, MissingKind.REJECTED),
    404: ("not_found_error", None, MissingKind.REJECTED),
    408: ("timeout_error", Cause.SERVICE, None),
    409: ("conflict_error", Cause.SERVICE, None),
    413: ("request_too_large", None, MissingKind.REJECTED),
    422: ("invalid_request_error", None, MissingKind.REJECTED),
    429: ("rate_limit_error", Cause.LIMIT, None),
    500: ("api_error", Cause.SERVICE, None),
    502: ("api_error", Cause.SERVICE, None),
    503: ("api_error", Cause.SERVICE, None),
    504: ("timeout_error", Cause.SERVICE, None),
    529: ("overloaded_error", Cause.OVERLOADED, None),
}


@pytest.mark.parametrize("status", ERRORS)
def test_every_error_is_what_it_says(server: Server, status: int) -> None:
    kind, cause, missing = ERRORS[status]
    body = {"type": "error", "error": {"type": kind, "message": "because"}}
    outcome = one(server, refusal(status, body, "retry-after: 7\r\n"))
    assert isinstance(outcome, Refused)
    assert (outcome.status, outcome.type, outcome.message) == (status, kind, "because")
    assert (outcome.retry_after, outcome.request_id) == (7.0, "req_1")
    verdict = classify(outcome)
    assert (verdict.cause, verdict.missing) == (cause, missing)


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error"])
@pytest.mark.parametrize("before", [b"", START, START + OPEN + HELLO])
def test_an_error_inside_a_stream(server: Server, kind: str, before: bytes) -> None:
    parts = [before] if before else []
    outcome = one(server, stream(*parts, error_event(kind)))
    assert isinstance(outcome, Refused)
    assert (outcome.status, outcome.type) == (200, kind)
    assert classify(outcome).cause is not None
    assert outcome.usage.input_tokens == (12 if before else 0)


SENSELESS: list[Any] = [
    b"<html><h1>502 Bad Gateway</h1></html>",
    b"",
    b"\xff\xfe",
    b"[1, 2",
    {"type": "error", "error": "text"},
    {"type": "error", "error": {"type": ["x"], "message": {"a": 1}}},
    {"type": "error", "error": {"type": {}, "details": {"error_code": []}}},
    {"error": None},
    ["a"],
    "text",
]


@pytest.mark.parametrize("body", SENSELESS, ids=range(len(SENSELESS)))
@pytest.mark.parametrize("status", [400, 429, 503])
def test_an_error_that_makes_no_sense_is_read_by_its_status(
    server: Server, status: int, body: Any
) -> None:
    outcome = one(server, refusal(status, body))
    assert isinstance(outcome, Refused)
    verdict = classify(outcome)
    expected = {400: None, 429: Cause.SERVER, 503: Cause.SERVICE}[status]
    assert verdict.cause is expected
    assert len(outcome.message) < 400


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ("retry-after: 3\r\n", 3.0),
        ("retry-after: 0.5\r\n", 0.5),
        ("retry-after-ms: 1500\r\n", 1.5),
        (
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\ndate: Sun, 06 Nov 1994 08:49:07 GMT\r\n",
            30.0,
        ),
        ("retry-after: soon\r\n", None),
        ("retry-after: -5\r\n", None),
        ("retry-after: 1e300\r\n", 86_400.0),
        ("retry-after: nan\r\n", None),
        ("", None),
    ],
)
def test_forms_of_retry_after(
    server: Server, headers: str, seconds: float | None
) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}
    assert one(server, refusal(429, body, headers)).retry_after == seconds


def test_a_cut_error_body_is_no_exception(server: Server) -> None:
    act = said(
        head(429, "application/json", "content-length: 500\r\n"), b'{"type"', "fin"
    )
    assert isinstance(one(server, act), Refused | Broken)


def test_a_huge_event_and_many_small_ones(server: Server) -> None:
    big = sse(
        type="content_block_delta",
        index=0,
        delta={"type": "text_delta", "text": "x" * 3_000_000},
    )
    outcome = one(server, stream(START, OPEN, big, HELLO * 2_000, LAST, STOP))
    assert isinstance(outcome, Answered)
    assert len(outcome.message["content"][0]["text"]) == 3_000_000 + 5 * 2_000


def test_half_a_character_reaches_nobody(server: Server) -> None:
    torn = b'event: x\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}\n\n'
    rest = torn.replace(b"\\ud83d", b"\\ude00")
    outcome = one(server, stream(START, OPEN, torn, rest, torn, LAST, STOP))
    assert outcome.message["content"][0]["text"] == "\U0001f600\ufffd"
    outcome.message["content"][0]["text"].encode()


def test_a_request_goes_out_whatever_text_is_in_it(server: Server) -> None:
    body = {**BODY, "messages": [{"role": "user", "content": "\u2028\x00\x1b[0m é"}]}
    outcome = one(server, stream(WHOLE), body=body)
    assert isinstance(outcome, Answered)
    assert json.loads(server.requests[0])["messages"] == body["messages"]


def test_small_requests_come_back_as_they_are(server: Server) -> None:
    acts: list[Act] = [
        refusal(200, {"input_tokens": 3}),
        refusal(404, {"type": "error"}),
        refusal(200, b"{nope"),
        said("rst"),
        said(head(more="content-length: 50\r\n"), b"{", "fin"),
        said(30.0),
    ]

    async def go() -> list[int]:
        api = open_api(server.url)
        found = []
        for act in acts:
            server.acts, server.requests = [act], []
            status, _, _ = await api.plain(
                "post", "/v1/messages/count_tokens", {"a": 1}
            )
            found.append(status)
        await api.close()
        return found

    assert asyncio.run(go()) == [200, 404, 502, 502, 502, 502]
