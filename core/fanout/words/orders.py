"""What the script asks of the engine, and what comes back.

The script's side and the engine run on different threads. Orders cross one way
and `RowOutcome`s the other; both are complete in themselves and never changed
after they were handed over.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fanout.words.budgets import Budget
from fanout.words.model import MissingKind, RowId, Usage
from fanout.words.tools import Tool

Validate = Callable[[bytes], Any]
"""Parses and checks an output; raises ValueError with a text for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrder:
    """One agent, as it is scheduled."""

    row: RowId
    prompt: str
    system: str | None
    inputs: str
    """The rendered inputs, completeness statements included; empty for none."""
    input_digests: tuple[str, ...]
    """Digests of the inputs, for the fingerprint."""
    reads: int = 0
    """Bytes of the files that the agent is to read with its tools."""
    content: tuple[int, ...] = ()
    """What the inputs are made of (`fanout.decide.parts.content`)."""
    reading: tuple[int, ...] = ()
    """What those files are likely to hold."""
    schema: Mapping[str, Any] | None
    """JSON schema of the output; None asks for text."""
    validate: Validate | None
    tools: tuple[Tool, ...]
    writes_output: bool = False
    """True when `write_output` is among the agent's tools."""
    output: str | None
    model: str | None
    max_tokens: int | None
    max_turns: int | None
    budget: Budget = Budget()
    """Of this agent, over all lives of the run; no part of what it is asked."""
    max_seconds: float | None = None
    """Seconds of work after which no new turn begins."""
    lane: str | None = None
    """`live` or `batch`; None is what the run was told."""
    sources: tuple[RowId, ...] = ()
    """Rows whose results are among the inputs, missing ones included."""
    holes: tuple[RowId, ...] = ()
    """Those of them that were missing."""
    upstream: str | None = None
    """Set when an input is missing as a whole: the reason; nothing is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOrder:
    """One HTTP request that the script made through `client()`."""

    row: RowId | None
    """The client's own row; None gives the call a row `call-0007` of `phase`."""
    phase: str
    path: str
    """Path and query, for instance `/v1/messages?beta=true`."""
    headers: Mapping[str, str]
    """Headers worth passing on (`anthropic-*`), never credentials."""
    body: Mapping[str, Any]
    sink: Callable[[bytes], None] | None = None
    """Takes the stream's bytes as they come (`live=True`); else held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """How a row ended, for the script that waits for it."""

    row: RowId
    done: bool
    value: Any = None
    """Text or plain JSON; the script's side makes schema objects of it."""
    usage: Usage = Usage()
    path: str | None = None
    """Absolute path of the output file."""
    attempts: int = 0
    reused: bool = False
    kind: MissingKind | None = None
    reason: str = ""
    kept: Any = None
    """What a missing row produced nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReply:
    """The answer to a `ClientOrder`, as the script's SDK should see it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: Mapping[str, Any] | None = None
    """The whole Message for a 200."""
    body: str = ""
    """The error body for any other status."""


class EnginePort(Protocol):
    """The engine as the script's thread sees it; every method is thread-safe.

    Callbacks are called on the engine's thread and must only hand over
    (`loop.call_soon_threadsafe`).
    """

    def enter_phase(
        self, phase: str, allow_missing: str | None, budget: Budget
    ) -> None:
        """Declare a phase, with its tolerance and its budget where stated."""

    def expect(self, rows: Sequence[RowId]) -> None:
        """Declare rows ahead; they are missing until they were scheduled and done."""

    def schedule(
        self,
        orders: Sequence[AgentOrder],
        on_end: Callable[[RowOutcome], None],
        on_reopen: Callable[[RowId], None],
    ) -> None:
        """Work on these rows.

        `on_end` is called at each row's end; `on_reopen` when a missing row was
        requeued, so that whoever still waits waits for it again.
        """

    def call(self, order: ClientOrder, on_reply: Callable[[ClientReply], None]) -> None:
        """Send one request of `client()` under admission."""

    def finish_missing(self, row: RowId, kind: MissingKind, reason: str) -> None:
        """End a row that was declared and will not be scheduled."""

    def withdraw(self, rows: Sequence[RowId]) -> None:
        """Rows that were declared ahead are known not to come."""

    def cancel_call(self, order: ClientOrder) -> None:
        """The script no longer waits for this request."""

    def note(self, source: str, text: str) -> None:
        """Put a line into the log."""

    def quiet(self, number: int) -> None:
        """The script waits; the number is the question's that this answers."""
