"""Where in a run's journal each row's newest end stands."""

from fanout.disk.reading import Where
from fanout.words.events import Record, RowDone, RowMissing
from fanout.words.model import RowId


class Ends:
    """Takes in a run's records; holds where the payload of each end is."""

    def __init__(self) -> None:
        self.where: dict[RowId, Where] = {}

    def take_in(self, record: Record, where: Where) -> None:
        """Learn from one record, which stands there."""
        event = record.event
        if isinstance(event, RowDone | RowMissing):
            self.where[event.row] = where
