"""A pool's hold after a 429: one pause that all its rows share.

Forty calls sent together come back as forty 429s over a second or two. They are
one event. So a hold has a generation, every call carries the one it was sent
under, and a 429 of an older generation joins the hold that is there: it may make
it longer, it opens no second one and does not count as another strike.

A `retry-after` is obeyed as sent and never shortened by a later, smaller one.
Without it the wait doubles per strike, half of it jitter. A call sent under the
present generation that gets through ends the hold and forgives the strikes.

After a second strike in a row the figures in the headers have proved wrong, and
one call goes first: a server that says "100 remaining" and answers 429 must not
be sent a hundred calls after every hold.
"""

import math
from collections.abc import Callable

from fanout.decide.admission.retry import backoff
from fanout.words.model import Cause, Wait

# Two of our runs on one account would otherwise come back in the same moment.
JITTER_SECONDS = 0.2
# From this strike on a single call goes first.
CAREFUL_STRIKES = 2
# After so many in a row, the time the server names has proved too short as well.
TRUSTED_STRIKES = 4


class Hold:
    """Why a pool may not send, and until when."""

    __slots__ = ("cause", "detail", "generation", "strikes", "until")

    def __init__(self) -> None:
        self.until = -math.inf
        """Monotonic second."""
        self.cause = Cause.LIMIT
        self.detail = ""
        self.generation = 0
        """Counts holds; a call carries the number it was sent under."""
        self.strikes = 0
        """Holds in a row without a call getting through."""

    def active(self, now: float) -> bool:
        """Whether the pool is held at `now`."""
        return now < self.until

    @property
    def careful(self) -> bool:
        """Whether one call must get through before others follow."""
        return self.strikes >= CAREFUL_STRIKES

    def refused(
        self,
        cause: Cause,
        now: float,
        *,
        generation: int,
        retry_after: float | None,
        chance: Callable[[], float],
        detail: str = "",
    ) -> bool:
        """Take in a 429; True when it opened a hold, False when it joined one."""
        late = generation < self.generation
        if not late:
            self.generation += 1
            self.strikes += 1
            self.cause = cause
            self.detail = detail
        if retry_after:
            wait = retry_after + JITTER_SECONDS * chance()
            if self.strikes > TRUSTED_STRIKES and not late:
                wait = max(wait, backoff(self.strikes - TRUSTED_STRIKES, chance))
        elif late:
            return False
        else:
            wait = backoff(self.strikes, chance)
        if late and now + wait > self.until:
            # Told after the calls of this generation were sent: their coming
            # through is no answer to it.
            self.generation += 1
        self.until = max(self.until, now + wait)
        return not late

    def keep(self, wait: Wait, until: float, chance: Callable[[], float]) -> None:
        """Go on with the hold of an earlier life; after it one call goes first."""
        self.generation += 1
        self.strikes = CAREFUL_STRIKES
        self.cause, self.detail = wait.cause, wait.detail
        self.until = until + JITTER_SECONDS * chance()

    def got_through(self, generation: int) -> None:
        """A call reached the service: one sent under this hold ends it."""
        if generation == self.generation:
            self.until = -math.inf
            self.strikes = 0
