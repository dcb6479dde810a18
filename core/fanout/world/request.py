"""One call that a row asks for, and the API as calls see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fanout.decide.admission.retry import Tries
from fanout.words.model import MissingKind, Need, RowId, Usage
from fanout.words.outcome import Answered, Outcome


class Sender(Protocol):
    """The API as calls see it."""

    async def send(
        self,
        body: Mapping[str, Any],
        watcher: Any,
        *,
        path: str = "/v1/messages",
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Send one call and see it to its end."""
        ...

    async def renew(self, text: str) -> None:
        """Cut what is under way, for this reason, and connect anew."""
        ...


@dataclass(slots=True, kw_only=True)
class Request:
    """One call that a row asks for."""

    row: RowId
    model: str
    pool: str
    turn: int
    body: Callable[[], Mapping[str, Any]]
    """Builds the body when it is sent, so that queued rows hold none."""
    new_bytes: int
    known_input: int
    """Input tokens of the conversation, as the last call measured them."""
    cached: int
    """Tokens expected to be read from the prompt cache."""
    max_tokens: int
    on_answer: Callable[["Request", Answered, int], None]
    """Given the answer and the number of its record."""
    on_final: Callable[["Request", MissingKind, str, Outcome | None], None]
    """The call cannot succeed; nothing more will be tried."""
    prefix: str | None = None
    """Names the prompt prefix it shares with others; None where none is cached."""
    path: str = "/v1/messages"
    headers: Mapping[str, str] = field(default_factory=dict)
    sink: Callable[[bytes], None] | None = None
    tries: Tries = field(default_factory=Tries)
    need: Need | None = None
    live: bool = False
    """Somebody has read a part of the stream: it cannot be begun again."""
    answer: Callable[[Answered], Any] = lambda outcome: outcome.message["content"]
    """What of an answer is journaled: its content blocks."""

    @property
    def worst(self) -> Usage:
        """The most this call can use: all it may read, all it may write."""
        assert self.need is not None, "not asked yet"
        return self.need.worst
