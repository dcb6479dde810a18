"""The pace of `count_tokens`, whoever asks."""

from aiolimiter import AsyncLimiter

COUNTS_PER_SECOND = 25
"""`count_tokens` has its own limit, 2,000 a minute on the smallest plan."""


class CountPace:
    """Lets so many requests a second through, on the loop that first asks."""

    def __init__(self) -> None:
        self._limiter: AsyncLimiter | None = None

    async def wait(self) -> None:
        """Return when the next request may be sent."""
        if self._limiter is None:
            self._limiter = AsyncLimiter(1, 1 / COUNTS_PER_SECOND)
        await self._limiter.acquire()
