"""How much a model can read at once, as far as that is known.

Figures as published for late 2026. A request that cannot fit is not sent: it would
be refused after its tokens were counted against the limits.
"""

import re

UNSURE = 1.1
"""Input is estimated before it is sent: only what is clearly too much is held back."""

_DATED = re.compile(r"-20\d{6}$")
_CONTEXTS = (
    (re.compile(r"^claude-[a-z]+-5(-\d+)?$"), 1_000_000),
    (re.compile(r"^claude-haiku-4-5$"), 200_000),
)


def context_of(model: str) -> int | None:
    """Return the tokens of a model's context window; None where it is not known."""
    base = _DATED.sub("", model)
    for pattern, tokens in _CONTEXTS:
        if pattern.match(base):
            return tokens
    return None


def too_large(model: str, tokens: int) -> str:
    """Say why an input of about so many tokens cannot be sent; empty when it can."""
    context = context_of(model)
    if context is None or tokens <= context * UNSURE:
        return ""
    return (
        f"the input has about {tokens:,} tokens, and {model} reads {context:,}; "
        "not sent"
    )
