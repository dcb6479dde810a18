"""A large part of a fact that was left on disk: what stands in its place.

Folding needs no payloads, so a journal is read without them; whoever wants one
asks the blobs beside the journal for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BlobRef:
    """Names a payload by its content."""

    sha256: str
    size: int
    turns: int = 0
    """Answers among the entries, where the payload is a conversation."""


def turns_in(entries: Sequence[Any] | BlobRef) -> int:
    """How many turns a conversation's entries hold: one for each answer."""
    if isinstance(entries, BlobRef):
        return entries.turns
    return sum(1 for e in entries if isinstance(e, dict) and e.get("kind") == "answer")
