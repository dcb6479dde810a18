"""A minute of what each bucket was charged, for the sparklines."""

from collections import deque

from fanout.words.model import Dimension
from fanout.words.snapshot import Snapshot

SECONDS = 60


class History:
    """One figure a second per bucket; the screen's own memory, nothing more."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, Dimension], deque[float]] = {}
        self._second = -1

    def take(self, snapshot: Snapshot) -> None:
        """Remember this second, once."""
        if int(snapshot.at) == self._second:
            return
        self._second = int(snapshot.at)
        for pool in snapshot.pools:
            for bucket in pool.buckets:
                kept = self._shares.setdefault(
                    (pool.name, bucket.dimension), deque(maxlen=SECONDS)
                )
                kept.append(bucket.spent / bucket.limit if bucket.limit else 0.0)

    def spark(self, pool: str, dimension: Dimension, cells: int, alphabet: str) -> str:
        """The newest figures as little bars, the newest at the right."""
        shares = list(self._shares.get((pool, dimension), ()))[-cells:]
        top = len(alphabet) - 1
        bars = "".join(alphabet[min(top, int(max(0.0, s) * top + 0.5))] for s in shares)
        return bars.rjust(cells)
