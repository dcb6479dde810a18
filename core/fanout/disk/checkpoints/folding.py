"""A run's journal folded: its state, and what else is learnt on the way."""

from dataclasses import dataclass
from pathlib import Path

from fanout.decide.fold.lifecycle import IllegalEvent
from fanout.decide.fold.state import RunState, apply
from fanout.decide.shown import Shown
from fanout.disk.ends import Ends
from fanout.disk.harvest import Harvest
from fanout.disk.payloads import Payloads
from fanout.disk.reading import Reading, keeping_all
from fanout.disk.recent import Recent


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What of a fold is wanted."""

    state: bool = True
    rows: bool = True
    """False: the state may come without its rows."""
    index: bool = False
    """Where results, conversations and ends stand."""
    shown: bool = False
    """What a screen shows beside the state."""


ALL = Parts(index=True, shown=True)


class Fold:
    """What a run's records amount to. Parts that were not asked for stay empty."""

    def __init__(self, run_folder: Path) -> None:
        self.state = RunState()
        self.recent = Recent()
        self.ends = Ends()
        self.harvest = Harvest(run_folder.name, Payloads(run_folder))
        self.shown = Shown()

    def take_in(self, reading: Reading, wanted: Parts) -> None:
        """Fold what is read into the parts that are wanted.

        A record that cannot follow from those before it changes no state and is
        noted as damage: it happens only where records are missing.
        """
        harvest, run = self.harvest, self.state
        recent, ends, shown = self.recent, self.ends, self.shown
        state, index = wanted.state, wanted.index
        with keeping_all():
            for record in reading:
                if index:
                    harvest.take_in(record, reading.where)
                if not state:
                    continue
                try:
                    apply(run, record)
                except IllegalEvent as exc:
                    reading.tail.hurt(f"record {record.seq} was skipped: {exc}")
                    continue
                recent.take_in(record)
                if index:
                    ends.take_in(record, reading.where)
                if wanted.shown:
                    shown.take_in(record)
        # A skipped record has its number all the same; the next goes on after it.
        run.seq = reading.tail.last_seq
