"""Stream events of one call, put together into the message they describe.

The Messages API streams a message in pieces (`message_start`, blocks and their
deltas, `message_delta`, `message_stop`). `Assembly` is fed those events as
parsed JSON and knows at every moment what has been said and charged. Three
traps shaped it:

- A stream may end without `message_stop` and without an error; only a stop
  reason or `message_stop` makes an answer whole.
- An error event arrives under HTTP status 200.
- Usage in `message_delta` is cumulative: it overwrites, it never adds.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from fanout.words.model import Usage

CHARACTERS_PER_TOKEN = 4
"""Rough figure for text still streaming; the real count ends the stream."""

Text = Callable[[], str]
"""Gives a text as far as it has come; asked for, it is put together."""

_TEXTS = ("text", "thinking")
"""What a block may write, by the name it has in it."""

_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


COUNT_MAX = 10**9
"""More tokens than any call can have: a larger figure is a mistake."""


def read_usage(usage: object) -> Usage:
    """Read a `usage` object; absent or senseless figures count as 0."""
    told = usage if isinstance(usage, Mapping) else {}
    return Usage(*(_count(told.get(name)) for name in _USAGE_FIELDS))


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return int(value) if 0 < value <= COUNT_MAX else 0


def flaw_of(message: Mapping[str, Any]) -> str:
    """Say what of a whole message makes no sense; empty when all of it does.

    Whatever reads an answer later relies on this, wherever the answer came from.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return "its content is no list"
    if not isinstance(message.get("stop_reason"), str | None):
        return "its stop reason is no text"
    flaws = (_flaw_of_block(block) for block in content)
    return next((flaw for flaw in flaws if flaw), "")


def _flaw_of_block(block: object) -> str:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return "a block of it has no type"
    if block["type"] == "text" and not isinstance(block.get("text"), str | None):
        return "a block of text has none"
    if block["type"] == "tool_use" and not (
        isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
    ):
        return "a use of a tool has no id or no name"
    return ""


class Assembly:
    """One streamed message, as far as it has come."""

    def __init__(self) -> None:
        self.started = False
        """`message_start` was seen: the input has been charged."""
        self.stopped = False
        """`message_stop` was seen."""
        self.error: Mapping[str, Any] | None = None
        """The body of an `error` event."""
        self.characters = 0
        """Characters of text, thinking and tool input so far."""
        self.doing = ""
        """The tool whose input is being written, else empty."""
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        """Pieces of a block's text: joined late, since a text may have thousands."""
        self._writing: tuple[int, str] | None = None
        self._usage: dict[str, Any] = {}

    @property
    def whole(self) -> bool:
        """The answer is complete: a later error cannot take it back."""
        return self.stopped or self._message.get("stop_reason") is not None

    @property
    def usage(self) -> Usage:
        """What the service has reported, output estimated where it has not."""
        reported = read_usage(self._usage)
        estimate = self.characters // CHARACTERS_PER_TOKEN
        if self.whole or estimate <= reported.output_tokens:
            return reported
        return Usage(
            reported.input_tokens,
            estimate,
            reported.cache_read_input_tokens,
            reported.cache_creation_input_tokens,
        )

    def saying(self) -> str:
        """Return the text being written, so far; empty where it is a tool's input."""
        parts = self._texts.get(self._writing) if self._writing is not None else None
        if parts is None:
            return ""
        if len(parts) > 1:
            # What was joined once need not be again.
            parts[:] = ["".join(parts)]
        return parts[0]

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take one event; unknown kinds are tolerated, as the API asks."""
        match event.get("type"):
            case "message_start":
                self._begin(event.get("message") or {})
            case "content_block_start":
                self._open_block(event)
            case "content_block_delta":
                self._extend(event.get("index", 0), event.get("delta") or {})
            case "content_block_stop":
                self._close_block(event.get("index", 0))
            case "message_delta":
                self._message.update(event.get("delta") or {})
                self._note_usage(event.get("usage"))
            case "message_stop":
                self.stopped = True
            case "error":
                self.error = event

    def message(self) -> dict[str, Any]:
        """Return the message as the API would have sent it in one piece."""
        for index in {*self._pieces, *(index for index, _ in self._texts)}:
            self._close_block(index)
        content = [self._blocks[index] for index in sorted(self._blocks)]
        return {**self._message, "content": content, "usage": dict(self._usage)}

    def _begin(self, message: Mapping[str, Any]) -> None:
        self.started = True
        self._message = {k: v for k, v in message.items() if k != "content"}
        self._note_usage(message.get("usage"))

    def _note_usage(self, usage: object) -> None:
        told = usage.items() if isinstance(usage, Mapping) else ()
        self._usage.update({name: value for name, value in told if value is not None})

    def _open_block(self, event: Mapping[str, Any]) -> None:
        block = dict(event.get("content_block") or {})
        index = event.get("index", 0)
        self._blocks[index] = block
        for name in _TEXTS:
            self._texts.pop((index, name), None)
        self.doing = str(block.get("name", "")) if "input" in block else ""
        self._writing = None

    def _extend(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                self._append(index, "text", delta.get("text"))
            case "thinking_delta":
                self._append(index, "thinking", delta.get("thinking"))
            case "signature_delta":
                block["signature"] = delta.get("signature")
            case "input_json_delta":
                piece = str(delta.get("partial_json") or "")
                self._pieces.setdefault(index, []).append(piece)
                self.characters += len(piece)
            case "citations_delta":
                block["citations"] = [
                    *(block.get("citations") or []),
                    delta.get("citation"),
                ]

    def _append(self, index: int, name: str, text: object) -> None:
        piece = str(text or "")
        self._writing = (index, name)
        parts = self._texts.get(self._writing)
        if parts is None:
            begun = str(self._blocks[index].get(name) or "")
            parts = self._texts[self._writing] = [begun]
        parts.append(piece)
        self.characters += len(piece)

    def _close_block(self, index: int) -> None:
        for name in _TEXTS:
            parts = self._texts.pop((index, name), None)
            if parts is not None:
                self._blocks[index][name] = "".join(parts)
        pieces = self._pieces.pop(index, None)
        self.doing = ""
        if pieces is None or index not in self._blocks:
            return
        text = "".join(pieces)
        if not text:
            return
        try:
            self._blocks[index]["input"] = json.loads(text)
        except ValueError:
            # Cut by max_tokens inside the input: unusable, and said to be so.
            self._blocks[index]["input"] = {}
            self._blocks[index]["cut_input"] = True
