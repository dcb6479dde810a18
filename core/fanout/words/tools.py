"""What a tool is to an agent, and what a call of it leaves behind.

A tool is named data plus one coroutine. The engine asks nothing else of it, so
our file tools, the SDK's tool functions and plain functions of a script all
become this one shape (`fanout.files.adapters.adapt`).

A result carries the digests of the files the call read and wrote, because a
finished row may be reused only while these files are as that row saw them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call of a tool gave."""

    content: str | list[dict[str, Any]]
    """Text, or content blocks as the Messages API takes them."""
    is_error: bool = False
    """True when the model is to read the content as a failure."""
    files_read: Mapping[str, str] = field(default_factory=dict)
    """Absolute path to the SHA-256 hex digest of the whole file when read."""
    files_written: Mapping[str, str] = field(default_factory=dict)
    """Absolute path to the SHA-256 hex digest of the whole file as written."""


class Tool(Protocol):
    """One tool as the engine uses it."""

    @property
    def name(self) -> str:
        """What the model calls it: 1 to 128 of `[A-Za-z0-9_-]`."""
        ...

    @property
    def description(self) -> str:
        """What the model reads about it."""
        ...

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments, an object."""
        ...

    @property
    def version(self) -> str:
        """Counts into the fingerprint of a partition; empty when not given."""
        ...

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call it; a failure is a result with `is_error`, never an exception."""
        ...
