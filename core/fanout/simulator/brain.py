"""The scripted model: from a conversation to its next answer, always the same.

It is an honest little auditor. It reads what it is pointed at, reports what is
really there, fills the schema it is given, and says what it has not seen. Orders
in the prompt (`directives`) may make it behave badly on purpose.
"""

import json
from typing import Any

from fanout.simulator import chance, planning, prose, results
from fanout.simulator.answer import Answer, Part, cut_to, stopped_at, text_answer
from fanout.simulator.call import Call
from fanout.simulator.filling import Filler
from fanout.simulator.mind import Mind
from fanout.simulator.profile import Profile, RangeTable
from fanout.simulator.tokens import characters, text_tokens
from fanout.simulator.toolbox import padded

_SIGH = "Looking at it once more, line by line, before saying anything. "


def answer(call: Call, seed: int, profile: Profile) -> Answer:
    """The next answer, within the request's `max_tokens`."""
    mind = Mind(call)
    schema = wanted_schema(call, mind)
    said = _refusal(call) or _tools(call, mind, schema, seed, profile)
    if said is None:
        said = _final(call, mind, schema, seed, profile)
    said = stopped_at(said, call.body.get("stop_sequences") or [])
    thought = _thinking(call, seed, profile)
    if thought:
        parts = (Part(kind="thinking", text=thought), *said.parts)
        said = _with_parts(said, parts)
    return _stopped(_within_limits(said, call), call)


def wanted_schema(call: Call, mind: Mind) -> dict[str, Any] | None:
    """The schema the final answer is held to, if any."""
    config = call.body.get("output_config") or {}
    form = config.get("format") or call.body.get("output_format") or {}
    if isinstance(form, dict) and isinstance(form.get("schema"), dict):
        schema: dict[str, Any] = form["schema"]
        return schema
    if "schema" not in mind.request.lower() or "JSON" not in mind.request:
        return None
    for _, value in results.documents(mind.request):
        if isinstance(value, dict) and "properties" in value:
            return value
    return None


def _within_limits(said: Answer, call: Call) -> Answer:
    room = max(1, call.model.context_tokens - call.input_tokens)
    if room < call.output_tokens_max and said.tokens > room:
        cut = cut_to(said, room)
        return Answer(parts=cut.parts, stop_reason="model_context_window_exceeded")
    return cut_to(said, call.output_tokens_max)


def _refusal(call: Call) -> Answer | None:
    if call.directive.stop != "refusal":
        return None
    details = {
        "type": "refusal",
        "category": None,
        "explanation": "The prompt orders a refusal.",
    }
    return Answer(
        parts=text_answer("I can't help with that.").parts,
        stop_reason="refusal",
        stop_details=details,
    )


def _tools(
    call: Call, mind: Mind, schema: dict[str, Any] | None, seed: int, profile: Profile
) -> Answer | None:
    luck = chance.between(0, 1, "own tools", seed, mind.request)
    wishes = planning.plan(
        mind,
        call.directive,
        lambda: _output(mind, schema),
        tries=luck < profile.generation.own_tools,
    )
    if not wishes:
        return None
    parts = [
        Part(
            kind="tool_use",
            text=json.dumps(wish.arguments, ensure_ascii=False),
            name=wish.tool.name,
            id="toolu_" + chance.letters(24, "tool", seed, call.digest, at),
        )
        for at, wish in enumerate(wishes)
    ]
    first = () if mind.uses else text_answer("I'll look at what there is.").parts
    return Answer(parts=(*first, *parts), stop_reason="tool_use")


def _output(mind: Mind, schema: dict[str, Any] | None) -> str:
    if schema is None:
        return prose.report(mind.knowledge)
    filled = Filler(schema).fill(mind.knowledge)
    return json.dumps(filled, ensure_ascii=False, indent=1)


def _final(
    call: Call, mind: Mind, schema: dict[str, Any] | None, seed: int, profile: Profile
) -> Answer:
    ordered = call.directive
    if mind.final_answers < ordered.empty:
        return text_answer("")
    if mind.final_answers < ordered.invalid_json:
        return text_answer('Here it is: {"findings": [')
    text = _output(mind, schema)
    size = ordered.output or _drawn(
        profile.generation.output_tokens, "output", seed, call.digest
    )
    if schema is None:
        return text_answer(padded(text, size))
    # White space is the only padding that leaves JSON as it is.
    missing = characters(size) - characters(text_tokens(text))
    return text_answer(text + "\n" + " " * missing if missing > 0 else text)


def _drawn(span: RangeTable, *luck: object) -> int:
    if not span.max:
        return 0
    return int(chance.between(span.min, span.max + 1, *luck))


def _thinking(call: Call, seed: int, profile: Profile) -> str:
    thinking = call.body.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("adaptive", "enabled"):
        return ""
    span = profile.generation.thinking_tokens
    size = call.directive.thinking or _drawn(span, "thinking", seed, call.digest)
    if not size:
        return ""
    return (_SIGH * (characters(size) // len(_SIGH) + 1))[: characters(size)]


def _with_parts(said: Answer, parts: tuple[Part, ...]) -> Answer:
    return Answer(
        parts=parts,
        stop_reason=said.stop_reason,
        stop_sequence=said.stop_sequence,
        stop_details=said.stop_details,
    )


def _stopped(said: Answer, call: Call) -> Answer:
    """The answer, ended as the prompt orders."""
    ordered = call.directive.stop
    if said.stop_reason == "tool_use" or ordered in ("", "refusal"):
        return said
    if ordered == "max_tokens" and said.stop_reason != "max_tokens":
        return cut_to(said, max(1, said.tokens // 2))
    return Answer(parts=said.parts, stop_reason=ordered)
