"""What a model cannot read at once, as far as that is known.

A request that cannot fit is not sent: it would be refused after its tokens were
counted against the limits.
"""

from fanout.decide.models import facts_of

UNSURE = 1.1
"""Input is estimated before it is sent: only what is clearly too much is held back."""


def too_large(model: str, tokens: int) -> str:
    """Say why an input of about so many tokens cannot be sent; empty when it can."""
    context = facts_of(model).context
    if context is None or tokens <= context * UNSURE:
        return ""
    return (
        f"the input has about {tokens:,} tokens, and {model} reads {context:,}; "
        "not sent"
    )
