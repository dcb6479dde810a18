"""Which requests the service would not even start, in its order and words."""

from collections.abc import Callable
from typing import Any

from fanout.simulator import errors, models
from fanout.simulator.call import Call
from fanout.simulator.errors import Refusal

BODY_BYTES_MAX = 32 * 1024 * 1024
"""Larger requests are refused with 413."""
NO_SAMPLING_SINCE = "2026-10-21"
"""From this `anthropic-version` on, sampling parameters are refused."""
_BREAKPOINTS_MAX = 4
_SAMPLING = ("temperature", "top_p", "top_k")

_Check = Callable[[dict[str, Any], str], Refusal | None]


def check(
    body: Any, *, version: str | None, endpoint: str, digest: str, row: str
) -> Call | Refusal:
    """The request as a `Call`, or why it is refused."""
    if version is None:
        return errors.invalid("anthropic-version: header is required")
    if not isinstance(body, dict):
        return errors.invalid("The request body is not a JSON object")
    for rule in _SHAPE:
        refusal = rule(body, endpoint)
        if refusal is not None:
            return refusal
    model = models.find(body["model"])
    if model is None:
        return errors.not_found(f"model: {body['model']}")
    request = Call(endpoint=endpoint, model=model, body=body, digest=digest, row=row)
    return _meaning(request, version) or request


def _fields(body: dict[str, Any], endpoint: str) -> Refusal | None:
    required = ["model", "messages"]
    if endpoint != "count_tokens":
        required.append("max_tokens")
    for name in required:
        if body.get(name) is None:
            return errors.invalid(f"{name}: Field required")
    if not isinstance(body["model"], str) or not body["model"]:
        return errors.invalid("model: String should have at least 1 character")
    return None


def _messages(body: dict[str, Any], _endpoint: str) -> Refusal | None:
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        return errors.invalid("messages: at least one message is required")
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in (
            "user",
            "assistant",
        ):
            return errors.invalid(
                f"messages.{at}.role: Input should be 'user' or 'assistant'"
            )
        if not isinstance(message.get("content"), str | list):
            return errors.invalid(f"messages.{at}.content: Field required")
        if not message["content"] and at < len(messages) - 1:
            return errors.invalid(
                f"messages.{at}: all messages must have non-empty content except "
                "for the optional final assistant message"
            )
    if messages[0]["role"] != "user":
        return errors.invalid('messages: first message must use the "user" role')
    return None


def _numbers(body: dict[str, Any], endpoint: str) -> Refusal | None:
    limit = body.get("max_tokens")
    if endpoint == "count_tokens":
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        return errors.invalid("max_tokens: Input should be greater than or equal to 1")
    return None


def _thread(body: dict[str, Any], _endpoint: str) -> Refusal | None:
    if body.get("thread") is None:
        return None
    return errors.invalid(
        "thread: message threads are not supported for this request",
        "thread_unsupported_request",
    )


def _lists(body: dict[str, Any], _endpoint: str) -> Refusal | None:
    for name in ("tools", "stop_sequences"):
        if body.get(name) is not None and not isinstance(body[name], list):
            return errors.invalid(f"{name}: Input should be a valid list")
    names = [
        tool.get("name") if isinstance(tool, dict) else None
        for tool in body.get("tools") or []
    ]
    if None in names:
        return errors.invalid("tools.0.name: Field required")
    if len(set(names)) < len(names):
        return errors.invalid("tools: Tool names must be unique.")
    return None


_SHAPE: tuple[_Check, ...] = (_fields, _messages, _numbers, _thread, _lists)


def _meaning(request: Call, version: str) -> Refusal | None:
    sampled = [name for name in _SAMPLING if request.body.get(name) is not None]
    if sampled and version >= NO_SAMPLING_SINCE:
        return errors.invalid(
            f"{sampled[0]}: sampling parameters are not supported in this version"
        )
    return (
        _sizes(request)
        or _last_role(request)
        or _thinking(request)
        or _pairing(request)
        or _breakpoints(request)
    )


def _sizes(request: Call) -> Refusal | None:
    model = request.model
    if request.output_tokens_max > model.output_tokens_max:
        return errors.invalid(
            f"max_tokens: {request.output_tokens_max} > {model.output_tokens_max}, "
            "which is the maximum allowed number of output tokens for "
            f"{request.body['model']}"
        )
    if request.input_tokens > model.context_tokens:
        return errors.invalid(
            f"prompt is too long: {request.input_tokens} tokens > "
            f"{model.context_tokens} maximum"
        )
    return None


def _last_role(request: Call) -> Refusal | None:
    if request.messages[-1][0] == "assistant" and request.model.generation >= (4, 6):
        return errors.invalid(
            "This model does not support assistant message prefill. The "
            "conversation must end with a user message."
        )
    return None


def _thinking(request: Call) -> Refusal | None:
    thinking = request.body.get("thinking")
    enabled = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    if enabled and request.model.generation >= (4, 7):
        return errors.invalid(
            '"thinking.type.enabled" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control '
            "thinking behavior."
        )
    return None


def _pairing(request: Call) -> Refusal | None:
    asked: list[str] = []
    for at, (role, blocks) in enumerate(request.messages):
        if role == "assistant":
            if asked:
                return _unpaired(at - 1, asked)
            asked = _ids(blocks, "tool_use", "id")
            continue
        answered = _ids(blocks, "tool_result", "tool_use_id")
        strange = [name for name in answered if name not in asked]
        if strange:
            return errors.invalid(
                f"messages.{at}.content: unexpected `tool_use_id` found in "
                f"`tool_result` blocks: {strange[0]}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message."
            )
        missing = [name for name in asked if name not in answered]
        if missing or not _results_lead(blocks, len(answered)):
            return _unpaired(at - 1, missing or asked)
        asked = []
    return None


def _ids(blocks: list[dict[str, Any]], kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in blocks if block.get("type") == kind]


def _results_lead(blocks: list[dict[str, Any]], count: int) -> bool:
    return all(block.get("type") == "tool_result" for block in blocks[:count])


def _unpaired(at: int, names: list[str]) -> Refusal:
    return errors.invalid(
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks "
        f"immediately after: {', '.join(names)}. Each `tool_use` block must have a "
        "corresponding `tool_result` block in the next message."
    )


def _breakpoints(request: Call) -> Refusal | None:
    ttls = [block.ttl for block in request.blocks if block.ttl is not None]
    if len(ttls) > _BREAKPOINTS_MAX:
        return errors.invalid(
            "A maximum of 4 blocks with cache_control may be provided. Found "
            f"{len(ttls)}."
        )
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        return errors.invalid(
            "a ttl='1h' cache_control block must not come after a ttl='5m' "
            "cache_control block"
        )
    return None
