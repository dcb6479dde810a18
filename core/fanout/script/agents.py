"""`agent()`: one unit of work, one partition, one row.

What can be wrong with it is said where it is written: key, output, schema, tools
and inputs are checked and rendered at once. Phase, and that the key is unique in
it, are settled where it is scheduled: at its first `await`, or by `parallel` or
`pipeline`. All agents that are awaited in one tick of the loop (`gather`, a
`TaskGroup`) are sent together, or none of them when two have the same key.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from fanout.decide.batching import BATCH, LANES
from fanout.errors import UsageError
from fanout.script import inputs as rendering
from fanout.script.awaiting import Work
from fanout.script.naming import (
    checked_amount,
    checked_budget,
    checked_count,
    checked_key,
    checked_output,
)
from fanout.script.phases import current_phase
from fanout.script.results import Done, Missing
from fanout.script.schemas import Schema, prepare
from fanout.script.session import Session, current, current_or_none
from fanout.words.clean import well_formed
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import AgentOrder, RowOutcome

if TYPE_CHECKING:
    from fanout.script.tickets import Ticket
    from fanout.words.tools import Tool

T = TypeVar("T")


class Agent(Work[Done[T] | Missing], Generic[T]):
    """Awaiting it runs it and gives its `Done` or `Missing`, every time the same."""

    def __init__(self, order: AgentOrder, schema: Schema | None) -> None:
        """Its row is of the phase in which it is made, until it is scheduled."""
        super().__init__()
        self._order = order
        self._schema = schema
        self._ticket: Ticket | None = None
        self._ended: Done[T] | Missing | None = None
        self._number: int | None = None
        if (session := current_or_none()) is not None:
            self._number = session.built(order.row)

    def __repr__(self) -> str:
        return f"<agent {self.key}>"

    @property
    def key(self) -> str:
        """Its key."""
        return self._order.row.key

    @property
    def ticket(self) -> "Ticket | None":
        """Where its row stands; None before it is scheduled."""
        return self._ticket

    def order(self, phase: str) -> AgentOrder:
        """Return its order in `phase`."""
        if self._order.row.phase != phase:
            self._order = replace(self._order, row=RowId(phase, self.key))
        return self._order

    def start(self, session: Session, ticket: "Ticket") -> None:
        """Its row was claimed."""
        session.started(self._number)
        self._ticket = ticket

    def ended(self, outcome: RowOutcome) -> "Done[T] | Missing":
        """Its result for the script; the first one stays."""
        if self._ended is None:
            self._ended = self._result(outcome)
        return self._ended

    async def _run(self) -> "Done[T] | Missing":
        if self._ended is not None:
            return self._ended
        session = current()
        session.proceed()
        if self._ticket is None:
            self.start(session, session.enlist(self.order(current_phase())))
        assert self._ticket is not None
        (outcome,) = await session.collect([self._ticket])
        return self.ended(outcome)

    def _result(self, outcome: RowOutcome) -> "Done[T] | Missing":
        phase, key = outcome.row
        if not outcome.done:
            return Missing(
                key=key,
                phase=phase,
                usage=outcome.usage,
                attempts=outcome.attempts,
                kind=outcome.kind or MissingKind.NO_OUTPUT,
                reason=outcome.reason,
                kept=outcome.kept,
            )
        schema = self._schema
        return Done(
            key=key,
            phase=phase,
            usage=outcome.usage,
            attempts=outcome.attempts,
            value=outcome.value if schema is None else schema.load(outcome.value),
            path=None if outcome.path is None else Path(outcome.path),
            reused=outcome.reused,
        )


@overload
def agent(
    prompt: str,
    *,
    key: str,
    inputs: Any = None,
    schema: None = None,
    tools: Iterable[Any] = (),
    output: str | None = None,
    model: str | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    max_turns: int | None = None,
    max_tokens_total: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    lane: str | None = None,
) -> Agent[str]: ...
@overload
def agent(
    prompt: str,
    *,
    key: str,
    inputs: Any = None,
    schema: type[T],
    tools: Iterable[Any] = (),
    output: str | None = None,
    model: str | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    max_turns: int | None = None,
    max_tokens_total: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    lane: str | None = None,
) -> Agent[T]: ...
@overload
def agent(
    prompt: str,
    *,
    key: str,
    inputs: Any = None,
    schema: Mapping[str, Any],
    tools: Iterable[Any] = (),
    output: str | None = None,
    model: str | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    max_turns: int | None = None,
    max_tokens_total: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    lane: str | None = None,
) -> Agent[Any]: ...
def agent(
    prompt: str,
    *,
    key: str,
    inputs: Any = None,
    schema: Any = None,
    tools: Iterable[Any] = (),
    output: str | None = None,
    model: str | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    max_turns: int | None = None,
    max_tokens_total: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    lane: str | None = None,
) -> Agent[Any]:
    """Describe one unit of work; `await` it, or give it to `parallel`.

    `key` names its row and is unique within the phase. `inputs`: text, a
    `Partition` (inlined, or a manifest when `tools` has a `read` tool of the same
    root), a mapping, `Results`, pydantic objects, or lists of these. `schema`: a
    pydantic model, a type, or a JSON schema; without one the answer is text.
    `output` is a relative path. `lane`: `batch` sends it through message batches, at
    half the price and within hours; `live` does not, whatever the run was told; an
    agent with tools is live. `max_tokens_total` and `max_usd` bound what it spends
    over all lives: a call that does not fit is not sent, and it is `missing: budget`.
    After `max_seconds` of work (calls in flight, tools; not waiting) no new turn
    begins, and it is `missing: timeout`. Raises `UsageError` for what cannot work.
    """
    made = _tools(tools)
    writes = any(tool.name == "write_output" for tool in made)
    path = checked_output(output)
    if writes and path is None:
        raise UsageError(
            f"the agent `{key}` has the tool write_output and no output",
            hint='say where: output="report.md"',
        )
    row = RowId(current_phase(), checked_key(key))
    prompt = _text("prompt", prompt)
    system = None if system is None else _text("system", system)
    given = rendering.render(inputs, readable=_readable(made))
    wanted = None if schema is None else prepare(schema)
    order = AgentOrder(
        row=row,
        prompt=prompt,
        system=system,
        inputs=given.text,
        input_digests=given.digests,
        reads=given.reads,
        content=given.content,
        reading=given.reading,
        schema=None if wanted is None else wanted.wire,
        validate=None if wanted is None else wanted.validate,
        tools=made,
        writes_output=writes,
        output=path,
        model=None if model is None else _text("model", model),
        max_tokens=checked_count("max_tokens", max_tokens),
        max_turns=checked_count("max_turns", max_turns),
        budget=checked_budget(max_tokens_total, max_usd),
        max_seconds=checked_amount("max_seconds", max_seconds, "seconds"),
        lane=_lane(key, lane, made),
        sources=given.sources,
        holes=given.holes,
        upstream=given.upstream,
    )
    return Agent(order, wanted)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        what = "is empty" if isinstance(value, str) else f"is {type(value).__name__}"
        raise UsageError(
            f"the {name} of an agent {what}", hint=f"give the {name} as text"
        )
    return well_formed(value)


def _tools(tools: Any) -> "tuple[Tool, ...]":
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise UsageError(
            f"tools is {type(tools).__name__}, not a list of tools",
            hint="write `tools=[...]`, or `tools=fanout.read_tools(root)`",
        )
    given = [one for tool in tools for one in _flat(tool)]
    if not given:
        return ()
    from fanout.files.adapters import adapt  # noqa: PLC0415  only where there are tools

    made = tuple(adapt(tool) for tool in given)
    names = [tool.name for tool in made]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"two tools of one agent are called `{twice[0]}`",
            hint="write_tools has the read tools in it; give one of the two",
        )
    return made


def _flat(tool: Any) -> Iterable[Any]:
    """`tools=[read_tools(root), write_output]` means what it looks like."""
    return tool if isinstance(tool, list | tuple) else (tool,)


def _lane(key: str, lane: Any, tools: "tuple[Tool, ...]") -> str | None:
    if lane is not None and lane not in LANES:
        raise UsageError(
            f"the lane of the agent `{key}` is {lane!r}",
            hint='write lane="batch" or lane="live", or leave it away',
        )
    if lane == BATCH and tools:
        raise UsageError(
            f"the agent `{key}` has tools, and no tool runs in a batch",
            hint='leave away lane="batch" or the tools; inputs= can bring files along',
        )
    return None if lane is None else str(lane)


def _readable(tools: "tuple[Tool, ...]") -> frozenset[str]:
    roots = (getattr(tool, "root", None) for tool in tools if tool.name == "read")
    return frozenset(root.path for root in roots if root is not None)
