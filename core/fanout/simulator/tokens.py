"""The one token counter: 3.6 bytes of UTF-8 to a token, rounded up.

That is what code measures on the current tokenizers, near enough for a simulated
account. It is fixed and linear, so a test can say beforehand what a request will
be charged. Per message, block and tool there is a constant for the framing.
"""

import json
from typing import Any

MESSAGE_TOKENS = 4
BLOCK_TOKENS = 2
TOOL_TOKENS = 12
IMAGE_TOKENS = 1_600


def text_tokens(text: str) -> int:
    """Tokens of a text."""
    return (10 * len(text.encode("utf-8", "surrogatepass")) + 35) // 36


def characters(tokens: float) -> int:
    """About how many ASCII characters make that many tokens; at least one."""
    return max(1, int(tokens * 3.6))


def canonical(value: Any) -> str:
    """The one JSON text of a value: equal values, equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def block_tokens(block: dict[str, Any]) -> int:
    """Tokens of one content block of a message."""
    kind = block.get("type")
    if kind in ("image", "document") and "text" not in block:
        return IMAGE_TOKENS
    if kind == "text":
        return BLOCK_TOKENS + text_tokens(str(block.get("text", "")))
    if kind == "tool_use":
        spoken = str(block.get("name", "")) + canonical(block.get("input", {}))
        return BLOCK_TOKENS + text_tokens(spoken)
    if kind == "tool_result":
        return BLOCK_TOKENS + _result_tokens(block.get("content"))
    return BLOCK_TOKENS + text_tokens(canonical(block))


def _result_tokens(content: Any) -> int:
    if isinstance(content, list):
        return sum(block_tokens(part) for part in content)
    return text_tokens(str(content or ""))


def tool_tokens(tool: dict[str, Any]) -> int:
    """Tokens of one tool's definition."""
    return TOOL_TOKENS + text_tokens(canonical(tool))
