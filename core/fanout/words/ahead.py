"""Facts about what is to come: what runs again, and what all of it will take.

They are part of `fanout.words.events.Event` like all others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanout.words.model import RowId, Usage

Json = Any
"""A JSON value: what a journal line can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsAgain:
    """The row is known from earlier work, and that cannot serve it."""

    row: RowId
    why: str
    """In one of the words of `fanout.decide.again`: `its inputs changed`."""
    detail: str = ""
    """For instance the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasted:
    """What the agents known so far are expected to take, before they spend it.

    Said anew when more agents appear; each one covers the whole life so far.
    """

    reused: int
    """Rows that earlier work serves."""
    kept: int
    """Rows that go on from turns of an earlier life."""
    again: Mapping[str, int]
    """Rows that run again, by why."""
    figures: Json
    """`fanout.words.forecast.Forecast.as_dict`."""
    text: str
    """The same in one sentence."""
    warns: bool = False
    """Earlier work was expected to serve, and nothing of it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningsCounted:
    """The account was asked how many tokens some first requests have."""

    counts: tuple[Json, ...] = ()
    """Of each: its model, what it is made of, and its tokens."""
    failed: str = ""
    """Why not all that was asked for came; empty when all did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What there is to compare."""

    first: Forecasted
    """Of the first wave: what was known before anything was spent."""
    last: Forecasted
    """All waves together, each as it appeared."""
    at: float
    """Wall-clock second of the first."""
    before: Usage
    """What earlier lives had used."""
    dollars_before: float | None = 0.0
