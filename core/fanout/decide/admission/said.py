"""Figures that a refusal's text names, for where no header does.

A gateway that strips headers leaves the body as it is, and the service's 429 says
in words which limit was met and how large it is; the acceleration limit is said
nowhere else at all. A text that reads otherwise says nothing: no figure is guessed.
"""

import re
from dataclasses import dataclass

from fanout.words.model import Dimension

LIMIT = re.compile(
    r"rate limit of (?P<limit>\d[\d,]*) (?P<unit>[a-z ]+?) per minute", re.IGNORECASE
)
RAMP = re.compile(
    r"current limit is (?P<now>\d[\d,]*) .{0,60}?"
    r"increase to (?P<next>\d[\d,]*) at the next minute",
    re.IGNORECASE,
)
UNITS = {
    "requests": Dimension.REQUESTS,
    "request": Dimension.REQUESTS,
    "input tokens": Dimension.INPUT,
    "prompt tokens": Dimension.INPUT,
    "output tokens": Dimension.OUTPUT,
}
# Longer is no figure of an account, and not worth the arithmetic.
DIGITS_MAX = 13


@dataclass(frozen=True, slots=True)
class SaidLimit:
    """A limit a minute."""

    dimension: Dimension
    limit: int


@dataclass(frozen=True, slots=True)
class SaidRamp:
    """What this minute may hold, and the next."""

    ceiling: int
    following: int


def said_limit(text: str) -> SaidLimit | None:
    """The limit that a 429 says was met."""
    found = LIMIT.search(text)
    if found is None:
        return None
    dimension = UNITS.get(found["unit"].lower())
    limit = _figure(found["limit"])
    if dimension is None or not limit:
        return None
    return SaidLimit(dimension, limit)


def said_ramp(text: str) -> SaidRamp | None:
    """The acceleration limit of this minute and of the next."""
    found = RAMP.search(text)
    if found is None:
        return None
    ceiling, following = _figure(found["now"]), _figure(found["next"])
    if not ceiling or following < ceiling:
        return None
    return SaidRamp(ceiling, following)


def _figure(text: str) -> int:
    """The number; 0 where it makes no sense."""
    digits = text.replace(",", "")
    return int(digits) if digits and len(digits) <= DIGITS_MAX else 0
