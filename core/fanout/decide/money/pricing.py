"""Dollars per token by model; an unknown price is None, never 0.

The built-in table is that of `models.toml`. A life's table is that with what the
settings say of single models laid over it. It is journaled whole at the life's start
(`as_json`, `from_json`), so that a replay comes to the same dollars, also by a later
version.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from fanout.decide.models import TABLE, undated
from fanout.words.model import Usage
from fanout.words.prices import Price, Prices

_MILLION = 1_000_000


def as_json(prices: Prices) -> dict[str, Any]:
    """Return a table as plain values."""
    return {
        "as_of": prices.as_of,
        "source": prices.source,
        "overridden": list(prices.overridden),
        "models": {name: asdict(price) for name, price in prices.models.items()},
    }


def from_json(table: Mapping[str, Any]) -> Prices:
    """Return the table that was journaled; fields of later versions are passed over."""
    known = Price.__dataclass_fields__
    return Prices(
        as_of=table["as_of"],
        source=table["source"],
        overridden=tuple(table.get("overridden", ())),
        models={
            name: Price(**{k: v for k, v in one.items() if k in known})
            for name, one in table["models"].items()
        },
    )


_PRICED = {name: one for name, one in TABLE["models"].items() if "input" in one}
BUILT_IN = from_json({**TABLE, "models": _PRICED})


def overridden(prices: Prices, by: Mapping[str, Price]) -> Prices:
    """Return a table in which these models have these prices."""
    if not by:
        return prices
    return replace(prices, models={**prices.models, **by}, overridden=tuple(sorted(by)))


def price_of(model: str, prices: Prices) -> Price | None:
    """Return a model's price; dated ids (`…-20251001`) share their model's."""
    found = prices.models.get(model)
    return prices.models.get(undated(model)) if found is None else found


def dollars(model: str, usage: Usage, prices: Prices) -> float | None:
    """Return what one call's usage costs; None when the price is unknown.

    Of one call: a prompt's length may decide the price.
    """
    price = price_of(model, prices)
    if price is None:
        return None
    prompt = usage.charged_input + usage.cache_read_input_tokens
    long = price.long_over is not None and prompt > price.long_over
    into = price.long_input if long else price.input
    out = price.long_output if long else price.output
    return (
        usage.input_tokens * into
        + usage.cache_creation_input_tokens * into * price.cache_write
        + usage.cache_read_input_tokens * into * price.cache_read
        + usage.output_tokens * out
    ) / _MILLION
