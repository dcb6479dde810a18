"""The journal on disk without its thread, for runs on virtual time."""

from fanout.disk.journal import Journal
from fanout.disk.port import is_durable
from fanout.words.events import Event, Record


class InlineJournal(Journal):
    """Writes and syncs within `append`, where the fact is one that is waited for."""

    def start(self) -> None:
        """Make the folder."""
        self._make_folder()

    def append(self, event: Event, at: float) -> Record:
        """Number a fact; callbacks are called before it returns."""
        record = super().append(event, at)
        if is_durable(event) and self.failure is None:
            self._once()
        return record

    def retry(self) -> None:
        """Try again after an error."""
        super().retry()
        self._once()

    def close(self) -> None:
        """Write what waits and seal; raises what prevents it."""
        self._begin_closing()
        self._once()
        if self.failure is not None:
            raise self.failure
