"""An agent's order as the journal and the conversation need it.

The opening is everything the first request is made of; the spec is what the
table shows of it; the fingerprint is what determines the answer.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout.decide.batching import BATCH, LIVE, POOL
from fanout.decide.conversation import Conversation, bytes_of_form, bytes_of_texts
from fanout.decide.fingerprint import Shared
from fanout.decide.parts.content import Content, of_form, of_texts
from fanout.disk.jsonline import to_json
from fanout.words.model import MissingKind, RowSpec
from fanout.words.orders import AgentOrder

MAX_TOKENS = 8_192
"""Tokens of one answer where the script names none; a long report fits."""
WRITE_OUTPUT = "write_output"
MAX_TURNS = 50
"""Turns of one agent where the script names none: a loop ends somewhere."""
FORMS_MAX = 64
"""A run has few; where each agent has its own, they must not pile up."""

ERRORS = frozenset(
    {
        MissingKind.REJECTED,
        MissingKind.REFUSED,
        MissingKind.TRUNCATED,
        MissingKind.TIMEOUT,
        MissingKind.ACCOUNT,
        MissingKind.BUDGET,
    }
)
"""Ends that say nothing about an output that was written before."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for agents that say nothing of their own."""

    model: str
    account: str
    """`simulated:PROFILE` or the endpoint: part of every fingerprint."""
    pool_of: Callable[[str], str]
    lane: str = LIVE
    """Of agents that name none; those with tools are live in any case."""

    def lane_of(self, order: AgentOrder) -> str:
        """The lane of an agent."""
        return order.lane or (LIVE if order.tools else self.lane)


@dataclass(frozen=True, slots=True)
class Form:
    """What agents with the same tools and schema have in common, worked out once."""

    order: AgentOrder
    """The first of them; as long as it lives, its tools and schema are no others."""
    tools: list[dict[str, Any]]
    """Definitions, as an opening has them."""
    shared: Shared
    size: int
    """Bytes."""
    content: Content

    @classmethod
    def of(cls, order: AgentOrder) -> "Form":
        """Work it out for the tools and the schema of an order."""
        tools = [
            {
                "name": tool.name,
                "description": tool.description,
                # A stranger's: what the journal could not hold must not be sent.
                "input_schema": json.loads(to_json(tool.input_schema)),
            }
            for tool in order.tools
        ]
        versions = {tool.name: tool.version for tool in order.tools}
        return cls(
            order=order,
            tools=tools,
            shared=Shared.of(tools, order.schema, versions),
            size=bytes_of_form(tools, order.schema),
            content=of_form(tools, order.schema),
        )


class Openings:
    """What agents begin with, and what is shown of it.

    `estimate` gives the input tokens of a model, a phase and so many bytes.
    """

    def __init__(
        self, defaults: Defaults, estimate: Callable[[str, str, int], int]
    ) -> None:
        self._defaults = defaults
        self._estimate = estimate
        self._forms: dict[tuple[int, ...], Form] = {}

    def of(self, order: AgentOrder) -> dict[str, Any]:
        """Return the opening of an agent's conversation."""
        return {
            "model": order.model or self._defaults.model,
            "system": order.system,
            "prompt": order.prompt,
            "inputs": order.inputs,
            "tools": self._form(order).tools,
            "schema": order.schema,
            "max_tokens": order.max_tokens or MAX_TOKENS,
            "max_turns": order.max_turns or MAX_TURNS,
            "writes_output": order.writes_output,
        }

    def spec(self, order: AgentOrder, opening: dict[str, Any]) -> RowSpec:
        """Return what a row was asked to produce."""
        defaults, form, model = self._defaults, self._form(order), opening["model"]
        size = form.size + bytes_of_texts(opening)
        return RowSpec(
            kind="agent",
            model=model,
            pool=POOL if defaults.lane_of(order) == BATCH else defaults.pool_of(model),
            fingerprint=form.shared.fingerprint(
                defaults.account, opening, order.input_digests
            ),
            output=order.output,
            schema=order.schema is not None,
            max_tokens=opening["max_tokens"],
            max_turns=opening["max_turns"],
            estimate=self._estimate(model, order.row.phase, size),
            size=size,
            reads=order.reads,
            tools=bool(order.tools),
            content=of_texts(opening, form.content, order.content),
            reading=order.reading,
        )

    def _form(self, order: AgentOrder) -> Form:
        known = (id(order.schema), *map(id, order.tools))
        form = self._forms.get(known)
        if form is None:
            if len(self._forms) >= FORMS_MAX:
                self._forms.clear()
            form = self._forms[known] = Form.of(order)
        return form


def wrote_output(conversation: Conversation) -> bool:
    """Whether the agent has written its output itself, in this life or another."""
    return last_output(conversation) is not None


def last_output(conversation: Conversation) -> str | None:
    """Return what the agent last wrote as its output; None when it did not."""
    asked: dict[object, str] = {}
    written: str | None = None
    for entry in conversation.entries:
        for block in entry.get("content") or ():
            if block.get("type") == "tool_use" and block.get("name") == WRITE_OUTPUT:
                given = block.get("input")
                content = given.get("content") if isinstance(given, dict) else None
                asked[block.get("id")] = content if isinstance(content, str) else ""
            elif block.get("tool_use_id") in asked and not block.get("is_error"):
                written = asked[block.get("tool_use_id")]
    return written
