"""The acceleration limit: how much more input a minute may use than the last.

A sharp rise in use is refused below the account's limits
(`ramp_limit_exceeded`), and what is allowed grows at each minute boundary. No
header shows it; the refusal says when the next minute begins (`retry-after`), and
its text what this minute may hold and the next (`fanout.decide.admission.said`).

So use is counted by the service's minutes, each with a ceiling. Once a refusal has
said the figures, nothing more is refused: the next minute's is known, those after
it grow by the same step.

Without the text the ceiling of a minute is what had got through before its
refusal. The step is a guess then, and a guess that is too low would keep a run
slow for as long as it lasts. So beyond the ceiling it is tried: as much may be on
its way unanswered as has got through beyond it, one call at least. That doubles
with each answer, and ends in one refusal a minute, when nothing more fits anyway.

At the account's own limit it is gone.
"""

import math
from dataclasses import dataclass

from fanout.decide.admission.said import SaidRamp

# The step before two refusals have shown it: a known refusal spoke of 17 %.
STEP_SHARE = 0.15
# At least this share of the limit is added a minute: a refusal that came before
# anything was let through must not leave an allowance of nothing.
STEP_LIMIT_SHARE = 0.02
STEP_MIN = 1000.0
# Our count of a minute and the service's differ by estimates on their way.
KEPT_SHARE = 0.995
# How long figures that were said are taken as they are. A step that grows itself
# would otherwise never be seen.
EXACT_MINUTES = 5
# The boundary was passed on the service's clock before we know of it.
MINUTE = 60.0
# A head that could go only when another call is answered looks again this soon.
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Use:
    """Input of the present minute."""

    spent: float
    """All that was sent or is about to be."""
    unanswered: float
    """The part of it that the service has not let through yet."""

    @property
    def through(self) -> float:
        """What has got through."""
        return max(0.0, self.spent - self.unanswered)


class Ramp:
    """What a minute may hold, and what the present one does."""

    __slots__ = ("_ceiling", "_end", "_exact", "_refused_at", "_spent", "_step")

    def __init__(self) -> None:
        self._ceiling = math.inf
        self._end = math.inf
        """Monotonic second at which the present minute ends."""
        self._spent = 0.0
        self._step = 0.0
        self._exact = 0
        """For how many minutes the ceiling needs no trying."""
        self._refused_at: tuple[float, float] | None = None
        """End and ceiling of the last minute that was refused in."""

    @property
    def active(self) -> bool:
        """Whether use is held below the account's own limit."""
        return math.isfinite(self._ceiling)

    def refused(
        self, use: Use, now: float, *, ends_in: float, said: SaidRamp | None = None
    ) -> None:
        """A refusal for the ramp in a minute that has had `use`."""
        self.pass_to(now)
        end = now + ends_in
        if said is not None:
            self._ceiling = float(said.ceiling)
            self._step = float(said.following - said.ceiling)
            self._exact = EXACT_MINUTES
        else:
            self._learn_step(use.through, end)
            self._ceiling, self._exact = max(1.0, use.through), 0
        self._refused_at = (end, self._ceiling)
        self._spent, self._end = use.spent, end

    def _learn_step(self, through: float, end: float) -> None:
        if self._refused_at is None:
            self._step = STEP_SHARE * through
            return
        before, ceiling = self._refused_at
        minutes = round((end - before) / MINUTE)
        if minutes >= 1:
            grown = max(0.0, through - ceiling) / minutes
            self._step = max(self._step / 2, grown)

    def charge(self, amount: float, now: float) -> None:
        """Count input that was sent, or below 0 given back."""
        if self.active:
            self.pass_to(now)
            self._spent = max(0.0, self._spent + amount)

    def pass_to(self, now: float) -> None:
        """Let minutes pass: each may hold a step more than the last."""
        while now >= self._end and self.active:
            self._ceiling = max(self._ceiling, self._spent) + self._step
            self._spent = 0.0
            self._end += MINUTE
            self._exact = max(0, self._exact - 1)

    def follow(self, limit: float, now: float) -> None:
        """Let go at the account's own limit a minute, and grow by a share of it."""
        self.pass_to(now)
        least = STEP_LIMIT_SHARE * limit if limit < math.inf else STEP_MIN
        self._step = max(self._step, least)
        if self.active and self._ceiling >= limit:
            self._ceiling = self._end = math.inf
            self._refused_at = None

    def use(self, more: float, unanswered: float) -> Use:
        """The present minute's, with what is about to be sent."""
        return Use(self._spent + more, unanswered + more)

    def allowed(self, use: Use, need: float) -> float:
        """What the present minute may hold now."""
        ceiling = KEPT_SHARE * self._ceiling
        if self._exact:
            return ceiling
        beyond = max(need, use.through - self._ceiling)
        return max(ceiling, use.through + beyond)

    def wait(self, need: float, use: Use, now: float) -> float:
        """Seconds until `need` fits beside `use`; a call alone in its minute does."""
        if not self.active or use.spent <= 0:
            return 0.0
        if use.spent + need <= self.allowed(use, need):
            return 0.0
        return max(LOOK_SECONDS, self._end - now)
