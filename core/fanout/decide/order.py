"""Which waiting call goes first.

A queue in the order of arrival ends at 1.13 to 1.16 of the bound on the rig that
the others are measured on; smallest first at 1.23 to 1.31; longest remaining
chain first at 1.04. Agents' later turns depend on their earlier ones, so the
agent with the most turns ahead decides when the run ends.
"""

from typing import Any


def priority(
    *,
    throttled: bool,
    turns_done: int,
    remaining: float,
    order: int,
) -> tuple[Any, ...]:
    """Sorts the first to go first.

    `remaining` is the expected time or work still ahead of the row, 0 where
    nothing is known; `order` its position among the rows of the run.
    """
    return (0 if throttled else 1, -remaining, -turns_done, order)
