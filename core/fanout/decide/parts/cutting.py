"""A sequence into runs that fit, at places that stay where they are.

Filling runs one after the other would move every later cut when one early unit
grows. Here a run that does not fit is cut near its middle, again and again until all
fit, at a place that is chosen by what stands there:

    of the places in the middle half   those of the highest rank (a definition goes
                                       before a blank line)
    of these, if there are many        those of the highest level, a hash
    of these                           the one next to the middle

So an edit changes the run that holds it, or lets it fall into several, or several
into one. Other cuts follow only when the edit moves a middle past the midpoint of two
places that weigh the same; `level` sees to it that such places lie far apart where
there are many runs. Runs are about two thirds full, as the leaves of any tree that
splits in two; being fuller would cost the stability.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate

FEW = 48
"""Up to so many places, a moved cut moves few others: the middle is worth more."""
_LEVEL_BITS = 3
_HASH_BITS = 64


@dataclass(frozen=True, slots=True)
class Places:
    """For each unit, how good the place before it is for a cut."""

    ranks: Sequence[int]
    levels: Callable[[Sequence[int]], Sequence[int]]
    """The `level` of each of some places; asked for where many are of one rank."""


def equal(levels: Sequence[int]) -> Places:
    """Return places of one rank, which only their levels tell apart."""
    return Places(bytes(len(levels)), lambda found: [levels[at] for at in found])


def level(place: bytes) -> int:
    """Return 0 to 21 for what stands at a place: one in 8 has 1 or more, and so on."""
    hashed = int.from_bytes(blake2b(place, digest_size=_HASH_BITS // 8).digest())
    return (_HASH_BITS - hashed.bit_length()) // _LEVEL_BITS


def cut(sizes: Sequence[int], places: Places, room: int) -> list[range]:
    """Return ranges that cover `sizes` in order, each of at most `room` in sum.

    A unit larger than `room` is a range of its own.
    """
    before = [0, *accumulate(sizes)]
    done: list[range] = []
    waiting = [(0, len(sizes))] if sizes else []
    while waiting:
        start, end = waiting.pop()
        if before[end] - before[start] <= room or end - start == 1:
            done.append(range(start, end))
            continue
        at = _place(before, places, start, end)
        waiting += [(at, end), (start, at)]
    return done


def _place(before: list[int], places: Places, start: int, end: int) -> int:
    """Return where to cut; `start` < it < `end`."""
    size = before[end] - before[start]
    middle = before[start] + size / 2
    first = max(start + 1, bisect_left(before, middle - size / 4, start, end))
    last = min(end, bisect_left(before, middle + size / 4, start, end) + 1)
    if first >= last:
        first, last = start + 1, end
    ranks = places.ranks[first:last]
    top = max(ranks)
    found = [at for at, rank in enumerate(ranks, first) if rank == top]
    if len(found) > FEW:
        levels = places.levels(found)
        high = max(levels)
        found = [at for at, one in zip(found, levels, strict=True) if one == high]
    return min(found, key=lambda at: abs(before[at] - middle))
