"""One request as the account sees it, once its JSON was read.

Content is normalised to lists of blocks here, so that nothing behind this file
asks again whether a message was text or a list.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fanout.simulator import directives, tokens
from fanout.simulator.cache import Block
from fanout.simulator.directives import Directive
from fanout.simulator.models import Model
from fanout.simulator.vocabulary import vocabulary_of


@dataclass(frozen=True, kw_only=True)
class Call:
    """A valid request to `/v1/messages` or `count_tokens`."""

    endpoint: str
    model: Model
    body: dict[str, Any]
    digest: str
    """SHA-256 of the body's bytes."""
    row: str = ""
    """The `x-fanout-row` header."""

    @cached_property
    def messages(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Role and blocks of each message."""
        return [
            (str(message["role"]), as_blocks(message["content"]))
            for message in self.body["messages"]
        ]

    @cached_property
    def system(self) -> str:
        """The system prompt as one text."""
        return texts_of(as_blocks(self.body.get("system", "")))

    @cached_property
    def user_texts(self) -> list[str]:
        """What the user said, message by message, without tool results."""
        said = [texts_of(blocks) for role, blocks in self.messages if role == "user"]
        return [text for text in said if text]

    @cached_property
    def directive(self) -> Directive:
        """The orders in the prompt."""
        return directives.parse("\n".join([self.system, *self.user_texts]))

    @cached_property
    def text(self) -> str:
        """Everything a fault rule may search in."""
        results = [
            result_text(block)
            for _, blocks in self.messages
            for block in blocks
            if block.get("type") == "tool_result"
        ]
        return "\n".join([self.system, *self.user_texts, *results])

    @property
    def streams(self) -> bool:
        """Whether the answer is to be streamed."""
        return bool(self.body.get("stream"))

    @property
    def output_tokens_max(self) -> int:
        """The request's `max_tokens`."""
        return int(self.body.get("max_tokens", self.model.output_tokens_max))

    @cached_property
    def blocks(self) -> list[Block]:
        """The prompt as a chain: tools, system, messages."""
        words = vocabulary_of(self.model.generation)
        chain = [
            _block("tool", tool, tokens.tool_tokens(tool, words))
            for tool in self.body.get("tools") or []
        ]
        chain += [
            _block("system", block, tokens.block_tokens(block, words))
            for block in as_blocks(self.body.get("system", ""))
        ]
        for role, blocks in self.messages:
            extra = tokens.MESSAGE_TOKENS
            for block in blocks:
                size = extra + tokens.block_tokens(block, words)
                chain.append(_block(role, block, size))
                extra = 0
        automatic = self.body.get("cache_control")
        if automatic and chain and chain[-1].ttl is None:
            last = chain[-1]
            chain[-1] = Block(
                content=last.content, tokens=last.tokens, ttl=_ttl(automatic)
            )
        return chain

    @cached_property
    def input_tokens(self) -> int:
        """All input, cached or not."""
        return sum(block.tokens for block in self.blocks)


def _ttl(control: Any) -> str | None:
    if not isinstance(control, dict):
        return None
    return "1h" if control.get("ttl") == "1h" else "5m"


def _block(place: str, block: dict[str, Any], size: int) -> Block:
    control = block.get("cache_control")
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return Block(
        content=f"{place}\x1f{tokens.canonical(bare)}", tokens=size, ttl=_ttl(control)
    )


def as_blocks(content: Any) -> list[dict[str, Any]]:
    """A message's content as blocks; the empty text is no block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content or [] if isinstance(block, dict)]


def texts_of(blocks: list[dict[str, Any]]) -> str:
    """The text blocks, joined by empty lines."""
    texts = (str(block.get("text", "")) for block in blocks if _is_text(block))
    return "\n\n".join(text for text in texts if text)


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") == "text"


def result_text(block: dict[str, Any]) -> str:
    """What a `tool_result` block says, as one text."""
    content = block.get("content")
    return content if isinstance(content, str) else texts_of(as_blocks(content))


def digest_of(raw: bytes) -> str:
    """The name of a request's body."""
    return hashlib.sha256(raw).hexdigest()
