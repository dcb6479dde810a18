"""Which waiting call goes first.

Two things are wanted, and they disagree. People want agents that have already
spent to be finished before new ones are begun: results come early, caches stay
warm, and a stop leaves few halves. The clock wants the opposite: an agent's turns
depend on each other, so the one with the most turns ahead decides when the run
ends, and it should not be the one that was begun last.

The disagreement only matters near the end. While the line is long compared with
how long a call takes (`roomy`), whoever has spent goes first and new ones start
in the order they were declared. Once it is short, the longest path that can be
expected to lie ahead goes first: how many turns such conversations have had, and
how long this one's own turns have taken (`paths`). Among equals the few very large
calls go last, since a large call at the head keeps many short chains from moving.

On virtual time (`tests/bench/admission_virtual.py`, 16 seeds, median of makespan /
bound): the rig is 40 agents with 4 calls each, `heavy` and `turns` are the workloads
of `tests/bench/compare.py`. All three make a line that is `not roomy`.

| order | rig | heavy | turns |
|---|--:|--:|--:|
| longest remaining chain, all knowing | 1.05 | 1.05 | 1.06 |
| this rule, nothing known ahead | 1.11 | 1.14 | 1.14 |
| fewest turns first | 1.12 | 1.14 | 1.18 |
| order of arrival | 1.12 | 1.15 | 1.18 |
| most turns first, always | 1.23 | 1.27 | 1.33 |
| declared order, always | 1.23 | 1.32 | 1.32 |
| larger first input first | 1.18 | 1.29 | 1.33 |

What separates the rule from the all-knowing order is the length of answers and the
number of turns, which nobody knows. Somebody who knew from the start how both are
distributed, and only not how each will turn out, would end `heavy` at 1.12 and `turns`
at 1.12 on an account that is never late, where arrival order ends at 1.13 and 1.16;
and the last call alone, let in at the bound and as long as answers are in the mean,
makes 1.09 and 1.08 of it (`tests/bench/compare_ideal.py`).

A call that met a limit goes back to the front in either order: it has waited for
its turn once.
"""

from typing import Any, NamedTuple

from fanout.decide.admission.paths import Past

# The line is roomy while draining it takes this many typical calls' time. Fewer,
# and the last agents are begun so late that their turns end alone.
ROOMY_CALLS = 6.0
# The two figures around the switch differ, or a line at the edge is sorted anew
# with every call.
ROOMY_AGAIN = 1.5
# How many later arrivals pass one that has a typical call's time less ahead of it than
# they have, and how much of what lies ahead counts. Not all arrivals, or beside a
# stream of new calls an old conversation would wait for ever.
AHEAD_ARRIVALS = 128
AHEAD_MOST = 32.0
# How many pass a large call.
LARGE_ARRIVALS = 24
# A call this many times the mean is large.
LARGE = 2.5


class Rank(NamedTuple):
    """What the order of a waiting call depends on."""

    fresh: bool
    """False for a call that was refused for a limit or the service's trouble."""
    turns: int
    """Turns the row has finished."""
    order: int
    """The row's position among the rows of the run."""
    past: Past | None = None
    """What its conversation has shown; None: nothing is known."""


def priority(
    *,
    throttled: bool,
    turns_done: int,
    order: int,
    past: Past | None = None,
) -> Rank:
    """The rank of a waiting call; the line makes places of ranks."""
    return Rank(not throttled, turns_done, order, past)


def place(
    rank: tuple[Any, ...], *, roomy: bool, large: bool, arrival: int, ahead: float
) -> tuple[Any, ...]:
    """Sorts the first to go first; any other tuple than a rank is its own place.

    `ahead` is what is expected to lie ahead of the row, in typical calls.
    """
    if not isinstance(rank, Rank):
        return rank
    if roomy:
        return (rank.fresh, -rank.turns, rank.order)
    sooner = AHEAD_ARRIVALS * min(ahead, AHEAD_MOST)
    return (rank.fresh, arrival - sooner + LARGE_ARRIVALS * large)


def is_roomy(*, drain_seconds: float, call_seconds: float, was: bool) -> bool:
    """Whether the line is long compared with how long a call takes."""
    edge = ROOMY_CALLS * call_seconds
    return drain_seconds > (edge if was else edge * ROOMY_AGAIN)
