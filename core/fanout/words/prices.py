"""What tokens cost: one model's price, and a table of them with date and source."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars per million tokens of one model."""

    input: float
    output: float
    cache_write: float = 1.25
    """Of the input price, for tokens written to the prompt cache."""
    cache_read: float = 0.1
    """Of the input price, for tokens read from it."""
    long_over: int | None = None
    """Prompts of more tokens than this are charged at the long prices."""
    long_input: float = 0.0
    long_output: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A table of prices; a model that is not in it has no known price."""

    models: Mapping[str, Price] = field(default_factory=dict)
    as_of: str = ""
    """Day or month of the built-in figures."""
    source: str = ""
    overridden: tuple[str, ...] = ()
    """Models whose price the settings say."""
