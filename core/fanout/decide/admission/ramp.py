"""The acceleration limit: how much more input a minute may use than the last.

A sharp rise in use is refused below the account's limits
(`ramp_limit_exceeded`), and what is allowed grows minute by minute. No header
shows it. What a pool had charged in the minute before such a refusal is what was
allowed; from there the allowance grows by a step a minute, the step being what
it grew by between two refusals. A quiet minute makes the step larger, since a
guess that is never refused is too small. At the account's own limit it is gone.
"""

import math

# The step before two refusals have shown it: a known refusal spoke of 17 %.
STEP_SHARE = 0.15
# At least this share of the limit is added a minute: a refusal that came before
# anything was let through must not leave an allowance of nothing.
STEP_LIMIT_SHARE = 0.02
STEP_MIN = 1000.0
# A little less than was refused; exactly as much is refused again.
KEPT_SHARE = 0.95
# How much of the step each quiet minute adds to it.
QUIET_GROWTH = 0.25
# The trailing minute moves in whole seconds; looking more often sees the same.
LOOK_SECONDS = 0.5
MINUTE = 60.0


class Ramp:
    """What the trailing minute may be charged."""

    __slots__ = ("_at", "_cap", "_step")

    def __init__(self) -> None:
        self._cap = math.inf
        self._step = 0.0
        self._at = -math.inf

    @property
    def active(self) -> bool:
        """Whether use is held below the account's own limit."""
        return math.isfinite(self._cap)

    def refused(self, spent: float, now: float) -> None:
        """A refusal for the ramp, `spent` having been charged in the last minute."""
        minutes = (now - self._at) / MINUTE
        if not self.active:
            self._step = STEP_SHARE * spent
        elif minutes > 0:
            grown = max(0.0, spent - self._cap) / max(1.0, minutes)
            self._step = max(self._step / 2, grown)
        self._cap = max(1.0, KEPT_SHARE * spent)
        self._at = now

    def allowed(self, now: float, limit: float) -> float:
        """What the minute that ends at `now` may hold."""
        minutes = max(0.0, now - self._at) / MINUTE
        least = STEP_LIMIT_SHARE * limit if limit < math.inf else STEP_MIN
        step = max(self._step, least)
        cap = self._cap + step * minutes * (1 + QUIET_GROWTH * minutes)
        if cap >= limit:
            self._cap = math.inf
            return math.inf
        return cap

    def wait(self, need: float, spent: float, now: float, limit: float) -> float:
        """Seconds until `need` fits beside what the last minute was charged."""
        if not self.active:
            return 0.0
        allowed = self.allowed(now, limit)
        over = spent + min(need, allowed) - allowed
        if over <= 0:
            return 0.0
        return min(MINUTE, max(LOOK_SECONDS, over / (allowed / MINUTE)))
