"""What a view needs besides the snapshot: the moment, the room, the alphabet."""

from dataclasses import dataclass, replace

from fanout.words.snapshot import Snapshot
from fanout_tui.keys import LIVE
from fanout_tui.view.glyphs import Glyphs

OVER = frozenset({"finished", "crashed", "killed"})
"""States in which nothing moves any more."""

STALE_S = 30.0
"""A running row that was silent for longer is said to be."""


def moment(snapshot: Snapshot, now: float) -> float:
    """`now`, or once the run is over the moment it ended: what it took is settled."""
    return now if snapshot.end is None else snapshot.end.at


def same_end(before: Snapshot | None, after: Snapshot) -> bool:
    """Nothing to draw has changed between two snapshots of a run that is over."""
    return (
        before is not None
        and before.state == after.state
        and before.end == after.end
        and before.counts == after.counts
        and before.log[-1:] == after.log[-1:]
    )


@dataclass(frozen=True, slots=True)
class Look:
    """How one frame is looked at."""

    snapshot: Snapshot
    now: float
    """Wall-clock second; stands still once the run is over."""
    width: int
    height: int
    glyphs: Glyphs
    eta: float | None = None
    """Seconds the rest will take; made once a second, it reads every row."""
    how: str = LIVE
    """How the run is looked at: `live`, `watch` or `replay`."""
    note: str = ""
    """What is to be said of that."""

    @property
    def over(self) -> bool:
        """The run has ended, one way or the other."""
        return self.snapshot.state in OVER

    def sized(self, width: int, height: int | None = None) -> "Look":
        """The same look in another room."""
        return replace(
            self, width=width, height=self.height if height is None else height
        )
