"""Conversations as data: what an agent does next follows from what was journaled.

A conversation is its opening (what the agent was asked) and the entries since:
answers of the model, results of tools, and corrections. `next_step` and
`request` are pure functions of it, so a live agent and one resumed from the
journal run the same code and send the same bytes.

Entries are plain JSON, exactly as `events.TurnsKept.entries` holds them:

    {"kind": "answer", "content": [...], "stop_reason": "...", "usage": {...}}
    {"kind": "results", "content": [...]}
    {"kind": "correction", "problem": "..."}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanout.decide.caching import mark_prefix
from fanout.words.counted import plural
from fanout.words.model import MissingKind

CORRECTIONS_MAX = 3
"""How often an answer that does not fit is sent back before the row is missing."""

DOUBLED_MAX = 64_000
"""What every current model allows; a cut answer is not asked for beyond it."""

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One agent's work so far; never changed, only extended."""

    opening: Mapping[str, Any]
    """`model`, `system`, `prompt`, `inputs`, `tools` (definitions), `schema`,
    `max_tokens`, `max_turns`, `writes_output`."""
    entries: tuple[Entry, ...] = ()

    def with_entry(self, entry: Entry) -> "Conversation":
        """Return the conversation with one more entry."""
        return Conversation(self.opening, (*self.entries, entry))

    @property
    def turns(self) -> int:
        """Answers so far."""
        return sum(1 for entry in self.entries if entry["kind"] == "answer")


@dataclass(frozen=True, slots=True)
class Send:
    """Ask the model for its next answer."""


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run what the last answer asked for."""

    uses: tuple[Mapping[str, Any], ...]
    """`tool_use` blocks."""


@dataclass(frozen=True, slots=True)
class Check:
    """Hold the final answer against what was expected."""

    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The row ends without its output."""

    kind: MissingKind
    reason: str


Step = Send | RunTools | Check | End


def next_step(conversation: Conversation) -> Step:
    """Return what comes next."""
    if not conversation.entries or conversation.entries[-1]["kind"] != "answer":
        return _send_within_limit(conversation)
    answer = conversation.entries[-1]
    step: Step = Check(text_of(answer["content"]))
    match answer.get("stop_reason"):
        case "tool_use":
            step = _tools_or_end(conversation, answer)
        case "pause_turn":
            step = _send_within_limit(conversation)
        case "refusal":
            step = End(MissingKind.REFUSED, "the model refused")
        case "max_tokens":
            step = _once_more_or_end(conversation)
        case "model_context_window_exceeded":
            step = End(MissingKind.TRUNCATED, "the context window is full")
    return step


def _once_more_or_end(conversation: Conversation) -> Step:
    """A cut answer is asked for once more, with room for twice as much."""
    limit, asked = max_tokens_of(conversation), conversation.opening["max_tokens"]
    if limit == asked:
        return End(MissingKind.TRUNCATED, f"the answer was cut at {limit:,} tokens")
    if _cuts(conversation) > 1:
        text = f"the answer was cut at {asked:,} tokens, and asked again at {limit:,}"
        return End(MissingKind.TRUNCATED, text)
    return _send_within_limit(conversation)


def _cuts(conversation: Conversation) -> int:
    """Return how many answers in a row were cut, up to now."""
    count = 0
    for entry in reversed(conversation.entries):
        if entry["kind"] != "answer" or not _is_cut(entry):
            break
        count += 1
    return count


def _is_cut(entry: Entry) -> bool:
    return entry.get("stop_reason") == "max_tokens"


def max_tokens_of(conversation: Conversation) -> int:
    """Return the limit of the next answer; after a cut one, twice as much."""
    asked: int = conversation.opening["max_tokens"]
    if not _cuts(conversation) or asked >= DOUBLED_MAX:
        return asked
    return min(2 * asked, DOUBLED_MAX)


def _send_within_limit(conversation: Conversation) -> Step:
    limit = conversation.opening["max_turns"]
    if conversation.turns >= limit:
        return End(
            MissingKind.TRUNCATED, f"no final answer within {plural(limit, 'turn')}"
        )
    return Send()


def _tools_or_end(conversation: Conversation, answer: Entry) -> Step:
    limit = conversation.opening["max_turns"]
    if conversation.turns >= limit:
        return End(
            MissingKind.TRUNCATED, f"no final answer within {plural(limit, 'turn')}"
        )
    uses = tuple(b for b in answer["content"] if b.get("type") == "tool_use")
    return RunTools(uses) if uses else Check(text_of(answer["content"]))


def corrections(conversation: Conversation) -> int:
    """Return how often an answer was sent back since the opening."""
    return sum(1 for entry in conversation.entries if entry["kind"] == "correction")


def text_of(content: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of an answer, its text blocks joined."""
    return "".join(str(b.get("text") or "") for b in content if b.get("type") == "text")


def request(conversation: Conversation) -> dict[str, Any]:
    """Return the body of the next call: byte for byte the same after a resume."""
    opening = conversation.opening
    body: dict[str, Any] = {
        "model": opening["model"],
        "max_tokens": max_tokens_of(conversation),
        "messages": _messages(conversation),
        "stream": True,
    }
    if opening.get("system"):
        body["system"] = opening["system"]
    if opening.get("tools"):
        body["tools"] = list(opening["tools"])
        # More turns will read this prefix again; a cached one is not charged.
        _mark_for_caching(body["messages"])
    mark_prefix(body, opening)
    if opening.get("schema") is not None:
        form = {"type": "json_schema", "schema": opening["schema"]}
        body["output_config"] = {"format": form}
    return body


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    opening = conversation.opening
    first = [
        {"type": "text", "text": text}
        for text in (opening.get("inputs"), opening["prompt"])
        if text
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": first}]
    for entry in conversation.entries:
        match entry["kind"]:
            case "answer" if _is_cut(entry):
                # Cut inside a sentence or a tool's arguments: it cannot be gone on
                # from, and was asked for again.
                continue
            case "answer":
                content = [_sendable(block) for block in entry["content"]]
                messages.append({"role": "assistant", "content": content})
            case "results":
                content = [dict(block) for block in entry["content"]]
                messages.append({"role": "user", "content": content})
            case _:
                text = correction_text(entry["problem"])
                content = [{"type": "text", "text": text}]
                messages.append({"role": "user", "content": content})
    return messages


def _sendable(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cut_input"}


def correction_text(problem: str) -> str:
    """Return what the agent is told when its answer does not fit."""
    return (
        f"That answer cannot be used: {problem}\n"
        "Answer again, whole, in the form that was asked for and with nothing else."
    )


def _mark_for_caching(messages: list[dict[str, Any]]) -> None:
    content = messages[-1]["content"]
    if messages[-1]["role"] == "user" and content:
        content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}


def new_bytes(conversation: Conversation) -> int:
    """Return the bytes said since the last answer: what no call has measured yet.

    Before the first answer these are the opening's own.
    """
    if conversation.turns == 0:
        opening = conversation.opening
        return bytes_of_texts(opening) + bytes_of_form(
            opening.get("tools"), opening.get("schema")
        )
    total = 0
    for entry in reversed(conversation.entries):
        if entry["kind"] == "answer":
            break
        total += len(repr(entry.get("content") or entry.get("problem") or ""))
    return total


def bytes_of_texts(opening: Mapping[str, Any]) -> int:
    """Return the bytes of an opening's texts."""
    count = 0
    for name in ("system", "inputs", "prompt"):
        text = opening.get(name) or ""
        count += len(text if text.isascii() else text.encode(errors="replace"))
    return count


def bytes_of_form(tools: Any, schema: Any) -> int:
    """Return about how many bytes tools and a schema have in an opening."""
    return len(repr(tools or "")) + len(repr(schema or ""))


def last_usage(conversation: Conversation) -> Mapping[str, int]:
    """Return the usage of the last answer; empty before the first."""
    for entry in reversed(conversation.entries):
        if entry["kind"] == "answer":
            usage: Mapping[str, int] = entry.get("usage") or {}
            return usage
    return {}
