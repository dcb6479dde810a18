"""The prompt prefix that agents share, laid out so that the service can cache it.

Agents of a phase usually have the same tools and the same system text. What is
read from the cache is not charged to the input bucket, so one agent writes the
prefix and the others wait until it can be read: an entry is readable once the
writer's response has begun, and a cold start of forty agents at once would pay
for it forty times.

Below the model's minimum nothing is cached, without a word; then no agent waits.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanout.decide.models import facts_of

BYTES_PER_TOKEN = 3.6
"""Of system texts and tool definitions; low, so that a near miss is not waited for."""
MARK = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix that is worth waiting for."""

    id: str
    """Equal for equal prefixes of one model."""
    tokens: int
    """Estimated, and not above what it is."""


def prefix_of(opening: Mapping[str, Any]) -> Prefix | None:
    """Return the prefix of an agent's requests; None when it would not be cached."""
    shared = (opening.get("tools") or [], opening.get("system") or "")
    data = json.dumps(shared, sort_keys=True, ensure_ascii=False).encode(
        errors="replace"
    )
    tokens = int(len(data) / BYTES_PER_TOKEN)
    if tokens < facts_of(opening["model"]).cache_from:
        return None
    digest = hashlib.sha256(opening["model"].encode() + b"\0" + data)
    return Prefix(digest.hexdigest()[:16], tokens)


def mark_prefix(body: dict[str, Any], opening: Mapping[str, Any]) -> None:
    """Set a breakpoint at the end of the prefix, where there is one to cache."""
    if prefix_of(opening) is None:
        return
    if body.get("system"):
        text = {"type": "text", "text": body["system"], "cache_control": MARK}
        body["system"] = [text]
    else:
        *before, last = body["tools"]
        body["tools"] = [*before, {**last, "cache_control": MARK}]
