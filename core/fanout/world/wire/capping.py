"""How much of an answer is taken: an account that sends without end fills no memory.

Counted where bytes come in, before anything gathers them. An answer that is too
long breaks; the text of an error is cut, since its status says what matters. What
is read line by line may be of any length, its lines may not.
"""

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from fanout.world.wire.failures import Senseless

RESPONSE_MAX = 32 * 1024 * 1024
"""Bytes of one answer, or of one line: twenty times what the longest one has."""
ERROR_MAX = 256 * 1024
BAD = 400
"""The lowest status that is an error."""

_by_line: ContextVar[bool] = ContextVar("by_line", default=False)


@contextmanager
def reading_lines() -> Iterator[None]:
    """What is asked for in here is read line by line (`each_line`)."""
    token = _by_line.set(True)
    try:
        yield
    finally:
        _by_line.reset(token)


def cap_responses(http: Any, byte_stream: type) -> None:
    """Have a client of `httpx2` take no more than that of any response.

    `byte_stream` is its class of streams.
    """

    class Counted(byte_stream):  # type: ignore[misc]
        """A stream that ends, or breaks, after so many bytes."""

        def __init__(self, stream: Any, most: float, *, cut: bool) -> None:
            self._stream = stream
            self._most = most
            self._cut = cut

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = self._most
            async for chunk in self._stream:
                if len(chunk) > left:
                    if not self._cut:
                        raise too_long(self._most) from None
                    yield chunk[: int(left)]
                    return
                left -= len(chunk)
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def count(response: Any) -> None:
        bad = response.status_code >= BAD
        most = math.inf if _by_line.get() else RESPONSE_MAX
        most = ERROR_MAX if bad else most
        response.stream = Counted(response.stream, most, cut=bad)

    http.event_hooks["response"].append(count)


async def each_line(
    response: Any, take: Callable[[str], bool], came: Callable[[], None]
) -> None:
    """Give the lines of a response, until it ends or `take` says no.

    Line feeds alone end lines: text may hold other separators as they are. `came`
    is called whenever something has come.
    """
    line: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        came()
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line.append(end)
            if not take(_text(line)):
                return
            line.clear()
            size = 0
        line.append(rest)
        size += len(rest)
        if size > RESPONSE_MAX:
            raise too_long(RESPONSE_MAX)
    if size:
        take(_text(line))


def _text(line: list[bytes]) -> str:
    return b"".join(line).decode(errors="replace")


def too_long(most: float) -> Senseless:
    """Return the error of an answer that goes on beyond `most` bytes."""
    return Senseless(f"the answer has more than {most:,} bytes")
