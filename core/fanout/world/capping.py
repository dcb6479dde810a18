"""How much of an answer is taken: an account that sends without end fills no memory.

Counted where bytes come in, before anything gathers them. An answer that is too
long breaks; the text of an error is cut, since its status says what matters.
"""

from collections.abc import AsyncIterator
from typing import Any

RESPONSE_MAX = 32 * 1024 * 1024
"""Bytes of one answer: twenty times what the longest one has."""
ERROR_MAX = 256 * 1024
BAD = 400
"""The lowest status that is an error."""


def cap_responses(http: Any, byte_stream: type) -> None:
    """Have a client of `httpx2` take no more than that of any response.

    `byte_stream` is its class of streams.
    """

    class Counted(byte_stream):  # type: ignore[misc]
        """A stream that ends, or breaks, after so many bytes."""

        def __init__(self, stream: Any, most: int, *, cut: bool) -> None:
            self._stream = stream
            self._most = most
            self._cut = cut

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = self._most
            async for chunk in self._stream:
                if len(chunk) > left:
                    if not self._cut:
                        raise too_long(self._most) from None
                    yield chunk[:left]
                    return
                left -= len(chunk)
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def count(response: Any) -> None:
        bad = response.status_code >= BAD
        most = ERROR_MAX if bad else RESPONSE_MAX
        response.stream = Counted(response.stream, most, cut=bad)

    http.event_hooks["response"].append(count)


def too_long(most: int) -> ValueError:
    """Return the error of an answer that goes on beyond `most` bytes."""
    return ValueError(f"the answer has more than {most:,} bytes")
