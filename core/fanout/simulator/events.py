"""An answer as server-sent events, each with the output tokens it stands for.

What a client is told is what it is charged: the token that `message_start` tells of
comes with it, and all pieces add up to the figure of `message_delta`. Arguments of a
tool call arrive key by key, beginning with an empty piece, as the service sends them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from fanout.simulator import chance, tokens
from fanout.simulator.answer import Answer, Part
from fanout.simulator.cache import Split

_KEY = re.compile(r'(?<=[,{])(?=\s*"[^"\\]{1,64}"\s*:)')
"""Where arguments are cut: between two characters, so that none is lost."""

_TOLD_AT_START = 1
"""Output tokens that `message_start` speaks of."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One event on the wire and the output tokens produced with it."""

    name: str
    data: bytes
    tokens: int = 0


def event(name: str, payload: dict[str, Any]) -> bytes:
    """One event: its name, its JSON, an empty line."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


PING = Piece("ping", event("ping", {"type": "ping"}))


def usage(
    split: Split, output: int, thinking: int | None = None, tier: str = "standard"
) -> dict[str, Any]:
    """The `usage` object; `thinking` is told at the end only."""
    told: dict[str, Any] = {
        "input_tokens": split.uncached,
        "cache_creation_input_tokens": split.created,
        "cache_read_input_tokens": split.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": split.written.get("5m", 0),
            "ephemeral_1h_input_tokens": split.written.get("1h", 0),
        },
        "output_tokens": output,
        "service_tier": tier,
    }
    if thinking is not None:
        told["output_tokens_details"] = {"thinking_tokens": thinking}
    return told


def message(
    answer: Answer,
    *,
    message_id: str,
    model: str,
    split: Split,
    tier: str = "standard",
) -> dict[str, Any]:
    """The whole answer as the body of a plain response, or as a batch's result."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_block(part) for part in answer.parts],
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "stop_details": answer.stop_details,
        "usage": usage(split, answer.tokens, answer.thinking_tokens, tier),
    }


def _block(part: Part) -> dict[str, Any]:
    if part.kind == "text":
        return {"type": "text", "text": part.text, "citations": None}
    if part.kind == "thinking":
        return {
            "type": "thinking",
            "thinking": part.text,
            "signature": signature(part),
        }
    return {
        "type": "tool_use",
        "id": part.id,
        "name": part.name,
        "input": _arguments(part.text),
    }


def _arguments(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        # A call cut by max_tokens has no usable arguments.
        return {}
    return parsed if isinstance(parsed, dict) else {}


def signature(part: Part) -> str:
    """What seals a thinking block."""
    return "sim" + chance.letters(48, part.text)


def stream(
    answer: Answer, *, message_id: str, model: str, split: Split, delta_tokens: int
) -> Iterator[Piece]:
    """All events of an answer, in order."""
    start = message(Answer(parts=()), message_id=message_id, model=model, split=split)
    start |= {"stop_reason": None, "usage": usage(split, _TOLD_AT_START)}
    yield Piece(
        "message_start",
        event("message_start", {"type": "message_start", "message": start}),
        _TOLD_AT_START,
    )
    yield PING
    charged, said = _TOLD_AT_START, 0
    for index, part in enumerate(answer.parts):
        for piece in _part(index, part, delta_tokens):
            said += piece.tokens
            yield replace(piece, tokens=max(0, said - charged))
            charged = max(charged, said)
    ending = {
        "type": "message_delta",
        "delta": {
            "stop_reason": answer.stop_reason,
            "stop_sequence": answer.stop_sequence,
            "stop_details": answer.stop_details,
        },
        "usage": usage(split, answer.tokens, answer.thinking_tokens),
    }
    rest = answer.tokens - charged
    yield Piece("message_delta", event("message_delta", ending), rest)
    yield Piece("message_stop", event("message_stop", {"type": "message_stop"}))


_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


def _part(index: int, part: Part, delta_tokens: int) -> Iterator[Piece]:
    opening: dict[str, Any] = _EMPTY.get(part.kind) or {
        "type": "tool_use",
        "id": part.id,
        "name": part.name,
        "input": {},
    }
    start = {
        "type": "content_block_start",
        "index": index,
        "content_block": opening,
    }
    yield Piece(
        "content_block_start", event("content_block_start", start), part.overhead
    )
    yield from _deltas(index, part, delta_tokens)
    if part.kind == "thinking":
        sealed = {"type": "signature_delta", "signature": signature(part)}
        yield _delta(index, sealed, 0)
    stop = {"type": "content_block_stop", "index": index}
    yield Piece("content_block_stop", event("content_block_stop", stop))


_FIELDS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}


def _deltas(index: int, part: Part, delta_tokens: int) -> Iterator[Piece]:
    kind, key = _FIELDS[part.kind]
    size = tokens.characters(delta_tokens)
    if part.kind == "tool_use":
        yield _delta(index, {"type": kind, key: ""}, 0)
        chunks = _by_keys(part.text, size)
    else:
        chunks = _slices(part.text, size)
    seen = done = 0
    for chunk in chunks:
        # Rounding up happens once for the part, not once for each piece.
        seen += len(chunk.encode("utf-8", "surrogatepass"))
        total = (10 * seen + 35) // 36
        yield _delta(index, {"type": kind, key: chunk}, total - done)
        done = total


def _delta(index: int, delta: dict[str, Any], count: int) -> Piece:
    payload = {"type": "content_block_delta", "index": index, "delta": delta}
    return Piece("content_block_delta", event("content_block_delta", payload), count)


def _by_keys(text: str, size: int) -> Iterator[str]:
    for member in _KEY.split(text):
        yield from _slices(member, size)


def _slices(text: str, size: int) -> Iterator[str]:
    for at in range(0, len(text), size):
        yield text[at : at + size]
