"""One call that a row asks for, and the API as calls see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from fanout.decide.admission.account import Account
from fanout.decide.admission.line import Ask, Ticket
from fanout.decide.admission.order import priority
from fanout.decide.admission.paths import Past, Paths
from fanout.decide.admission.retry import Retry, Tries, Verdict, next_try
from fanout.words.model import MissingKind, Need, RowId, Usage
from fanout.words.outcome import Answered, Outcome

GOES_ON = frozenset({"tool_use", "pause_turn"})
"""Stop reasons after which the conversation has another call."""

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


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
    conversation: str = ""
    """Names the conversation it belongs to, where that is not its row's own."""
    prefix: str | None = None
    """Names the prompt prefix it shares with others; None where none is cached."""
    path: str = "/v1/messages"
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    sink: Callable[[bytes], None] | None = None
    tries: Tries = Tries()
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

    def deliver(self) -> Callable[[bytes], None] | None:
        """Return where a live stream goes; noting that it has begun."""
        sink = self.sink
        if sink is None:
            return None

        def deliver(chunk: bytes) -> None:
            self.live = True
            sink(chunk)

        return deliver

    def asks(self) -> Ask:
        """Return what is known of the call before it is sent."""
        return Ask(
            model=self.model,
            phase=self.row.phase,
            turn=self.turn,
            new_bytes=self.new_bytes,
            known_input=self.known_input,
            cached=self.cached,
            max_tokens=self.max_tokens,
        )

    def past(self, paths: Paths, now: float) -> Past:
        """Return what its conversation has shown; `now` is monotonic seconds."""
        return paths.asked(
            self.conversation or str(self.row),
            phase=self.row.phase,
            turns_done=self.turn - 1,
            now=now,
        )

    def show(self, paths: Paths, outcome: Answered, now: float) -> None:
        """Let an answer tell what it does of how long such conversations are."""
        paths.answered(
            self.conversation or str(self.row),
            phase=self.row.phase,
            turn=self.turn,
            seconds=outcome.seconds,
            goes_on=outcome.message.get("stop_reason") in GOES_ON,
            now=now,
        )

    def ticket(self, need: Need, *, order: int, past: Past, ready: float) -> Ticket:
        """Its place in the line; `ready` is the second before which it has none."""
        return Ticket(
            row=self.row,
            pool=self.pool,
            need=need,
            priority=priority(
                throttled=self.tries.limits + self.tries.troubles > 0,
                turns_done=self.turn - 1,
                order=order,
                past=past,
            ),
            ask=self.asks(),
            prefix=self.prefix,
            ready=ready,
        )

    def failed(
        self,
        verdict: Verdict,
        account: Account,
        now: float,
        chance: Callable[[], float],
    ) -> Retry:
        """Note a failure, and say whether and when the call is tried again."""
        open_seconds = account.open_seconds(now)
        self.tries = self.tries.after(verdict, open_seconds)
        return next_try(
            verdict,
            self.tries,
            now,
            chance,
            open_seconds=open_seconds,
            away=account.breaker.open,
        )
