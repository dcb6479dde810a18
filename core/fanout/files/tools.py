"""The file tools a script gives its agents, confined to one folder.

Names and arguments are those of the SDK's file tools, which models know:
`read`, `glob`, `grep`, and with `write_tools` also `write` and `edit`. What is
behind them is ours: descriptors instead of resolved paths, work in threads,
searches in a child that can be killed, writes that are whole or not there.

A refusal is an answer that the model can act on, so it says what was wrong and
never raises. Every result carries the digests of the files it rests on: of
those read and written, and of those in which a search found something.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from fanout.files import specs
from fanout.files.edit import edit, write
from fanout.files.read import find, grep, read
from fanout.files.safepath import Refused, Root
from fanout.words.tools import Tool, ToolResult

ToThread = Callable[..., Awaitable[Any]]
Operation = Callable[[Root, dict[str, Any]], ToolResult]

_READING: dict[str, Operation] = {"read": read, "glob": find, "grep": grep}
_WRITING: dict[str, Operation] = {"write": write, "edit": edit}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTool:
    """One file tool under one root."""

    name: str
    description: str
    input_schema: dict[str, Any]
    version: str
    root: Root
    operation: Operation
    """Blocking; raises `Refused`."""
    to_thread: ToThread = asyncio.to_thread

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Do it in a thread; a refusal is a result with `is_error`."""
        result: ToolResult = await self.to_thread(self.call, arguments)
        return result

    def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Do it here, blocking."""
        try:
            return self.operation(self.root, arguments)
        except Refused as error:
            return ToolResult(content=f"{self.name}: {error}", is_error=True)
        except Exception as error:  # noqa: BLE001  an agent outlives its tools
            text = f"{self.name}: {type(error).__name__}: {error}"
            return ToolResult(content=text, is_error=True)


def read_tools(root: str | PathLike[str]) -> list[FileTool]:
    """Return `read`, `glob` and `grep` for the files under `root`.

    Secrets, keys, `.git` and run data stay out of reach. Raises `UsageError`
    when `root` is not a folder.
    """
    return _tools(root, _READING)


def write_tools(root: str | PathLike[str]) -> list[FileTool]:
    """Return the read tools and `write` and `edit` for the files under `root`.

    Raises `UsageError` when `root` is not a folder.
    """
    return _tools(root, _READING | _WRITING)


def _tools(
    root: str | PathLike[str], operations: dict[str, Operation]
) -> list[FileTool]:
    folder = Root(root)
    return [
        FileTool(
            name=name,
            description=specs.DESCRIPTIONS[name],
            input_schema=specs.SCHEMAS[name],
            version=specs.VERSION,
            root=folder,
            operation=operation,
        )
        for name, operation in operations.items()
    ]


class WriteOutput:
    """Stands for "a tool that writes this agent's own output".

    A script puts the one `write_output` into `tools`; the engine replaces it
    with what `bind` returns, because only the engine knows whose output it is.
    """

    name = "write_output"
    description = specs.DESCRIPTIONS["write_output"]
    input_schema = specs.SCHEMAS["write_output"]
    version = specs.VERSION

    def bind(self, write: Callable[[str], Awaitable[tuple[str, str]]]) -> Tool:
        """Return the tool of one agent.

        `write(content)` puts the content into the agent's expected output and
        gives its absolute path and SHA-256 hex digest.
        """
        return _BoundOutput(write)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:  # noqa: ARG002
        """Fail: nobody said whose output it is."""
        text = "write_output: this agent has no output to write"
        return ToolResult(content=text, is_error=True)


class _BoundOutput(WriteOutput):
    def __init__(self, write: Callable[[str], Awaitable[tuple[str, str]]]) -> None:
        self._write = write

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        content = arguments.get("content")
        if not isinstance(content, str) or not content:
            text = "write_output: `content` must be a text that is not empty"
            return ToolResult(content=text, is_error=True)
        try:
            path, digest = await self._write(content)
        except Exception as error:  # noqa: BLE001  an agent outlives its tools
            text = f"write_output: {type(error).__name__}: {error}"
            return ToolResult(content=text, is_error=True)
        size = len(content.encode(errors="replace"))
        return ToolResult(
            content=f"the output is written ({size:,} bytes)",
            files_written={path: digest},
        )


write_output = WriteOutput()
"""Give it among an agent's `tools`; the agent then writes its output itself."""
