"""What is known of models ahead of the first call, from `models.toml` beside this.

The file is read with this module, once. Of a model that it does not know, nothing
is assumed: it has limits of its own, and no price.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

TABLE: Mapping[str, Any] = tomllib.loads(
    files(__package__).joinpath("models.toml").read_text("utf-8")
)

_DATED = re.compile(r"-20\d{6}$")
_NUMBERED = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True)
class Facts:
    """A model, apart from its price."""

    pool: str
    """Name of the pool whose limits it shares; headers name none."""
    context: int | None = None
    """Tokens that it reads at once, where that is known."""
    cache_from: int = 4_096
    """Fewest tokens of a prefix that its cache takes; below, nothing is said."""


_KNOWN = [field.name for field in fields(Facts)]


def undated(model: str) -> str:
    """Return a model's name without its date: `…-20251001` is no other model."""
    return _DATED.sub("", model)


@lru_cache(maxsize=1024)
def facts_of(model: str) -> Facts:
    """Return what is known of a model."""
    base = undated(model)
    found: dict[str, Any] = {"pool": base}
    for name in reversed(list(_names(base))):
        entry = TABLE["models"].get(name, {})
        found |= {key: entry[key] for key in _KNOWN if key in entry}
    return Facts(**found)


def pool_of(model: str) -> str:
    """Return the name of a model's pool."""
    return facts_of(model).pool


def _names(base: str) -> Iterator[str]:
    """Return a name and those it has without its last numbers."""
    yield base
    while shorter := _NUMBERED.sub("", base):
        if shorter == base:
            return
        base = shorter
        yield base
