"""Budgets and prices as options and settings say them.

--max-usd 10  --max-usd audit=2.50      the run's, and one phase's
[tool.fanout.prices."my-model"]         dollars per million tokens
input = 1.0
output = 5.0
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fanout.decide.money.pricing import BUILT_IN, overridden
from fanout.errors import UsageError
from fanout.script.naming import checked_phase
from fanout.words.budgets import Budget
from fanout.words.prices import Price, Prices

RUN = ""
NONE = Budget()


def read_budgets(tokens: Sequence[str], dollars: Sequence[str]) -> dict[str, Budget]:
    """Return budgets by phase, the run's at "". The last word on each holds."""
    by_phase: dict[str, Budget] = {}
    for text in tokens:
        phase, figure = _split(text, "--max-tokens-total")
        given = Budget(tokens=positive(figure, "--max-tokens-total"))
        by_phase[phase] = given.over(by_phase.get(phase, NONE))
    for text in dollars:
        phase, figure = _split(text, "--max-usd")
        given = Budget(dollars=_dollars(figure))
        by_phase[phase] = given.over(by_phase.get(phase, NONE))
    return by_phase


def _split(text: str, option: str) -> tuple[str, str]:
    phase, equals, figure = text.rpartition("=")
    if not equals:
        return RUN, figure
    try:
        return checked_phase(phase), figure
    except UsageError as error:
        raise UsageError(f"{option} {text}: {error}", hint=error.hint) from error


def positive(text: str | None, option: str, hint: str = "") -> int | None:
    """Return a whole number above zero; None where nothing was said."""
    if text is None:
        return None
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise UsageError(
            f"{option} takes a whole number above 0, not `{text}`",
            hint=hint or f"for instance {option} 100000",
        )
    return int(digits)


def _dollars(text: str) -> float:
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise UsageError(
            f"--max-usd takes dollars above 0, not `{text}`",
            hint="for instance --max-usd 2.50, or --max-usd audit=2.50",
        )
    return value


def read_prices(said: Mapping[str, Mapping[str, Any]] | None) -> Prices:
    """Return the price table with what the settings say of single models."""
    return overridden(BUILT_IN, {m: Price(**one) for m, one in (said or {}).items()})
