"""The journal on disk: facts in, durable lines out, on a thread of its own.

`append` numbers a fact and returns. One thread takes whatever waits as a batch,
writes it, and syncs when the batch holds a fact that the world waits for; the
next batch gathers meanwhile, so batches are as large as the disk is slow. Facts
that nobody waits for are written within 50 ms and synced with the next batch
that is, or after a few hundred.

When the disk refuses (full, read-only, failing), the segment is cut back to
what is surely on disk, everything after that is kept in memory, `on_error` is
told once, and nothing is written until `retry`. The next try starts a new
segment. So nothing that was reported durable is ever written twice, and nothing
that was appended is lost while the process lives.

On a full disk the room that was kept for it (`Reserve`) is given up, so that what
flies and the run's end can still be written. Until there is as much room again
the journal is `short`: it writes, and nothing new should be begun.

Each life of a run writes new segments; a tail that another process wrote is
never appended to, and never changed.
"""

import threading
from contextlib import suppress
from pathlib import Path

from fanout.disk.blobs import Blobs
from fanout.disk.codec import encode
from fanout.disk.files import DISK, Files
from fanout.disk.port import OnCommit, OnError, is_durable
from fanout.disk.reserve import Reserve, no_room
from fanout.disk.segment import Segment, numbers
from fanout.words.events import Event, Record

FLUSH_SECONDS = 0.05
"""How long a fact that nobody waits for may stay unwritten."""
SEGMENT_BYTES_MAX = 64 * 1024 * 1024
UNSYNCED_MAX = 512
"""Records that may stand unsynced, and so in memory too."""
CLOSE_SECONDS = 30.0


def _ignore_commit(_seq: int) -> None:
    pass


def _ignore_error(_exc: Exception) -> None:
    pass


class Journal:
    """The one writer of a run's journal; hold the run's lock while it is open."""

    def __init__(
        self,
        run_folder: Path,
        *,
        life: int,
        last_seq: int = 0,
        on_commit: OnCommit = _ignore_commit,
        on_error: OnError = _ignore_error,
        files: Files = DISK,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
        reserve: Reserve | None = None,
    ) -> None:
        """Go on after record `last_seq`, in new segments; `start` begins to write."""
        self._folder = run_folder / "journal"
        self._life = life
        self._on_commit = on_commit
        self._on_error = on_error
        self._files = files
        self._segment_bytes_max = segment_bytes_max
        self._blobs = Blobs(run_folder, files)
        self._committed = last_seq
        self._changed = threading.Condition()
        # Below: shared with the thread, guarded by `_changed`.
        self._seq = last_seq
        self._waiting: list[Record] = []
        self._urgent = False
        self._failed: Exception | None = None
        self._closing = False
        self._wants_room = True
        # Below: the thread's own.
        self._segment: Segment | None = None
        self._unsynced: list[Record] = []
        self._reserve = reserve
        self._short = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Make the folder and start the thread."""
        self._make_folder()
        self._start_thread()

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._files.sync_folder(self._folder.parent)

    def _start_thread(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="fanout-journal", daemon=True)
        self._thread = thread
        thread.start()
        return thread

    @property
    def committed(self) -> int:
        """Number up to which all records are durable."""
        return self._committed

    @property
    def failure(self) -> Exception | None:
        """What the disk said, while nothing can be written."""
        return self._failed

    @property
    def short(self) -> bool:
        """The disk was full, and has not got its room back."""
        return self._short

    def append(self, event: Event, at: float) -> Record:
        """Number a fact and take it; returns at once."""
        urgent = is_durable(event)
        with self._changed:
            if self._closing:
                raise RuntimeError("the journal is closed")
            self._seq += 1
            record = Record(self._seq, self._life, at, event)
            self._waiting.append(record)
            if urgent and not self._urgent:
                self._urgent = True
                self._changed.notify()
            elif len(self._waiting) == 1:
                self._changed.notify()
        return record

    def retry(self) -> None:
        """Try again after an error, with everything that is not yet durable."""
        with self._changed:
            self._failed = None
            self._urgent = True
            self._wants_room = True
            self._changed.notify()

    def close(self) -> None:
        """Write what waits and seal; raises the OSError that prevents it.

        It may be called again then: everything is still in memory.
        """
        self._begin_closing()
        thread = self._thread
        if thread is None or not thread.is_alive():
            thread = self._start_thread()
        thread.join(CLOSE_SECONDS)
        if thread.is_alive():
            raise OSError("the disk did not answer while the journal was closed")
        if self._failed is not None:
            raise self._failed

    def _begin_closing(self) -> None:
        with self._changed:
            self._closing = True
            self._failed = None
            self._changed.notify()

    def _work(self) -> None:
        """The thread: one batch after the other until closed."""
        while not self._once():
            pass

    def _once(self) -> bool:
        """Write one batch; true when it was the last."""
        batch, urgent, last = self._next_batch()
        if last and self._reserve is not None:
            self._reserve.free()
        try:
            if batch:
                self._write(batch)
            if urgent or last or len(self._unsynced) >= UNSYNCED_MAX:
                self._sync()
            if self._segment is not None and (
                last or self._segment.size >= self._segment_bytes_max
            ):
                self._sync()
                self._segment.seal()
                self._segment = None
        except Exception as exc:  # noqa: BLE001  reported, never lost in a thread
            self._give_back(batch, exc)
        else:
            self._keep_room(last=last)
        return last

    def _keep_room(self, *, last: bool) -> None:
        """See that there is a reserve, when somebody asked or none was tried for."""
        if last or not self._wants_room or self._reserve is None:
            return
        self._wants_room = False
        if self._reserve.hold():
            if self._short:
                self._short = False
                with suppress(RuntimeError):
                    self._on_commit(self.committed)
        elif not self._short:
            # A disk that would not give it at the beginning does without.
            self._reserve = None

    def _next_batch(self) -> tuple[list[Record], bool, bool]:
        """Wait for work; return what waits, whether to sync, and if it is the last."""
        with self._changed:
            while not (self._closing or (self._waiting or self._urgent)) or (
                self._failed is not None and not self._closing
            ):
                self._changed.wait()
            if not (self._urgent or self._closing):
                self._changed.wait(FLUSH_SECONDS)
            batch, self._waiting = self._waiting, []
            urgent, self._urgent = self._urgent, False
            return batch, urgent, self._closing

    def _write(self, batch: list[Record]) -> None:
        lines = b"".join(encode(record, self._blobs.put) for record in batch)
        if self._segment is None:
            number = max(numbers(self._folder), default=0) + 1
            self._segment = Segment(self._folder, number, self._files)
        self._segment.write(lines, batch)
        self._unsynced += batch
        batch.clear()

    def _sync(self) -> None:
        if self._segment is None or not self._unsynced:
            return
        self._segment.sync()
        seq = self._unsynced[-1].seq
        self._unsynced.clear()
        self._committed = seq
        with suppress(RuntimeError):  # a loop that is closed has nobody to tell
            self._on_commit(seq)

    def _give_back(self, batch: list[Record], exc: Exception) -> None:
        """Take back what is not durable, leave the segment, say so once."""
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None
        if self._reserve is not None and no_room(exc):
            self._reserve.free()
            self._short = True
        with self._changed:
            self._waiting[:0] = [*self._unsynced, *batch]
            self._unsynced.clear()
            self._failed = exc
        with suppress(RuntimeError):
            self._on_error(exc)
