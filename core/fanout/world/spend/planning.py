"""What a life is told about its beginning: before anything is spent."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fanout.decide.forecast.duration import Limit
from fanout.decide.selection import EVERYTHING, Selection
from fanout.words.budgets import Budget
from fanout.words.model import Dimension

DRY = "dry run"
"""Cause of the stop that ends one."""
DRY_SECONDS = 0.5
"""How long a script that waits may still ask for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The script, as far as it can be asked whether it waits."""

    ask_quiet: Callable[[int], None] = lambda _: None
    """Ends in `Quiet` with this number once the script waits; may never."""
    patience: float = 0.0
    """Seconds without a word after which it is taken to wait."""


def _nothing_known(_pool: str, _model: str) -> Mapping[Dimension, Limit]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the account before it has answered."""

    of: Callable[[str, str], Mapping[Dimension, Limit]] = _nothing_known
    """The buckets of a pool, one of whose models is named too."""
    source: str = ""
    """Where that is from: `as learned on 2026-11-30`."""


class Asks(Enum):
    """What happens above what may be spent without a word."""

    NEVER = "never"
    """It is spent: nobody has to be asked."""
    SOMEBODY = "somebody"
    REFUSES = "refuses"
    """There is nobody to ask: the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What a run is to do before it spends."""

    script: Script = Script()
    selection: Selection = EVERYTHING
    known: Callable[[], Known] = Known
    """What is known ahead; it has been worked out when the first wave comes."""
    asks: Asks = Asks.NEVER
    budget: Budget = Budget()
    phase_budgets: Mapping[str, Budget] = field(default_factory=dict)
    """Of phases, as the options have them."""
    raises: bool = False
    """Somebody can be asked whether a budget is to be raised."""
    counts: bool = False
    """Have the account count some first requests before the first forecast."""
    dry: bool = False
    """Spend nothing: find out what would run, and end."""
    keep: Callable[[Mapping[str, Mapping[Dimension, Limit]], float], None] = (
        lambda _pools, _now: None
    )
    """Remembers limits that were learned, at this wall-clock second; may block."""
    threads: Callable[..., Awaitable[Any]] = asyncio.to_thread
    """Where that is done."""
