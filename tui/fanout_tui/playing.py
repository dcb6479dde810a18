"""Where a replay stands: a pure clock over the lives of a recorded run.

Time between lives is left out: a run that was resumed the next morning is played
as if it had been resumed at once. So is the time after its end, on a screen that
stayed up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A life on the scale: played from `offset` on, recorded from `start` to `end`."""

    offset: float
    start: float
    end: float


def stretches(lives: Sequence[tuple[float, float]]) -> tuple[Stretch, ...]:
    """Put lives, in wall-clock seconds, behind one another."""
    made: list[Stretch] = []
    offset = 0.0
    for start, end in lives:
        made.append(Stretch(offset, start, max(start, end)))
        offset += max(0.0, end - start)
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Play:
    """A moment of a replay."""

    scale: tuple[Stretch, ...]
    at: float = 0.0
    """Seconds from the beginning, gaps left out."""
    speed: float = 1.0
    going: bool = True

    @property
    def length(self) -> float:
        """Seconds in all."""
        return sum(part.end - part.start for part in self.scale)

    @property
    def over(self) -> bool:
        """It has come to its end."""
        return self.at >= self.length

    @property
    def wall(self) -> float:
        """The wall-clock second that is being shown."""
        part = next(p for p in reversed(self.scale) if p.offset <= self.at)
        return min(part.end, part.start + (self.at - part.offset))

    def on(self, seconds: float) -> "Play":
        """So much later by the clock on the wall."""
        if not self.going:
            return self
        return self.to(self.at + seconds * self.speed)

    def to(self, at: float) -> "Play":
        """At another moment, as far as there is one."""
        return replace(self, at=min(max(0.0, at), self.length))

    def faster(self, steps: int) -> "Play":
        """Faster, or slower, by so many steps."""
        at = SPEEDS.index(self.speed) + steps
        return replace(self, speed=SPEEDS[min(max(0, at), len(SPEEDS) - 1)])

    def toggled(self) -> "Play":
        """Going or standing; from the end it begins again."""
        if self.over:
            return replace(self, at=0.0, going=True)
        return replace(self, going=not self.going)
