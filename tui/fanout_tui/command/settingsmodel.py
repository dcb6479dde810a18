"""Every setting once: its name, its form, what it is for.

A field has the name of its option, and holds the text that would stand there, so
that option and setting are read by the same code.
"""

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
Texts = Annotated[list[str], BeforeValidator(_texts)]


class Settings(BaseModel):
    """What file and environment may say."""

    model_config = ConfigDict(extra="forbid")

    profile: str = Field("", description="which simulated account")
    model: str = Field("", description="for agents that name none")
    concurrency: Text = Field("", description="a ceiling on calls in flight, or auto")
    max_tokens_total: Text = Field("", description="budget in tokens, over all lives")
    max_usd: Text = Field("", description="budget in dollars, over all lives")
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


NAMES = tuple(Settings.model_fields)
