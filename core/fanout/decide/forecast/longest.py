"""How long the longest of many agents takes, as a range.

The longest of `n` lies as far above the mean as the largest of `n` draws does. The
more there are, the further out it is, and the less it varies.
"""

import math
from statistics import NormalDist

from fanout.decide.forecast.sample import SPREADS, UNSURE, Sample, Use
from fanout.words.forecast import Range

LOW, HIGH = 0.05, 0.95
"""Nine of ten lie between these."""
BLOM = 0.375
"""Places the mean of the largest among the quantiles."""
_NORMAL = NormalDist()


def longest(sample: Sample, count: float) -> Range:
    """Seconds that the longest of `count` agents works, when nothing holds it up."""
    if not sample.count or count <= 0:
        return Range()
    most = max(1.0, count)
    mean = sample.sums[Use.SECONDS] / sample.count
    seen = sample.squares[Use.SECONDS] / sample.count - mean * mean
    spread = math.sqrt(max(0.0, seen) + (UNSURE * mean) ** 2 / sample.count)
    middle = _NORMAL.inv_cdf((most - BLOM) / (most + 1 - 2 * BLOM))
    low, high = (_NORMAL.inv_cdf(p ** (1 / most)) for p in (LOW, HIGH))
    # A few agents say little of the mean of others, and of how much they differ.
    unsure = SPREADS * spread * math.sqrt((1 + middle * middle / 2) / sample.count)
    expected = mean + middle * spread
    below = math.hypot((middle - low) * spread, unsure)
    above = math.hypot((high - middle) * spread, unsure)
    return Range(max(0.0, expected - below), expected, expected + above)
