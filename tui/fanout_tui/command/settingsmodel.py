"""Every setting once: its name, its form, what it is for.

A field has the name of its option, and holds the text that would stand there, so
that option and setting are read by the same code.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _text(value: Any) -> Any:
    """Numbers may be numbers; a truth value is a mistake."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.10g}" if isinstance(value, float) else str(value)
    return value


def _texts(value: Any) -> Any:
    """Take `2`, `"2, audit=5%"`, `[2, "audit=5%"]` and `{audit = "5%"}` alike."""
    if isinstance(value, Mapping):
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list):
        return [_text(one) for one in value]
    if isinstance(value, str):
        return [one.strip() for one in value.split(",") if one.strip()]
    return [_text(value)]


Text = Annotated[str, BeforeValidator(_text)]


def _sums(value: Any) -> Any:
    """Take texts as above; commas between digits are no separators."""
    if isinstance(value, str):
        return [one.strip() for one in _BETWEEN_SUMS.split(value) if one.strip()]
    return _texts(value)


Texts = Annotated[list[str], BeforeValidator(_texts)]
Sums = Annotated[list[str], BeforeValidator(_sums)]
_BETWEEN_SUMS = re.compile(r"(?<![0-9]),|,(?![0-9]{3}(?:[^0-9]|$))")


class PriceSetting(BaseModel):
    """What a file says of one model: dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", strict=False, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float = Field(1.25, ge=0)
    cache_read: float = Field(0.1, ge=0)
    long_over: int | None = Field(None, ge=1)
    long_input: float = Field(0.0, ge=0)
    long_output: float = Field(0.0, ge=0)


class Settings(BaseModel):
    """What file and environment may say."""

    model_config = ConfigDict(extra="forbid")

    profile: str = Field("", description="which simulated account")
    model: str = Field("", description="for agents that name none")
    concurrency: Text = Field("", description="a ceiling on calls in flight, or auto")
    max_tokens_total: Sums = Field(
        [], description="budgets in tokens, of the run or by phase"
    )
    max_usd: Sums = Field([], description="budgets in dollars, the same")
    lane: str = Field("", description="live, or batch at half the price")
    allow_missing: Texts = Field([], description="acceptable holes, in all or by phase")
    timeout: Texts = Field([], description="how long to wait for what, by name")
    run_dir: str = Field("", description="where runs are kept")
    out: str = Field("", description="where outputs go")
    report: Texts = Field([], description="reports to write at the end")
    no_tui: bool = Field(False, description="plain lines instead of the screen")
    ascii: bool = Field(False, description="draw with ASCII characters only")
    theme: str = Field("", description="colours of the screen")
    exit_when_done: bool = Field(False, description="leave the screen at the end")
    prices: dict[str, PriceSetting] = Field(
        {}, description="of models, in dollars per million tokens"
    )


NAMES = tuple(name for name in Settings.model_fields if name != "prices")
"""Those that an option or a variable says, too."""
