"""Sums of tokens that follow the rows, four plain integers each.

Adding frozen `Usage` values costs an object an event; a run's totals change
with every answer, so they are kept as integers and made into a `Usage` when
somebody looks.
"""

from dataclasses import dataclass, field

from fanout.words.model import Usage


@dataclass(slots=True)
class Sum:
    """A running total in the API's four classes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def add(self, usage: Usage) -> None:
        """Count `usage` in."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_read += usage.cache_read_input_tokens
        self.cache_creation += usage.cache_creation_input_tokens

    def take(self, usage: Usage) -> None:
        """Count `usage` out again."""
        self.input_tokens -= usage.input_tokens
        self.output_tokens -= usage.output_tokens
        self.cache_read -= usage.cache_read_input_tokens
        self.cache_creation -= usage.cache_creation_input_tokens

    def usage(self) -> Usage:
        """The total as a frozen value."""
        return Usage(
            self.input_tokens,
            self.output_tokens,
            self.cache_read,
            self.cache_creation,
        )


@dataclass(slots=True)
class Ledger:
    """What all rows have cost over all lives, dropped rows included."""

    useful: Sum = field(default_factory=Sum)
    wasted: Sum = field(default_factory=Sum)
    in_doubt: Sum = field(default_factory=Sum)
    refusals_429: int = 0
    refusals_529: int = 0
    reused: int = 0


def minus(left: Usage, right: Usage) -> Usage:
    """`left` without `right`."""
    return Usage(
        left.input_tokens - right.input_tokens,
        left.output_tokens - right.output_tokens,
        left.cache_read_input_tokens - right.cache_read_input_tokens,
        left.cache_creation_input_tokens - right.cache_creation_input_tokens,
    )
