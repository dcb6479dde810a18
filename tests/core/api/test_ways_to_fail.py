"""Connecting, waiting, silence and slowness: each limit by itself, in words."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from core.api.wires import (
    BODY,
    END,
    HELLO,
    OPEN,
    START,
    WHOLE,
    Seen,
    Server,
    ask,
    chunk,
    head,
    open_api,
    said,
    sse,
    stream,
)
from fanout.words.outcome import Answered, Broken, Outcome
from fanout.words.timeouts import Timeouts

PING = chunk(sse(type="ping"))


def timeouts(**changes: float) -> Timeouts:
    given = {"connect": 9.0, "first_byte": 9.0, "between_bytes": 9.0, "call": 9.0}
    return Timeouts(**{**given, **changes})


def broken(url: str, **limits: float) -> Broken:
    (outcome,), _ = ask(url, timeouts=timeouts(**limits))
    assert isinstance(outcome, Broken), outcome
    return outcome


def test_a_name_that_is_looked_up_for_ever_is_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", hang)
    outcome = broken("http://slow.invalid", connect=1.0)
    assert (outcome.stage, outcome.limit) == ("connect", "connect")
    assert outcome.message == "slow.invalid does not answer within 1 s"
    assert not outcome.usage.total


def test_an_address_that_takes_nothing_is_no_connection() -> None:
    """A full backlog: the kernel neither accepts nor refuses."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        outcome = broken(f"http://127.0.0.1:{address[1]}", connect=1.0)
        for one in waiting:
            one.close()
    assert (outcome.stage, outcome.limit) == ("connect", "connect")


def test_a_connection_that_stands_is_waited_for_by_the_next_limit(
    server: Server,
) -> None:
    """The limits do not share their seconds: connecting is over in no time."""
    server.acts, server.requests = [said(4.0, head(), chunk(WHOLE), END)], []
    (outcome,), _ = ask(server.url, timeouts=timeouts(connect=1.0))
    assert isinstance(outcome, Answered)
    server.acts, server.requests = [said(30.0)], []
    assert broken(server.url, first_byte=1.0).limit == "first-byte"


def test_a_connection_that_is_used_again_stands_at_once(server: Server) -> None:
    server.acts, server.requests = (
        [stream(WHOLE), said(4.0, head(), chunk(WHOLE), END)],
        [],
    )
    outcomes, _ = ask(server.url, times=2, timeouts=timeouts(connect=1.0))
    assert all(isinstance(outcome, Answered) for outcome in outcomes)


def test_pings_are_life_and_do_not_make_a_call_endless(server: Server) -> None:
    pings = [PING, 0.5] * 30
    server.acts, server.requests = [said(head(), chunk(START), *pings)], []
    outcome = broken(server.url, between_bytes=2.0, call=4.0)
    assert (outcome.stage, outcome.limit) == ("stream", "call")
    assert outcome.message == "not finished after 4 s"
    assert outcome.usage.input_tokens == 12


def test_a_process_that_was_stopped_blames_nobody(server: Server) -> None:
    """No limit counts time in which nobody could have read."""
    act = said(head(), chunk(START + OPEN + HELLO), 1.0, chunk(WHOLE), END)
    server.acts, server.requests = [act], []
    limits = timeouts(connect=1.0, first_byte=2.0, between_bytes=2.0, call=3.0)
    (outcome,), _ = ask(server.url, timeouts=limits, meanwhile=lambda: time.sleep(6))
    assert not (isinstance(outcome, Broken) and outcome.timeout)


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")


WORDS = {
    "http://nobody.invalid": "the name nobody.invalid does not resolve",
    "http://127.0.0.1:1": "127.0.0.1:1 refuses connections",
}


@pytest.mark.parametrize("url", WORDS)
def test_what_keeps_from_connecting_is_said(url: str) -> None:
    outcome = broken(url)
    assert outcome.stage == "connect"
    assert outcome.message == WORDS[url]


def test_a_port_that_speaks_no_tls_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def talk() -> None:
            peer, _ = plain.accept()
            peer.recv(10)
            peer.sendall(b"220 mail.example ready\r\n")
            peer.close()

        threading.Thread(target=talk, daemon=True).start()
        port = plain.getsockname()[1]
        outcome = broken(f"https://127.0.0.1:{port}")
    assert outcome.stage == "connect"
    assert outcome.message == f"no TLS with 127.0.0.1:{port}: wrong version number"


@pytest.mark.parametrize("way", ["rst", "fin"])
def test_a_cut_inside_the_answer_is_one(server: Server, way: str) -> None:
    server.acts, server.requests = [said(head(), chunk(START), 0.1, way)], []
    outcome = broken(server.url)
    assert outcome.stage == "stream"
    assert outcome.message in {
        "the connection was reset",
        "the connection ended inside the answer",
    }


def test_after_a_sleep_everything_is_cut_and_connected_anew(server: Server) -> None:
    """Whatever stage it is in; what is sent afterwards uses no old connection."""
    server.acts = [
        stream(WHOLE),
        said(30.0),
        said(head(), chunk(START), 30.0),
        stream(WHOLE),
    ]
    server.requests = []

    async def go() -> list[Outcome]:
        api = open_api(server.url, timeouts())
        try:
            await api.send(BODY, Seen())
            tasks = []
            for count in (2, 3):
                tasks.append(asyncio.create_task(api.send(BODY, Seen())))
                await until(lambda count=count: len(server.requests) >= count)
            await asyncio.sleep(0.2)
            before = threading.active_count()
            await api.renew("the machine slept for 8 h")
            outcomes = [await task for task in tasks]
            last = await asyncio.wait_for(api.send(BODY, Seen()), 10)
            assert threading.active_count() <= before + 4
            return [*outcomes, last]
        finally:
            await api.close()

    first, second, last = asyncio.run(go())
    for outcome, stage in ((first, "headers"), (second, "stream")):
        assert isinstance(outcome, Broken)
        assert (outcome.slept, outcome.timeout, outcome.stage) == (True, False, stage)
        assert outcome.message == "the machine slept for 8 h"
    assert isinstance(last, Answered)
