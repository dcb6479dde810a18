"""The one fact that nothing is decided by."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What admission showed at a moment, for whoever was not there to see it.

    Nothing is decided by it: watching, replaying and timelines read it. In the form
    of `fanout.decide.observing`.
    """

    pools: Any
    gates: Any
    ceiling: Any
    left: Any = None
    """What was left to do, as far as it was forecast."""
