"""Whatever a script gives as a tool, as a `Tool` that cannot hurt its agent.

Three kinds are known by their shape, so that nothing here imports an SDK: our
own (they have `run`), the SDK's tool functions (`to_dict` and `call`), and plain
functions, whose schema comes from their annotations.
How they are called is `fanout.files.safecall`'s business.
"""

import asyncio
import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from fanout.errors import UsageError
from fanout.files.safecall import Call, Guarded, Made, ToThread, run_in_daemon
from fanout.files.tools import FileTool, WriteOutput
from fanout.words.tools import Tool

TIMEOUT_SECONDS = 600.0

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def adapt(
    tool: Any, *, to_thread: ToThread | None = None, timeout: float = TIMEOUT_SECONDS
) -> Tool:
    """Return `tool` as the engine uses it.

    Takes our own tools, the SDK's tool functions and plain functions with
    annotations, sync or async. One call may take `timeout` seconds; then the
    model is told, and a thread is left to itself. `to_thread(function, *args)`
    replaces the daemon thread. Raises `UsageError` for anything else.
    """
    if isinstance(tool, FileTool | WriteOutput | Guarded):
        return tool
    if callable(getattr(tool, "run", None)) and hasattr(tool, "input_schema"):
        made = _ours(tool)
    elif callable(getattr(tool, "call", None)) and hasattr(tool, "to_dict"):
        made = _sdk(tool)
    elif callable(tool):
        made = _function(tool)
    else:
        raise UsageError(
            f"{tool!r} is not a tool",
            hint="give a function with annotations, a tool function of the SDK, "
            "or one of read_tools, write_tools and write_output",
        )
    if not _NAME.fullmatch(made.name):
        raise UsageError(
            f"`{made.name}` cannot be the name of a tool",
            hint="use 1 to 128 letters, digits, `_` and `-`",
        )
    made = replace(made, call=_at_home(made.call))
    return Guarded(made, to_thread or run_in_daemon, timeout)


def _at_home(call: Call) -> Call:
    """Have a coroutine run on the loop it was given on, while that runs.

    An async tool may use what belongs to the script's loop: a lock, a session. A
    script that blocks its loop holds up such tools, and nothing else.
    """
    if not inspect.iscoroutinefunction(call):
        return call
    try:
        home = asyncio.get_running_loop()
    except RuntimeError:
        return call

    async def run(arguments: dict[str, Any]) -> Any:
        if home is asyncio.get_running_loop() or not home.is_running():
            return await call(arguments)
        future = asyncio.run_coroutine_threadsafe(call(arguments), home)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RuntimeError("the script ended while the tool ran") from None

    return run


def _ours(tool: Any) -> Made:
    return Made(
        name=str(tool.name),
        description=str(getattr(tool, "description", "")),
        input_schema=dict(tool.input_schema),
        version=_version(tool),
        call=tool.run,
    )


def _version(tool: Any) -> str:
    return str(getattr(tool, "version", "") or "")


def _sdk(tool: Any) -> Made:
    described = tool.to_dict()
    if "input_schema" not in described:
        raise UsageError(
            f"`{described.get('type')}` is a built-in tool and cannot be used here",
            hint="only tools that bring their own input schema can be used",
        )
    return Made(
        name=str(tool.name),
        description=str(described.get("description", "")),
        input_schema=dict(described["input_schema"]),
        version=_version(tool),
        call=tool.call,
    )


def _function(function: Callable[..., Any]) -> Made:
    # Slow to import, and few scripts give plain functions.
    from pydantic import TypeAdapter, validate_call  # noqa: PLC0415
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    name = str(getattr(function, "__name__", type(function).__name__))
    try:
        checked = validate_call(function)
        schema = TypeAdapter[Any](cast("Any", checked)).json_schema()
    except (PydanticUserError, NameError, TypeError) as error:
        raise _unusable(name, str(error).split("\n", 1)[0]) from error
    if schema.get("type") != "object":
        raise _unusable(name, "a positional-only or `*` parameter")
    call: Call
    if inspect.iscoroutinefunction(function):

        async def call_async(arguments: dict[str, Any]) -> Any:
            return await checked(**arguments)

        call = call_async
    else:

        def call_sync(arguments: dict[str, Any]) -> Any:
            return checked(**arguments)

        call = call_sync
    return Made(
        name=name,
        description=inspect.getdoc(function) or name,
        input_schema=schema,
        version=_version(function),
        call=call,
    )


def _unusable(name: str, why: str) -> UsageError:
    return UsageError(
        f"the function `{name}` cannot be a tool: {why}",
        hint="give every parameter a name and an annotation that has a JSON schema",
    )
