"""A whole Message as the event stream that the API would have sent for it.

A stream is held until it is complete, so what the script's SDK reads is made
from the answer: one delta a block, usage as it ended. Accumulating the events
gives back the Message.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

# What a `message_delta` carries of the message; all of it is null before.
_LATE = ("stop_reason", "stop_sequence", "stop_details", "container")


def stream_of(message: Mapping[str, Any]) -> bytes:
    """Return the bytes of `message`'s event stream."""
    return b"".join(_event(event) for event in _events(message))


def _event(event: Mapping[str, Any]) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    usage = dict(message.get("usage") or {})
    early = {name: None for name in _LATE if name in message}
    begun = usage | {"output_tokens": min(1, usage.get("output_tokens") or 0)}
    start = {**message, "content": [], "stop_reason": None, **early, "usage": begun}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message.get("content") or ()):
        first, deltas = _block(block)
        yield {"type": "content_block_start", "index": index, "content_block": first}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    late = {name: message.get(name) for name in _LATE if name in message}
    ended = {"stop_reason": None, "stop_sequence": None, **late}
    yield {"type": "message_delta", "delta": ended, "usage": usage}
    yield {"type": "message_stop"}


def _block(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts, and what is then added to it."""
    kind = block.get("type")
    if kind == "text":
        first = {**block, "text": ""}
        cited = first.pop("citations", None) or []
        if "citations" in block:
            first["citations"] = [] if block["citations"] is not None else None
        deltas = [{"type": "citations_delta", "citation": one} for one in cited]
        added = {"type": "text_delta", "text": block.get("text", "")}
        return first, [*deltas, added]
    if kind == "thinking":
        thought = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
        signed = {"type": "signature_delta", "signature": block.get("signature", "")}
        return {**block, "thinking": "", "signature": ""}, [thought, signed]
    if "input" in block:
        text = json.dumps(block["input"], ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": text}
        ]
    return dict(block), []
