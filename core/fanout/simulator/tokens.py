"""What requests and answers have of tokens.

What a request says is counted by the vocabulary of its model's generation
(`vocabulary.py`); per message, block and tool there is a constant for the framing.
What the model says is counted at 3.6 bytes of UTF-8 to a token, rounded up: linear,
so that an answer can be ordered, padded and cut to an exact number of tokens, and its
pieces add up.
"""

import json
from typing import Any

from fanout.simulator.vocabulary import Vocabulary, count

MESSAGE_TOKENS = 4
BLOCK_TOKENS = 2
TOOL_TOKENS = 12
IMAGE_TOKENS = 1_600


def text_tokens(text: str) -> int:
    """Tokens of a text that the model says."""
    return (10 * len(text.encode("utf-8", "surrogatepass")) + 35) // 36


def characters(tokens: float) -> int:
    """About how many ASCII characters make that many tokens; at least one."""
    return max(1, int(tokens * 3.6))


def canonical(value: Any) -> str:
    """The one JSON text of a value: equal values, equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def block_tokens(block: dict[str, Any], vocabulary: Vocabulary) -> int:
    """Tokens of one content block of a message."""
    kind = block.get("type")
    if kind in ("image", "document") and "text" not in block:
        return IMAGE_TOKENS
    if kind == "text":
        return BLOCK_TOKENS + count(str(block.get("text", "")), vocabulary)
    if kind == "tool_use":
        spoken = str(block.get("name", "")) + canonical(block.get("input", {}))
        return BLOCK_TOKENS + count(spoken, vocabulary)
    if kind == "tool_result":
        return BLOCK_TOKENS + _result_tokens(block.get("content"), vocabulary)
    return BLOCK_TOKENS + count(canonical(block), vocabulary)


def _result_tokens(content: Any, vocabulary: Vocabulary) -> int:
    if isinstance(content, list):
        return sum(block_tokens(part, vocabulary) for part in content)
    return count(str(content or ""), vocabulary)


def tool_tokens(tool: dict[str, Any], vocabulary: Vocabulary) -> int:
    """Tokens of one tool's definition."""
    return TOOL_TOKENS + count(canonical(tool), vocabulary)
