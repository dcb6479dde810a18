"""What agents of one kind have used, and what others of the kind will.

A sample holds sums only, so it is as large after a million agents as after one. What
an agent uses is taken to grow with what it is given: `use = a + b · size`, where
neither is below 0. With few agents the tokens that are read are taken to be
proportional to the size and all else to be the same for each; the more agents were
seen, the more the slope is what they had.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from fanout.words.forecast import Range
from fanout.words.model import Usage


class Use(IntEnum):
    """What is counted of an agent; places in a sample's lists."""

    INPUT = 0
    CACHE_WRITE = 1
    CACHE_READ = 2
    OUTPUT = 3
    CALLS = 4
    SECONDS = 5
    """Of its calls together."""


GROWS = frozenset({Use.INPUT, Use.CACHE_WRITE, Use.CACHE_READ})
"""What is proportional to the size until the agents say otherwise."""
INPUTS = (Use.INPUT, Use.CACHE_WRITE, Use.CACHE_READ)
"""What is read; the first places of a sample's lists."""
AGAIN = 0.1
"""How much calls of agents without tools differ, squared, before many were seen."""
# So many agents weigh as much as that expectation.
SLOPE_WEIGHT = 8.0
# Sizes that differ by less than this share say nothing about a slope.
ALIKE = 0.05
# Before there are many, agents are taken to differ by this share.
UNSURE = 0.35
# Nine of ten lie within so many standard deviations.
SPREADS = 1.64
# No forecast is better than this: the account's own pace, luck of the cache.
LEAST_SPREAD = 0.03


def used(usage: Usage, calls: int, seconds: float) -> list[float]:
    """What an agent has used, in the places that `Use` names."""
    return [
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        usage.output_tokens,
        calls,
        seconds,
    ]


def _zeros() -> list[float]:
    return [0.0] * len(Use)


@dataclass(slots=True)
class Sample:
    """Agents that have ended."""

    count: float = 0.0
    size: float = 0.0
    size_squared: float = 0.0
    sums: list[float] = field(default_factory=_zeros)
    squares: list[float] = field(default_factory=_zeros)
    crossed: list[float] = field(default_factory=_zeros)
    """Sums of size times use."""

    def learn(self, size: float, values: Sequence[float]) -> None:
        """Take in one agent of `size` bytes."""
        self.count += 1
        self.size += size
        self.size_squared += size * size
        for at, value in enumerate(values):
            self.sums[at] += value
            self.squares[at] += value * value
            self.crossed[at] += size * value

    def joined(self, other: "Sample", most: float) -> "Sample":
        """Both together, the other one counting for at most so many agents."""
        share = min(1.0, most / other.count) if other.count else 0.0
        return Sample(
            self.count + share * other.count,
            self.size + share * other.size,
            self.size_squared + share * other.size_squared,
            _plus(self.sums, other.sums, share),
            _plus(self.squares, other.squares, share),
            _plus(self.crossed, other.crossed, share),
        )

    def of(self, use: Use, count: float, size: float) -> Range:
        """What `count` more agents of `size` bytes together will use."""
        if not self.count or not count:
            return Range()
        mean = self.sums[use] / self.count
        slope = self._slope(use, mean)
        expected = count * (mean - slope * self.size / self.count) + slope * size
        variance = self._variance(use, mean)
        # They differ from each other, and all of them from what was seen so far.
        sigma = math.sqrt(count * variance + count * count * variance / self.count)
        spread = max(SPREADS * sigma, LEAST_SPREAD * expected)
        return Range(max(0.0, expected - spread), expected, expected + spread)

    def input(self, given: Range) -> list[Range]:
        """What agents without tools read that are given so many tokens.

        All of it once, and again with every call of theirs beyond the first; in the
        three classes of input as those that ended had it.
        """
        calls = max(1.0, self.sums[Use.CALLS] / self.count)
        varies = max(0.0, self.squares[Use.CALLS] / self.count - calls * calls)
        varies = (self.count * varies + AGAIN) / (self.count + 1) / self.count
        error = SPREADS * math.sqrt(varies)
        read = Range(
            given.low * max(1.0, calls - error),
            given.expected * calls,
            given.high * (calls + error),
        )
        known = [self.sums[use] for use in INPUTS]
        whole = sum(known)
        return [read.times(one / whole if whole else one == known[0]) for one in known]

    def longest(self, use: Use, count: float) -> float:
        """What the one of `count` agents that uses most is expected to use."""
        if not self.count:
            return 0.0
        mean = self.sums[use] / self.count
        variance = max(0.0, self.squares[use] / self.count - mean * mean)
        return mean + math.sqrt(2 * math.log(max(1.0, count)) * variance)

    def _slope(self, use: Use, mean: float) -> float:
        """Use per byte: between none and all of it."""
        size = self.size / self.count
        if size <= 0:
            return 0.0
        proportional = mean / size
        supposed = proportional if use in GROWS else 0.0
        variance = self.size_squared / self.count - size * size
        if variance <= (ALIKE * size) ** 2:
            return supposed
        seen = (self.crossed[use] / self.count - mean * size) / variance
        weight = self.count / (self.count + SLOPE_WEIGHT)
        slope = weight * seen + (1 - weight) * supposed
        return min(proportional, max(0.0, slope))

    def _variance(self, use: Use, mean: float) -> float:
        """How much agents of one size differ, squared."""
        variance = max(0.0, self.squares[use] / self.count - mean * mean)
        size = self.size / self.count
        spread = self.size_squared / self.count - size * size
        if spread > (ALIKE * size) ** 2:
            together = self.crossed[use] / self.count - mean * size
            variance = max(0.0, variance - together * together / spread)
        return variance + (UNSURE * mean) ** 2 / self.count


def _plus(left: list[float], right: list[float], share: float) -> list[float]:
    return [a + share * b for a, b in zip(left, right, strict=True)]
