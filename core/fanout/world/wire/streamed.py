"""A stream's events as text, taken in and handed on; strangers write them."""

import asyncio
import json
from typing import Any, NoReturn

from fanout.decide.assembly import Assembly, flaw_of
from fanout.words.clean import well_formed
from fanout.world.wire import capping
from fanout.world.wire.failures import Senseless

INLINE_MAX = 1024 * 1024
"""Characters that are parsed on the loop; more would be felt by everybody else."""


_SHAPES = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)
"""What comes of taking one shape for another."""


class Intake:
    """One answer as it comes in, event by event."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self._size = 0
        self._half = False

    async def take(self, data: str) -> None:
        """Take one event in. Raises `Senseless` for what makes no sense."""
        if self._half:
            raise Senseless("an event of the stream is no JSON")
        self._size += len(data)
        # What was compressed may be far longer than the bytes that came.
        if self._size > capping.RESPONSE_MAX:
            raise capping.too_long(capping.RESPONSE_MAX)
        try:
            if len(data) > INLINE_MAX:
                await asyncio.to_thread(feed, self.assembly, data)
            else:
                feed(self.assembly, data)
        except json.JSONDecodeError:
            # As the last one it was cut by whatever cut the stream.
            self._half = True

    async def whole(self) -> dict[str, Any] | None:
        """Return the message when it is complete, as plain JSON.

        Raises `Senseless` for one that makes no sense.
        """
        if self._size > INLINE_MAX:
            return await asyncio.to_thread(whole_of, self.assembly)
        return whole_of(self.assembly)


def feed(assembly: Assembly, data: str) -> None:
    """Take one event in. Raises `Senseless` for what makes no sense."""
    try:
        event = json.loads(data, parse_constant=_no_constant)
    except RecursionError as error:
        raise Senseless("an event of the stream is nested too deeply") from error
    try:
        if isinstance(event, dict):
            assembly.feed(event)
            assembly.usage.total  # noqa: B018  read here, so that it fails here
    except RecursionError as error:
        raise Senseless("an event of the stream is nested too deeply") from error
    except _SHAPES as error:
        raise Senseless("an event of the stream makes no sense") from error


def _no_constant(name: str) -> NoReturn:
    raise Senseless(f"{name} is not JSON")


def whole_of(assembly: Assembly) -> dict[str, Any] | None:
    """Return the message when it is complete, as plain JSON.

    Raises `Senseless` for one that makes no sense.
    """
    if not assembly.whole:
        return None
    try:
        message = assembly.message()
        flaw = flaw_of(message)
        text = "" if flaw else json.dumps(message, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Senseless("it is no JSON") from error
    if flaw:
        raise Senseless(flaw)
    # Half a surrogate pair is a `str` in Python, and no text in a request.
    whole: dict[str, Any] = json.loads(well_formed(text))
    return whole


def frame(event: str | None, data: str) -> bytes:
    """Return an event as it goes over the wire."""
    return f"event: {event}\ndata: {data}\n\n".encode()
