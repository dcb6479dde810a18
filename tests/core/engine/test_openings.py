"""What agents have in common is worked out once, and comes to the same for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.engine.bench import order
from fanout.decide.conversation import Conversation, new_bytes
from fanout.decide.fingerprint import fingerprint
from fanout.decide.parts.content import measure, of_opening
from fanout.words.orders import AgentOrder
from fanout.words.tools import Tool, ToolResult
from fanout.world.agent.openings import FORMS_MAX, Defaults, Openings

DEFAULTS = Defaults(model="m", account="simulated:x", pool_of=lambda model: model)
TEXTS = st.text(st.characters(), max_size=20)
SCHEMAS: tuple[Mapping[str, Any] | None, ...] = (None, {"type": "object", "z": "é"})


@dataclass(frozen=True)
class Named:
    """A tool that is never called."""

    name: str
    description: str
    version: str = ""

    @property
    def input_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"b": {}, "a": {}}}

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        raise AssertionError(arguments)


KITS: tuple[tuple[Tool, ...], ...] = (
    (),
    (Named("read", "Read “it”."),),
    (Named("write", "Write."), Named("ask", "Ask \ud800.", "v2")),
)


orders = st.builds(
    order,
    st.just("a"),
    prompt=TEXTS,
    system=st.none() | TEXTS,
    inputs=TEXTS,
    input_digests=st.lists(TEXTS, max_size=3).map(tuple),
    schema=st.sampled_from(SCHEMAS),
    tools=st.sampled_from(KITS),
    model=st.none() | TEXTS,
    max_tokens=st.none() | st.integers(1, 10**9),
    max_turns=st.none() | st.integers(1, 100),
    writes_output=st.booleans(),
    content=st.just(()) | TEXTS.map(measure),
)


@given(st.lists(orders, min_size=1, max_size=5))
def test_each_agent_has_the_mark_of_its_whole_opening(given: list[AgentOrder]) -> None:
    openings = Openings(DEFAULTS, lambda *_: 0)
    for one in given:
        opening = openings.of(one)
        spec = openings.spec(one, opening)
        assert spec.fingerprint == fingerprint(
            account=DEFAULTS.account,
            model=opening["model"],
            opening=opening,
            input_digests=one.input_digests,
            tool_versions={tool.name: tool.version for tool in one.tools},
        )
        assert spec.size == new_bytes(Conversation(opening))
        assert spec.content == of_opening(opening, one.content)


def test_forms_of_agents_that_have_nothing_in_common_do_not_pile_up() -> None:
    openings = Openings(DEFAULTS, lambda *_: 0)
    for number in range(3 * FORMS_MAX):
        one = order("a", tools=(Named("read", f"Read {number}."),))
        (tool,) = openings.of(one)["tools"]
        assert tool["description"] == f"Read {number}."
        assert len(openings._forms) <= FORMS_MAX
