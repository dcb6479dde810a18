"""From what a text is made of to its tokens, as a model's vocabulary has them.

A generation of models shares a vocabulary, and a vocabulary has so many tokens for
each kind of content. They begin as `WEIGHTS` says, times what a generation is known
to count more, and are corrected by what was counted and by what was really used: a
ridge regression whose prior counts like observations, so that one observation moves
little, many move what they tell about, and kinds that never came keep what they had.
Only sums are kept, so the order of observations does not matter, and what earlier runs
have learned is joined by adding.

What cannot be true is not believed: an observation far off what any vocabulary would
give is dropped, and no estimate leaves `BELIEVED` times the local one. So a counter
that lies costs a wrong forecast at worst, and never a senseless one.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import mul

from fanout.decide.models import undated
from fanout.decide.parts.content import WEIGHTS, Content, Kind, weight
from fanout.words.forecast import Range

OLDER, NEWER = "older", "newer"
NEWER_FROM = (4, 7)
TIMES = {OLDER: 1.0, NEWER: 1.3}
"""What a generation counts, against `WEIGHTS`."""

BELIEVED = 2.5
SURE_OF_ALL = 0.1
"""A vocabulary's own tokens for everything differ by this share from another's."""
SURE_OF_KIND = 0.25
"""And those for one kind of content beyond that."""
SURE_OF_FRAMES = 2.0
"""What is written around a request nobody says; with tools it is a page."""
NOISE, NOISE_WEIGHT = 0.05, 8.0
"""Texts of one content differ by this share; it counts as so many observations."""
NOISE_MOST = 0.3
SPREADS = 1.64
"""Nine of ten lie within so many standard deviations."""
SIZE = len(Kind)

_CLAUDE = re.compile(r"^claude-[a-z]+-(\d+)(?:-(\d+))?$")
_OLDEST = re.compile(r"^claude-(\d+)(?:-(\d+))?-[a-z]+")


def generation(model: str) -> str:
    """Return what models share a vocabulary with this one; its name if unknown."""
    base = undated(model)
    found = _CLAUDE.match(base) or _OLDEST.match(base)
    if found is None:
        return base
    version = int(found[1]), int(found[2] or 0)
    return NEWER if version >= NEWER_FROM else OLDER


@dataclass(slots=True)
class Sums:
    """Observations of one generation, each as a share of what was expected of it."""

    count: float = 0.0
    counted: float = 0.0
    """Of them, requests that the account has counted; the others were answered."""
    refused: float = 0.0
    """Observations that are not believed."""
    squared: float = 0.0
    crossed: list[float] = field(default_factory=lambda: [0.0] * SIZE)
    table: list[float] = field(default_factory=lambda: [0.0] * (SIZE * SIZE))

    def learn(self, parts: Sequence[float], value: float, *, counted: bool) -> None:
        """Take in one observation."""
        self.count += 1
        self.counted += counted
        self.squared += value * value
        for i, one in enumerate(parts):
            if one:
                self.crossed[i] += one * value
                for j, other in enumerate(parts):
                    self.table[i * SIZE + j] += one * other

    def joined(self, other: "Sums", most: float) -> "Sums":
        """Both together, the other one counting for so many observations at most."""
        share = min(1.0, most / other.count) if other.count else 0.0
        return Sums(
            self.count + share * other.count,
            self.counted + share * other.counted,
            self.refused + share * other.refused,
            self.squared + share * other.squared,
            [a + share * b for a, b in zip(self.crossed, other.crossed, strict=True)],
            [a + share * b for a, b in zip(self.table, other.table, strict=True)],
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """What a generation's sums come to."""

    times: tuple[float, ...]
    """Tokens of each kind, against what the local estimate has."""
    unsure: tuple[float, ...]
    """How those vary together, as a table."""
    noise: float
    """By what share single texts differ."""


class Calibration:
    """What is known of vocabularies."""

    def __init__(self, sums: dict[str, Sums] | None = None) -> None:
        self.sums: dict[str, Sums] = sums or {}
        self._fits: dict[str, Fit] = {}

    def learn(
        self, model: str, content: Content, tokens: float, *, counted: bool
    ) -> bool:
        """Take in what a request of this content had; False if it is not believed."""
        supposed = local(model, content)
        if not supposed:
            return False
        name = generation(model)
        sums = self.sums.setdefault(name, Sums())
        if not _believable(tokens / supposed):
            sums.refused += 1
            return False
        self._fits.pop(name, None)
        sums.learn(_parts(content), tokens / supposed, counted=counted)
        return True

    def joined(self, other: "Calibration", most: float) -> "Calibration":
        """Both; of each generation the other one fills up to `most` observations."""
        names = self.sums.keys() | other.sums.keys()
        none = Sums()
        return Calibration(
            {
                name: (mine := self.sums.get(name, none)).joined(
                    other.sums.get(name, none), max(0.0, most - mine.count)
                )
                for name in sorted(names)
            }
        )

    def expect(self, model: str, content: Sequence[float], texts: float = 1.0) -> Range:
        """Return the tokens of so many texts that hold this together."""
        supposed = local(model, content)
        if not supposed:
            return Range()
        fit = self._fit(generation(model))
        parts = _parts(content)
        times = sum(map(mul, parts, fit.times))
        times = min(BELIEVED, max(1 / BELIEVED, times))
        varies = sum(
            one * sum(map(mul, fit.unsure[i * SIZE : (i + 1) * SIZE], parts))
            for i, one in enumerate(parts)
            if one
        )
        error = math.sqrt(max(0.0, varies) + fit.noise**2 / max(1.0, texts))
        expected, spread = supposed * times, supposed * SPREADS * error
        return Range(max(0.0, expected - spread), expected, expected + spread)

    def holds(self, model: str) -> bool:
        """Whether most of what was observed is what may be expected of a vocabulary."""
        sums = self.known(model)
        return sums.refused <= sums.count

    def known(self, model: str) -> Sums:
        """Return what was observed of the model's generation."""
        return self.sums.get(generation(model), Sums())

    def _fit(self, name: str) -> Fit:
        if name not in self._fits:
            sums = self.sums.get(name)
            self._fits[name] = _fitted(sums) if sums and sums.count else PRIOR
        return self._fits[name]


def local(model: str, content: Sequence[float]) -> float:
    """Return the tokens of a text as they are expected before anything was observed."""
    return TIMES.get(generation(model), TIMES[NEWER]) * weight(content)


def _believable(share: float) -> bool:
    return 1 / BELIEVED <= share <= BELIEVED


def _parts(content: Sequence[float]) -> list[float]:
    """Return each kind's share of the tokens."""
    whole = weight(content) or 1.0
    return [one * each / whole for one, each in zip(WEIGHTS, content, strict=True)]


# The regression


def _prior() -> list[float]:
    """How the kinds' tokens vary together before anything was observed."""
    own = [SURE_OF_KIND**2] * SIZE
    own[Kind.FRAMES] = SURE_OF_FRAMES**2
    shared = SURE_OF_ALL**2
    return [
        shared + (own[i] if i == j else 0.0) for i in range(SIZE) for j in range(SIZE)
    ]


@cache
def _precision() -> tuple[float, ...]:
    return tuple(_inverse(_prior()))


PRIOR = Fit((1.0,) * SIZE, tuple(_prior()), NOISE)


def _fitted(sums: Sums) -> Fit:
    """Solve once with the noise that is supposed, and again with what was left over."""
    times, _ = _solved(sums, NOISE)
    left = sums.squared - 2 * sum(map(mul, times, sums.crossed))
    left += sum(
        one * sum(map(mul, sums.table[i * SIZE : (i + 1) * SIZE], times))
        for i, one in enumerate(times)
    )
    varies = (NOISE_WEIGHT * NOISE**2 + max(0.0, left)) / (NOISE_WEIGHT + sums.count)
    noise = min(NOISE_MOST, math.sqrt(varies))
    times, unsure = _solved(sums, noise)
    return Fit(tuple(times), tuple(unsure), noise)


def _solved(sums: Sums, noise: float) -> tuple[list[float], list[float]]:
    precision, weigh = _precision(), 1 / noise**2
    table = [p + weigh * t for p, t in zip(precision, sums.table, strict=True)]
    unsure = _inverse(table)
    right = [
        sum(precision[i * SIZE : (i + 1) * SIZE]) + weigh * sums.crossed[i]
        for i in range(SIZE)
    ]
    times = [
        sum(map(mul, unsure[i * SIZE : (i + 1) * SIZE], right)) for i in range(SIZE)
    ]
    return times, unsure


def _inverse(table: Sequence[float]) -> list[float]:
    """Invert a table that is symmetric and positive.

    It is done with each answer, so only the half on and below the diagonal is swept;
    what comes out is the inverse with its sign turned.
    """
    rows = [[*table[i * SIZE : i * SIZE + i + 1]] for i in range(SIZE)]
    for k in range(SIZE):
        pivot = rows[k][k]
        column = [*rows[k][:k], *(row[k] for row in rows[k:])]
        shares = [value / pivot for value in column]
        for i, share in enumerate(shares):
            if share:
                pairs = zip(rows[i], column, strict=False)
                rows[i] = [a - share * b for a, b in pairs]
            if i > k:
                rows[i][k] = share
        rows[k] = [*shares[:k], -1 / pivot]
    whole = range(SIZE)
    return [-rows[max(i, j)][min(i, j)] for i in whole for j in whole]
