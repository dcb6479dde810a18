"""How much is taken: of an answer, an error, a tool, an output; and who waits meanwhile."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.api.test_misbehaving_service import one
from core.api.wires import (
    HELLO,
    LAST,
    OPEN,
    START,
    STOP,
    Server,
    chunk,
    head,
    refusal,
    said,
    sse,
    stream,
)
from fanout.decide.admission.retry import classify
from fanout.disk.jsonline import to_json
from fanout.files.adapters import adapt
from fanout.files.outputs import MAX_OUTPUT_BYTES, OutputFolder, Problem, Verified
from fanout.files.safecall import MAX_BLOCKS, MAX_TEXT
from fanout.words.model import MissingKind
from fanout.words.outcome import Answered, Broken, Refused
from fanout.words.tools import ToolResult
from fanout.world.wire import capping, streamed
from figures import record_figure


def text_event(size: int) -> bytes:
    delta = {"type": "text_delta", "text": "x" * size}
    return sse(type="content_block_delta", index=0, delta=delta)


def test_an_answer_without_end_breaks(server: Server, monkeypatch) -> None:
    monkeypatch.setattr(capping, "RESPONSE_MAX", 500_000)
    for act in (
        stream(START, OPEN, *[text_event(50_000)] * 40, LAST, STOP),
        said(head(), chunk(START), *[chunk(b"data: " + b"x" * 50_000)] * 40, "fin"),
        said(head(), *[chunk(b": nothing\n" * 5_000)] * 40, "fin"),
    ):
        outcome = one(server, act)
        assert isinstance(outcome, Broken)
        assert "more than 500,000 bytes" in outcome.message
        assert classify(outcome).cause is not None


def test_what_is_compressed_counts_as_it_is(server: Server, monkeypatch) -> None:
    import gzip

    monkeypatch.setattr(capping, "RESPONSE_MAX", 500_000)
    packed = gzip.compress(START + OPEN + text_event(5_000_000) + LAST + STOP)
    assert len(packed) < 50_000
    act = said(head(more="content-encoding: gzip\r\n"), chunk(packed), "fin")
    outcome = one(server, act)
    assert isinstance(outcome, Broken)
    assert "more than 500,000 bytes" in outcome.message


@pytest.mark.parametrize("status", [400, 429, 529])
def test_an_endless_error_is_what_its_status_says(server: Server, status: int) -> None:
    body = b'{"type": "error", "error": {"message": "' + b"x" * 5_000_000
    outcome = one(server, refusal(status, body))
    assert isinstance(outcome, Refused)
    assert outcome.status == status
    assert len(outcome.message) < 400
    assert len(outcome.body) <= capping.ERROR_MAX
    verdict = classify(outcome)
    assert (verdict.missing is MissingKind.REJECTED) == (status == 400)


def test_the_longest_answers_pass(server: Server) -> None:
    outcome = one(server, stream(START, OPEN, *[text_event(1_000_000)] * 8, LAST, STOP))
    assert isinstance(outcome, Answered)
    assert len(outcome.message["content"][0]["text"]) == 8_000_000


def test_what_is_large_is_not_parsed_on_the_loop(server: Server, monkeypatch) -> None:
    """Small events are: a thread for each would cost more than it saves."""
    where: list[tuple[int, bool]] = []
    feed, whole = streamed.feed, streamed.whole_of
    main = threading.current_thread()

    def fed(assembly: Any, data: str) -> None:
        where.append((len(data), threading.current_thread() is main))
        feed(assembly, data)

    def made(assembly: Any) -> Any:
        where.append((0, threading.current_thread() is main))
        return whole(assembly)

    monkeypatch.setattr(streamed, "feed", fed)
    monkeypatch.setattr(streamed, "whole_of", made)
    one(server, stream(START, OPEN, HELLO, text_event(8 << 20), LAST, STOP))
    assert {inline for size, inline in where if 0 < size < 10_000} == {True}
    assert [inline for size, inline in where if size > 8 << 20] == [False]
    assert [inline for size, inline in where if size == 0] == [False]


def test_a_tools_argument_without_a_bottom(server: Server) -> None:
    block = {"type": "tool_use", "id": "t", "name": "x", "input": {}}
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    delta = {"type": "input_json_delta", "partial_json": deep}
    outcome = one(
        server,
        stream(
            START,
            sse(type="content_block_start", index=0, content_block=block),
            sse(type="content_block_delta", index=0, delta=delta),
            sse(type="content_block_stop", index=0),
            LAST,
            STOP,
        ),
    )
    assert isinstance(outcome, Answered | Broken)
    json.loads(to_json(getattr(outcome, "message", "")))


class Big:
    """A tool of the script's own, of our shape."""

    name = "big"
    description = "much"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}

    def __init__(self, content: Any) -> None:
        self._content = content

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=self._content)


CONTENTS: dict[str, Any] = {
    "text": "x" * 5_000_000,
    "one block": [{"type": "text", "text": "x" * (MAX_BLOCKS + 1)}],
    "many blocks": [{"type": "text", "text": "x" * 1_000}] * 20_000,
    "blocks of nothing": [{"type": "text", "text": ""}] * 200_000,
    "a nest": [{"type": "text", "text": [["x" * 1_000_000] * 4] * 5}],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_results_of_tools_are_bounded(name: str) -> None:
    content = CONTENTS[name]

    def plain() -> Any:
        """Give it."""
        return content

    for tool in (adapt(Big(content)), adapt(plain)):
        result = asyncio.run(tool.run({}))
        assert len(to_json(result.content)) <= MAX_TEXT + 200
        assert "cut" in str(result.content) or "left out" in str(result.content)
    small = [{"type": "text", "text": "fine"}]
    assert asyncio.run(adapt(Big(small)).run({})).content == small


def test_an_output_of_a_hundred_megabytes_is_not_even_read(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(100_000_000)
    begun = time.process_time()
    found = folder.verify("a.json")
    assert isinstance(found, Problem)
    assert found.kind == "too large"
    assert time.process_time() - begun < 0.05


@pytest.mark.long
@pytest.mark.soak
def test_the_largest_output_holds_nobody_up(tmp_path: Path) -> None:
    """Checked, kept and reported in threads while the loop goes on."""
    folder = OutputFolder(tmp_path)
    text = "word " * (MAX_OUTPUT_BYTES // 5 - 10)
    folder.write("a.md", text.encode())
    with (tmp_path / "b.md").open("wb") as file:
        file.truncate(100_000_000)
    late: list[float] = []

    async def go() -> None:
        over = asyncio.Event()

        async def beat() -> None:
            while not over.is_set():
                due = time.monotonic() + 0.002
                await asyncio.sleep(0.002)
                late.append(time.monotonic() - due)

        beating = asyncio.create_task(beat())
        found = await asyncio.to_thread(folder.verify, "a.md")
        assert isinstance(found, Verified)
        await asyncio.to_thread(to_json, found.value)
        assert isinstance(await asyncio.to_thread(folder.verify, "b.md"), Problem)
        over.set()
        await beating

    asyncio.run(go())
    worst = max(late)
    assert worst < 2.0
    record_figure(
        "loop lag with the largest output, and one of 100 MB",
        "≤ 100 ms where nothing else runs",
        f"{worst * 1000:.0f} ms at worst",
    )
