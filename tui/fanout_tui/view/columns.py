"""Which columns a table of rows has at a width, and how wide each is.

Columns drop in a fixed order as room shrinks, so a narrower window never shows
something a wider one does not. What remains after the fixed columns is shared
by the partition and the reason; they are never dropped.
"""

from dataclasses import dataclass

STATUS_SHORT = 9
STATUS_LONG = 20
"""`throttled — retrying`."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of each column; 0 where it is dropped."""

    status: int
    partition: int
    tries: int
    tokens_in: int
    tokens_out: int
    cached: int
    time: int
    age: int
    now: int


@dataclass(frozen=True, slots=True)
class _Optional:
    """A column and the width from which there is room for it."""

    name: str
    cells: int
    least: int


_OPTIONAL = (
    _Optional("time", 6, 50),
    _Optional("tries", 3, 60),
    _Optional("tokens_in", 5, 68),
    _Optional("tokens_out", 5, 74),
    _Optional("age", 4, 79),
    _Optional("cached", 6, 124),
)
"""In the order in which they come back; the last one drops first."""

LONG_STATUS_FROM = 110
WORD_FROM = 46
"""Below it the symbol has to do."""
WIDE = 60
LEAD = 3
"""Cursor, symbol and a space."""


def columns(width: int) -> Columns:
    """The columns for a table `width` cells wide."""
    status = STATUS_LONG if width >= LONG_STATUS_FROM else STATUS_SHORT
    if width < WORD_FROM:
        status = 0
    there = {c.name: c.cells for c in _OPTIONAL if width >= c.least}
    fixed = LEAD + (status + 1 if status else 0)
    fixed += sum(cells + 1 for cells in there.values())
    room = max(0, width - fixed - 2)
    partition = room // 2 if room < WIDE else min(60, room * 9 // 20)
    return Columns(
        status=status,
        partition=partition,
        tries=there.get("tries", 0),
        tokens_in=there.get("tokens_in", 0),
        tokens_out=there.get("tokens_out", 0),
        cached=there.get("cached", 0),
        time=there.get("time", 0),
        age=there.get("age", 0),
        now=room - partition,
    )
