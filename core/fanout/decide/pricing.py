"""Dollars per token by model; an unknown price is None, never 0.

Prices in dollars per million tokens, as published for late 2026; cache writes
cost 1.25 times the input price (five-minute entries), cache reads a tenth.
"""

from dataclasses import dataclass

from fanout.words.model import Usage

PRICES_OF = "2026-11"
_MILLION = 1_000_000
_CACHE_WRITE = 1.25
_CACHE_READ = 0.1


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    long_over: int | None = None
    """Prompts of more tokens than this are charged at the long prices."""
    long_input: float = 0.0
    long_output: float = 0.0


PRICES = {
    "claude-fable-5-2": Price(8, 40),
    "claude-fable-5-1": Price(10, 50),
    "claude-fable-5": Price(10, 50),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
    "claude-opus-4-8": Price(5, 25),
    "claude-opus-4-7": Price(5, 25),
    "claude-opus-4-6": Price(5, 25),
    "claude-opus-4-5": Price(5, 25),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-sonnet-4-5": Price(3, 15),
    "claude-haiku-5-5": Price(0.10, 0.50, 100_000, 0.50, 2.50),
    "claude-haiku-4-5": Price(1, 5),
}


def price_of(model: str) -> Price | None:
    """Return a model's price; dated ids (`…-20251001`) share their model's."""
    if model in PRICES:
        return PRICES[model]
    base, _, date = model.rpartition("-")
    return PRICES.get(base) if date.isdigit() and len(date) == len("20251001") else None


def dollars(model: str, usage: Usage) -> float | None:
    """Return what one call's usage costs; None when the price is unknown."""
    price = price_of(model)
    if price is None:
        return None
    prompt = usage.charged_input + usage.cache_read_input_tokens
    long = price.long_over is not None and prompt > price.long_over
    into = price.long_input if long else price.input
    out = price.long_output if long else price.output
    return (
        usage.input_tokens * into
        + usage.cache_creation_input_tokens * into * _CACHE_WRITE
        + usage.cache_read_input_tokens * into * _CACHE_READ
        + usage.output_tokens * out
    ) / _MILLION
