"""Which waiting call goes first.

Two things are wanted, and they disagree. People want agents that have already
spent to be finished before new ones are begun: results come early, caches stay
warm, and a stop leaves few halves. The clock wants the opposite: an agent's turns
depend on each other, so the one with the most turns ahead decides when the run
ends, and it should not be the one that was begun last.

The disagreement only matters near the end. While the line is long compared with
how long a call takes (`roomy`), whoever has spent goes first and new ones start
in the order they were declared. Once it is short, the longest remaining chain
goes first: by `remaining` where somebody knows it, else by fewest turns done, for
in one phase that is the same; among equals the few very large calls go last,
since a large call at the head keeps many short chains from moving.

On virtual time (`tests/bench/admission_virtual.py`, 16 seeds, makespan / bound),
on the rig of 40 agents with 4 calls each, which the line makes `not roomy`:

| order | x bound |
|---|--:|
| longest remaining chain, all knowing (`remaining` declared) | 1.05 |
| this rule, nothing known ahead | 1.12 |
| order of arrival | 1.13 |
| most turns first, always | 1.23 |
| declared order, always | 1.22 |
| a first call's input taken for `remaining` | 1.18 |

and on 220 conversations of 2 to 16 turns (11 minutes): 1.002 all knowing, 1.004
this rule and arrival, 1.022 most turns first, 1.03 a first call's input taken for
`remaining`. So finishing what was begun costs nothing while the line is long. What
separates the rule from the all-knowing order on a short run is the length of
answers, which nobody knows; where a script does know how many seconds lie ahead,
`remaining` takes them, and nothing else.

A call that met a limit goes back to the front in either order: it has waited for
its turn once.
"""

from typing import Any, NamedTuple

# The line is roomy while draining it takes this many typical calls' time. Fewer,
# and the last agents are begun so late that their turns end alone.
ROOMY_CALLS = 6.0
# The two figures around the switch differ, or a line at the edge is sorted anew
# with every call.
ROOMY_AGAIN = 1.5
# How many later arrivals a turn, or a large call, lets pass. Not all of them: beside
# a stream of new calls an old conversation or a large call would wait for ever.
TURN_ARRIVALS = 64
LARGE_ARRIVALS = 24
# A call this many times the mean is large.
LARGE = 2.5


class Rank(NamedTuple):
    """What the order of a waiting call depends on."""

    fresh: bool
    """False for a call that was refused for a limit or the service's trouble."""
    remaining: float
    """Seconds of the row that are known to lie ahead; 0: not known."""
    turns: int
    """Turns the row has finished."""
    order: int
    """The row's position among the rows of the run."""


def priority(
    *,
    throttled: bool,
    turns_done: int,
    order: int,
    remaining: float = 0.0,
) -> Rank:
    """The rank of a waiting call; the line makes places of ranks."""
    return Rank(not throttled, remaining, turns_done, order)


def place(
    rank: tuple[Any, ...], *, roomy: bool, large: bool, arrival: int
) -> tuple[Any, ...]:
    """Sorts the first to go first; any other tuple than a rank is its own place."""
    if not isinstance(rank, Rank):
        return rank
    if roomy:
        return (rank.fresh, -rank.turns, rank.order)
    later = TURN_ARRIVALS * rank.turns + LARGE_ARRIVALS * large
    return (rank.fresh, -rank.remaining, arrival + later)


def is_roomy(*, drain_seconds: float, call_seconds: float, was: bool) -> bool:
    """Whether the line is long compared with how long a call takes."""
    edge = ROOMY_CALLS * call_seconds
    return drain_seconds > (edge if was else edge * ROOMY_AGAIN)
