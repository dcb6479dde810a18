"""A stranger's code, called so that whatever it does ends in a result.

What blocks runs in a daemon thread of its own: a tool that hangs holds up
neither the pool that everything else uses nor the end of the process. Whatever
it raises, `SystemExit` and `KeyboardInterrupt` too, is a short text for the
model. Only a cancellation of the agent itself passes.
"""

import asyncio
import contextvars
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fanout.words.tools import ToolResult

ToThread = Callable[..., Awaitable[Any]]
Call = Callable[[dict[str, Any]], Any]

MAX_TEXT = 400_000
"""Characters of a result that go to the model; the rest is cut, and said."""

MAX_BLOCKS = 16 * 1024 * 1024
"""Characters of content blocks, images included; a request may have 32 MB."""
MAX_VALUES = 100_000

_MAX_ERROR = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A tool's description and the call behind it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    version: str
    call: Call
    """Sync or async; may raise anything."""


class Guarded:
    """A tool whose calls end in a result, whatever happens in them."""

    def __init__(self, made: Made, to_thread: ToThread, timeout: float) -> None:
        self.name = made.name
        self.description = made.description
        self.input_schema = made.input_schema
        self.version = made.version
        self._call = made.call
        self._to_thread = to_thread
        self._timeout = timeout

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call it; any exception becomes a result with `is_error`."""
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return await self._outcome(arguments)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return failure(self.name, error)
        except BaseException as error:  # noqa: BLE001  an agent outlives its tools
            if isinstance(error, TimeoutError) and limit.expired():
                text = f"{self.name}: no answer within {self._timeout:g} seconds"
                return ToolResult(content=text, is_error=True)
            return failure(self.name, error)

    async def _outcome(self, arguments: dict[str, Any]) -> ToolResult:
        if inspect.iscoroutinefunction(self._call):
            given = await self._call(arguments)
        else:
            given = await self._to_thread(self._caught, arguments)
        if inspect.isawaitable(given):
            given = await given
        return as_result(given)

    def _caught(self, arguments: dict[str, Any]) -> Any:
        # Caught in the thread: a future takes no StopIteration, a loop no exit.
        try:
            return self._call(arguments)
        except BaseException as error:  # noqa: BLE001  as above
            return failure(self.name, error)


def _is_cancelled() -> bool:
    """Whether it is the agent that is cancelled, not something within the tool."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def run_in_daemon(function: Callable[..., Any], *arguments: Any) -> Any:
    """Await a blocking call in a daemon thread of its own, in this context."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(given: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(given)
        else:
            done.set_exception(error)

    def work() -> None:
        given, failed = None, None
        try:
            given = context.run(function, *arguments)
        except BaseException as error:  # noqa: BLE001  raised where it is awaited
            failed = error
        # The loop may be gone: nobody waits for this any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, given, failed)

    name = f"tool {getattr(function, '__name__', '')}"
    threading.Thread(target=work, name=name, daemon=True).start()
    return await done


def failure(name: str, error: BaseException) -> ToolResult:
    """Put an exception into a result; an SDK `ToolError` brings its content."""
    content = getattr(error, "content", None)
    if isinstance(content, str | list | tuple):
        given = as_result(content)
        return ToolResult(content=given.content, is_error=True)
    text = f"{name}: {type(error).__name__}: {_message(error)}"
    return ToolResult(content=_cut(text[:_MAX_ERROR]), is_error=True)


def _message(error: BaseException) -> str:
    cause = error.__cause__
    try:
        return f"{error} ({cause})" if cause is not None else str(error)
    except Exception:  # noqa: BLE001  its __str__ is a stranger's, too
        return "(an error without a text)"


def as_result(given: Any) -> ToolResult:
    """Turn what a tool returned into a result.

    A text and content blocks stay; pydantic objects and plain data become JSON.
    """
    if isinstance(given, ToolResult):
        return replace(given, content=_bounded(given.content))
    if isinstance(given, str):
        return ToolResult(content=_cut(given))
    if given is None:
        return ToolResult(content="done")
    items = _listed(given)
    if _are_blocks(items):
        return ToolResult(content=_bounded(items))
    if callable(dump := getattr(given, "model_dump_json", None)):
        return ToolResult(content=_cut(str(dump())))
    return ToolResult(
        content=_cut(json.dumps(items or given, default=str, ensure_ascii=False))
    )


def _bounded(content: Any) -> Any:
    """Return content of a size that a request can hold; what is beyond it is said."""
    if isinstance(content, str):
        return _cut(content)
    size = _size(content)
    if size <= MAX_BLOCKS:
        return content
    return f"[left out: content blocks of {size:,} bytes, more than {MAX_BLOCKS:,}]"


def _size(value: Any) -> int:
    """Characters in all texts of a value, roughly; whatever it is made of."""
    total, waiting, seen = 0, [value], 0
    while waiting and seen < MAX_VALUES:
        seen += 1
        item = waiting.pop()
        if isinstance(item, str | bytes):
            total += len(item)
        elif isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    return total if not waiting else MAX_BLOCKS + 1


def _listed(given: Any) -> list[Any]:
    """Lists, tuples and generators of blocks; anything else is none."""
    if isinstance(given, list | tuple) or inspect.isgenerator(given):
        return list(given)
    return []


def _are_blocks(items: list[Any]) -> bool:
    return bool(items) and all(
        isinstance(item, dict) and isinstance(item.get("type"), str) for item in items
    )


def _cut(text: str) -> str:
    # Half a surrogate pair is a `str` in Python, and no text in a request.
    text = text.encode(errors="replace").decode()
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[cut: {MAX_TEXT:,} of {len(text):,} characters]"
