"""What a run is told from outside: plain data, checked where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fanout.decide.ending import Tolerance
from fanout.decide.money.pricing import BUILT_IN
from fanout.decide.selection import EVERYTHING, Selection
from fanout.words.budgets import Budget
from fanout.words.prices import Prices
from fanout.words.timeouts import Timeouts

DEFAULT_MODEL = "claude-sonnet-5"
"""For agents that name no model, where neither `--model` nor ANTHROPIC_MODEL does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One life of a run, as it was asked for."""

    script: Path
    arguments: tuple[str, ...] = ()
    simulate: bool = False
    profile: str = "evaluation"
    model: str = DEFAULT_MODEL
    concurrency: int | None = None
    """None is `auto`."""
    budget: Budget = Budget()
    """In a resumed run, what is not said is what it was."""
    phase_budgets: Mapping[str, Budget] = field(default_factory=dict)
    prices: Prices = BUILT_IN
    tolerance: Tolerance = Tolerance()
    selection: Selection = EVERYTHING
    yes: bool = False
    """Spend without asking."""
    dry: bool = False
    """Find out what would run, and send nothing."""
    lane: str | None = None
    """`live` or `batch`, for agents that name none; None is live, and in a resumed
    run what it was."""
    fresh: bool = False
    resume: str | None = None
    run_dir: Path = Path(".fanout")
    out_dir: Path | None = None
    """None: `out` in the run's folder."""
    reports: tuple[Path, ...] = ()
    timeouts: Timeouts = Timeouts()
