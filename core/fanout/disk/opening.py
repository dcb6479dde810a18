"""Opening a run: the newest checkpoint that fits its journal, and what came after.

What comes out is what folding the whole journal gives, sooner. Opening changes
nothing, needs no lock and works on a read-only copy.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from fanout.decide.fold.state import RunState
from fanout.disk.checkpoints.checkpoint import Checkpoint, Covered, UnusableError, found
from fanout.disk.checkpoints.folding import Fold, Parts
from fanout.disk.ends import Ends
from fanout.disk.harvest import Harvest
from fanout.disk.reading import Reading, Tail, keeping_all
from fanout.disk.recent import Recent


@dataclass(slots=True, kw_only=True)
class Opened:
    """A journal folded to its end."""

    fold: Fold
    reading: Reading
    since: int = 0
    """Number of the record up to which a checkpoint was used; 0: none was."""
    covered: Covered = field(default_factory=list)
    """What that one had covered."""
    passed_over: list[str] = field(default_factory=list)
    """Checkpoints that could not be used, and why: a sentence each."""

    @property
    def state(self) -> RunState:
        """The run."""
        return self.fold.state

    @property
    def recent(self) -> Recent:
        """The calls of its last minute."""
        return self.fold.recent

    @property
    def tail(self) -> Tail:
        """What reading has shown."""
        return self.reading.tail


def open_run(run_folder: Path) -> Opened:
    """Return how a run stands, row by row."""
    return open_fold(run_folder, Parts())


def open_counts(run_folder: Path) -> Opened:
    """Return how a run stands; its rows may be left out, its counts and sums not."""
    return open_fold(run_folder, Parts(rows=False))


def open_ends(run_folder: Path) -> tuple[RunState, Ends]:
    """Return how a run stands, and where its rows' results are."""
    opened = open_fold(run_folder, Parts(index=True))
    return opened.state, opened.fold.ends


def open_harvest(run_folder: Path) -> tuple[Harvest, Tail]:
    """Return what of a run may serve again."""
    opened = open_fold(run_folder, Parts(state=False, index=True))
    return opened.fold.harvest, opened.tail


def open_fold(run_folder: Path, wanted: Parts, *, upto: int | None = None) -> Opened:
    """Fold a journal to record `upto`, or its end, into the parts that are wanted."""
    opened = Opened(
        fold=Fold(run_folder), reading=Reading(run_folder, payloads=False, upto=upto)
    )
    for path in found(run_folder):
        fold = Fold(run_folder)
        try:
            with path.open("rb") as file, keeping_all():
                checkpoint = Checkpoint(run_folder, file)
                head = checkpoint.head
                if upto is not None and head.seq > upto:
                    continue
                rows = wanted.rows or not checkpoint.is_newest
                checkpoint.load(fold, replace(wanted, rows=rows))
        except (UnusableError, OSError) as exc:
            opened.passed_over.append(f"{path.name} was not used: {exc}")
            continue
        opened.fold, opened.since, opened.covered = fold, head.seq, head.covered
        opened.reading = Reading(
            run_folder, payloads=False, begin=head.begin, tail=head.tail, upto=upto
        )
        break
    opened.fold.take_in(opened.reading, wanted)
    return opened
