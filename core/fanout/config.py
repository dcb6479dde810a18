"""What a run is told from outside: plain data, checked where it came from."""

from dataclasses import dataclass
from pathlib import Path

from fanout.decide.budget import Budget
from fanout.decide.ending import Tolerance
from fanout.decide.selection import EVERYTHING, Selection
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
