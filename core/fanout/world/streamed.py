"""A stream's events as text, taken in and handed on; strangers write them."""

import asyncio
import json
from typing import Any, NoReturn

from fanout.decide.assembly import Assembly
from fanout.words.clean import well_formed
from fanout.world import capping

INLINE_MAX = 1024 * 1024
"""Characters that are parsed on the loop; more would be felt by everybody else."""


class Intake:
    """One answer as it comes in, event by event."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self._size = 0

    async def take(self, data: str) -> None:
        """Take one event in. Raises ValueError for what makes no sense."""
        self._size += len(data)
        # What was compressed may be far longer than the bytes that came.
        if self._size > capping.RESPONSE_MAX:
            raise capping.too_long(capping.RESPONSE_MAX)
        if len(data) > INLINE_MAX:
            await asyncio.to_thread(feed, self.assembly, data)
        else:
            feed(self.assembly, data)

    async def whole(self) -> dict[str, Any] | None:
        """Return the message when it is complete and makes sense, as plain JSON."""
        if self._size > INLINE_MAX:
            return await asyncio.to_thread(whole_of, self.assembly)
        return whole_of(self.assembly)


def feed(assembly: Assembly, data: str) -> None:
    """Take one event in. Raises ValueError for what makes no sense."""
    try:
        event = json.loads(data, parse_constant=_no_constant)
        if isinstance(event, dict):
            assembly.feed(event)
            assembly.usage.total  # noqa: B018  read here, so that it fails here
    except (TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ValueError("an event of the stream makes no sense") from error
    except RecursionError as error:
        raise ValueError("an event of the stream is nested too deeply") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def whole_of(assembly: Assembly) -> dict[str, Any] | None:
    """Return the message when it is complete and makes sense, as plain JSON."""
    if not assembly.whole:
        return None
    try:
        message = assembly.message()
        text = json.dumps(message, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None
    # Half a surrogate pair is a `str` in Python, and no text in a request.
    whole: dict[str, Any] = json.loads(well_formed(text))
    return whole


def frame(event: str | None, data: str) -> bytes:
    """Return an event as it goes over the wire."""
    return f"event: {event}\ndata: {data}\n\n".encode()
