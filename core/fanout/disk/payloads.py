"""Records and payloads of a run, read one at a time from where they stand."""

import os
from pathlib import Path
from typing import Any

from fanout.disk.blobs import Blobs
from fanout.disk.codec import BadLineError, Seal, Unknown, decode
from fanout.disk.reading import Where
from fanout.disk.segment import segment_path
from fanout.errors import FanoutError
from fanout.words.events import Event


class Payloads:
    """One run's journal and blobs, to look things up in."""

    def __init__(self, run_folder: Path) -> None:
        self._journal = run_folder / "journal"
        self._blobs = Blobs(run_folder)

    def event(self, where: Where) -> Event:
        """Return the fact that stands there; `FanoutError` if it is gone or damaged."""
        path = segment_path(self._journal, where.segment)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                line = os.pread(fd, where.length, where.offset)
            finally:
                os.close(fd)
            record = decode(line)
        except OSError as exc:
            raise FanoutError(f"{path.name} cannot be read: {exc.strerror}") from exc
        except BadLineError as exc:
            raise FanoutError(f"{path.name} is damaged: {exc}") from exc
        if isinstance(record, Seal) or isinstance(record.event, Unknown):
            raise FanoutError(f"{path.name} holds something else there")
        return record.event

    def value(self, payload: Any) -> Any:
        """Return a payload's value, whether it stood in the line or beside it."""
        return self._blobs.value(payload)
