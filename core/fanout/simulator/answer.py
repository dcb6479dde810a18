"""What the model says, before it is put on the wire.

An answer is a row of parts and a stop reason. Cutting it (by `max_tokens` or a
stop sequence) happens here, so that a streamed and a plain response of the same
request are the same answer.
"""

from dataclasses import dataclass, replace
from typing import Any

from fanout.simulator import tokens

TOOL_USE_TOKENS = 10
"""What a call costs beside its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One content block; `text` holds a tool call's arguments as JSON."""

    kind: str
    """text, thinking or tool_use."""
    text: str
    name: str = ""
    """The tool's name."""
    id: str = ""
    """`toolu_…`, of tool calls."""

    @property
    def overhead(self) -> int:
        """Tokens beside the text."""
        return TOOL_USE_TOKENS if self.kind == "tool_use" else 0

    @property
    def tokens(self) -> int:
        """Output tokens of the part."""
        return tokens.text_tokens(self.text) + self.overhead


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Parts in order, and why the model stopped."""

    parts: tuple[Part, ...]
    stop_reason: str = "end_turn"
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None

    @property
    def tokens(self) -> int:
        """Output tokens; even nothing costs one."""
        return max(1, sum(part.tokens for part in self.parts))

    @property
    def thinking_tokens(self) -> int:
        """Those of them that are thinking."""
        return sum(part.tokens for part in self.parts if part.kind == "thinking")


def text_answer(text: str) -> Answer:
    """An answer of one text; none if it is empty."""
    return Answer(parts=(Part(kind="text", text=text),) if text else ())


def stopped_at(answer: Answer, sequences: list[str]) -> Answer:
    """The answer up to the first of the stop sequences in its text."""
    for at, part in enumerate(answer.parts):
        if part.kind != "text":
            continue
        found = [(part.text.find(stop), stop) for stop in sequences if stop]
        hits = sorted(hit for hit in found if hit[0] >= 0)
        if hits:
            place, stop = hits[0]
            kept = (*answer.parts[:at], replace(part, text=part.text[:place]))
            return Answer(parts=kept, stop_reason="stop_sequence", stop_sequence=stop)
    return answer


def cut_to(answer: Answer, limit: int) -> Answer:
    """The answer within `limit` output tokens; a cut one says `max_tokens`."""
    if answer.tokens <= limit:
        return answer
    kept: list[Part] = []
    left = limit
    for part in answer.parts:
        if part.tokens > left:
            room = max(0, left - part.overhead)
            kept.append(replace(part, text=head(part.text, room)))
            break
        kept.append(part)
        left -= part.tokens
    return Answer(parts=tuple(kept), stop_reason="max_tokens")


def head(text: str, limit: int) -> str:
    """The longest beginning of a text within `limit` tokens."""
    raw = text.encode("utf-8", "surrogatepass")[: limit * 36 // 10]
    return raw.decode("utf-8", "ignore")
