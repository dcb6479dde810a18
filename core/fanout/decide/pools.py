"""Which models share rate limits, as far as that is known.

Headers name no pool. The published table says that the 4.x models of one family
share theirs; every other model, and any we have never heard of, has its own.
"""

import re

_DATED = re.compile(r"-20\d{6}$")
_FOURTH = re.compile(r"^claude-(opus|sonnet)-4(-\d+)?$")


def pool_of(model: str) -> str:
    """Return the name of a model's pool."""
    base = _DATED.sub("", model)
    fourth = _FOURTH.match(base)
    return f"claude-{fourth.group(1)}-4.x" if fourth else base
