"""What is known of a request by the earlier ones that it continues.

A script that keeps its own conversation sends the whole of it with every request.
The part up to the last answer was measured by the call that gave that answer: it
is known to the token, and was cached if the script marked it so. Only what came
since has to be estimated. Requests are matched by content, so it does not matter
which client, task or row they come from.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanout.decide.fingerprint import canonical
from fanout.words.model import Usage

KEPT = 20_000
"""Conversations remembered; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a request before it is sent."""

    turn: int
    """From 1."""
    tokens: int
    """Of the conversation up to and with its last answer."""
    cached: int
    """Of these, expected to be read from the prompt cache."""
    new_bytes: int
    """What no earlier call has measured."""
    conversation: str = ""
    """The name that its first request was remembered by."""


class Histories:
    """Measured conversations, by content."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def look_up(self, body: Mapping[str, Any]) -> Known:
        """Return what is known of a request."""
        messages = _messages(body)
        last = max(
            (n for n, m in enumerate(messages) if m.get("role") == "assistant"),
            default=None,
        )
        if last is not None:
            known = self._known.get(_mark(body, messages[:last]))
            if known is not None:
                new = len(canonical(messages[last + 1 :]))
                return Known(
                    known.turn + 1, known.tokens, known.cached, new, known.conversation
                )
        whole = {name: value for name, value in body.items() if name != "stream"}
        return Known(1, 0, 0, len(canonical(whole)))

    def learn(
        self,
        body: Mapping[str, Any],
        turn: int,
        usage: Usage,
        conversation: str = "",
    ) -> None:
        """Remember what an answered request has measured."""
        held = usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        mark = _mark(body, _messages(body))
        self._known[mark] = Known(turn, usage.total, held, 0, conversation)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list):
        return []
    return [m for m in messages if isinstance(m, Mapping)]


def _mark(body: Mapping[str, Any], messages: Sequence[Any]) -> bytes:
    """Name a beginning; where breakpoints stand in it does not matter."""
    parts = [body.get("model"), body.get("system"), body.get("tools"), list(messages)]
    return hashlib.sha256(canonical(_bare(parts))).digest()


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _bare(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value
