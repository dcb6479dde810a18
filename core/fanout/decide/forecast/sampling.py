"""Which first requests the account is asked to count, before anything is spent.

Counting is free and takes a moment. A few requests say what a vocabulary makes of
all of them, if they differ in what they hold and in how much.
"""

from collections.abc import Iterable, Sequence

from fanout.decide.calibration import generation
from fanout.decide.forecast.openings import calibrated
from fanout.decide.forecast.outlook import Outlook
from fanout.decide.parts.content import WEIGHTS, Content, Kind, weight
from fanout.words.model import RowId

MOST = 24
"""Requests that are counted."""
WORTH = 20_000
"""Tokens below which a run is not worth the moment."""
LARGEST = 1_000_000
"""Tokens of a request above which it is not sent to be counted."""
SURE = 0.05
"""What was learned earlier is good enough within this share."""

Opening = tuple[RowId, str, Content]
"""A row, its model, and what its first request is made of."""


def is_needed(outlook: Outlook) -> bool:
    """Whether the rows of this outlook are many and their estimates unsure."""
    known = calibrated(outlook)
    if known is None or known.error <= SURE:
        return False
    given = (weight(group.fresh_given) for group in outlook.groups.values())
    return sum(given) >= WORTH


def chosen(openings: Iterable[Opening], most: int = MOST) -> list[RowId]:
    """Return the rows whose requests tell most: of all sizes, and of all contents."""
    known = [one for one in openings if one[2] and weight(one[2]) <= LARGEST]
    if len(known) <= most:
        return [row for row, _, _ in known]
    by_size = sorted(
        known, key=lambda one: (generation(one[1]), weight(one[2]), one[0])
    )
    by_content = sorted(
        known, key=lambda one: (generation(one[1]), _words(one[2]), one[0])
    )
    found = dict.fromkeys([*_spread(by_content, most // 2), *_spread(by_size, most)])
    return list(found)[:most]


def _words(content: Content) -> float:
    return WEIGHTS[Kind.WORDS] * content[Kind.WORDS] / (weight(content) or 1.0)


def _spread(ordered: Sequence[Opening], count: int) -> list[RowId]:
    """Return so many of them, evenly from the first to the last."""
    step = (len(ordered) - 1) / max(1, count - 1)
    return [ordered[round(at * step)][0] for at in range(count)]
