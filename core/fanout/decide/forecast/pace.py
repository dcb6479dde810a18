"""How fast agents of one kind came to answers lately: what is left is no faster.

Limits, the ceiling and the lengths of calls say how fast work could go. What a busy
machine, slow tools or a script in the way make of that is not in them; it is in the
answers that came.
"""

KEPT = 60
WINDOWS = (10, 30, 60)
"""Seconds; the shortest with enough answers in it tells, since a run speeds up."""
ENOUGH = 30
PACE = "the pace so far"


class Pace:
    """Counts answers by the second; a pause is no part of any of them."""

    def __init__(self) -> None:
        self._counts: list[int] = []
        """Of the seconds up to the newest, which is not over yet."""
        self._second = 0

    def answered(self, at: float) -> None:
        """An answer came at this wall-clock second."""
        second = int(at)
        if not self._counts:
            self._counts.append(0)
            self._second = second
        # A clock that was set back makes one long second; set forward, a minute.
        passed = min(max(0, second - self._second), KEPT + 1)
        self._counts.extend([0] * passed)
        self._second = second
        self._counts[-1] += 1
        del self._counts[: -(KEPT + 1)]

    def rate(self) -> float:
        """Answers a second at the best of times lately; 0 where too few have come."""
        whole = list(self._counts)[:-1]
        for size in WINDOWS:
            starts = range(len(whole) - size + 1)
            best = max((sum(whole[at : at + size]) for at in starts), default=0)
            if best >= ENOUGH:
                return best / size
        return 0.0
