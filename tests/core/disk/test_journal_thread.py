"""The journal's thread: batches, acknowledgements, rotation, and bad disks."""

import asyncio
import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from core.disk.commits import Acknowledged
from core.disk.journals import (
    append_all,
    assert_holds,
    state_of,
    story_of,
    write_segments,
)
from fanout.disk.blobs import Blobs
from fanout.disk.journal import Journal
from fanout.disk.reading import Mark, fold, follow, read, records_of
from fanout.errors import FanoutError
from fanout.testing.bad_disks import FailingFiles
from fanout.testing.memory_journal import MemoryJournal
from fanout.testing.stories import Story
from fanout.words.events import LifeStarted, Noted, Record, RowDone
from fanout.words.model import RowId

A = RowId("audit", "a")
NOTE = Noted(source="script", text="hello")
DONE = RowDone(row=A, value="x")


class SlowSync(FailingFiles):
    """Counts syncs; each takes a moment."""

    def __init__(self) -> None:
        super().__init__(lambda _n: None)
        self.syncs = 0
        self.thread: str | None = None

    def sync(self, fd: int) -> None:
        self.syncs += 1
        self.thread = threading.current_thread().name
        time.sleep(0.005)
        super().sync(fd)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path, life=1)
    journal.start()
    yield journal
    journal.close()


def test_what_is_closed_reads_back_whole(tmp_path: Path) -> None:
    records = [r for r in story_of(3, 300) if r.life == 1]
    journal = Journal(tmp_path, life=1)
    journal.start()
    append_all(journal, records)
    journal.close()
    assert_holds(tmp_path, records)
    tail = fold(tmp_path).tail
    assert (tail.sealed, tail.segments, tail.torn_bytes, tail.notes) == (True, 1, 0, [])
    assert journal.committed == len(records)


def test_each_life_writes_its_own_segment_and_the_numbers_go_on(tmp_path: Path) -> None:
    records = story_of(7, 400)
    assert records[-1].life > 1
    for life in range(1, records[-1].life + 1):
        own = [r for r in records if r.life == life]
        journal = Journal(tmp_path, life=life, last_seq=own[0].seq - 1)
        journal.start()
        append_all(journal, own)
        journal.close()
    assert_holds(tmp_path, records)
    assert len(list((tmp_path / "journal").iterdir())) == records[-1].life


def test_segments_rotate_and_are_sealed(tmp_path: Path) -> None:
    records = [r for r in story_of(3, 300) if r.life == 1]
    journal = Journal(tmp_path, life=1, segment_bytes_max=2_000)
    journal.start()
    for at in range(0, len(records), 5):
        append_all(journal, records[at : at + 5])
        journal.retry()
        wait_for(lambda: journal.committed == journal._seq)
    journal.close()
    segments = sorted((tmp_path / "journal").iterdir())
    assert len(segments) > 2
    assert all(b'"e":"Sealed"' in s.read_bytes() for s in segments)
    assert_holds(tmp_path, records)


@pytest.mark.anyio
async def test_many_producers_share_one_sync(tmp_path: Path) -> None:
    """Batches form by themselves while the disk is busy, off the loop."""
    files = SlowSync()
    waits = Acknowledged(tmp_path, files)
    journal = waits.journal

    async def produce() -> None:
        for _ in range(5):
            record = journal.append(DONE, 1.0)
            await waits.durable(record.seq)
            assert journal.committed >= record.seq

    async with asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(produce())
    journal.close()
    assert files.syncs <= 30
    assert files.thread == "fanout-journal"
    assert fold(tmp_path).tail.last_seq == 200


def test_an_idle_fact_is_written_soon_without_a_sync(tmp_path: Path) -> None:
    files = SlowSync()
    journal = Journal(tmp_path, life=1, files=files)
    journal.start()
    journal.append(NOTE, 1.0)
    for _ in range(400):
        if fold(tmp_path).tail.records:
            break
        time.sleep(0.005)
    assert fold(tmp_path).tail.records == 1
    assert (files.syncs, journal.committed) == (0, 0)
    journal.close()
    assert journal.committed == 1


def test_commits_are_told_in_order_and_only_once_synced(tmp_path: Path) -> None:
    told: list[int] = []
    journal = Journal(tmp_path, life=1, on_commit=told.append)
    journal.start()
    for n in range(50):
        journal.append(DONE if n % 3 else NOTE, float(n))
    journal.close()
    assert told[-1] == 50
    assert all(a < b for a, b in pairwise(told))


def test_a_closed_journal_takes_nothing(journal: Journal) -> None:
    journal.close()
    with pytest.raises(RuntimeError, match="closed"):
        journal.append(NOTE, 1.0)


def error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def run_against(files: FailingFiles, folder: Path, records: list[Record]) -> int:
    """Append all, retrying whenever the disk refuses; return the commits seen."""
    committed: list[int] = []
    troubles: list[Exception] = []
    journal = Journal(
        folder,
        life=1,
        files=files,
        on_commit=committed.append,
        on_error=troubles.append,
        segment_bytes_max=3_000,
    )
    try:
        journal.start()
    except OSError:
        journal = Journal(
            folder,
            life=1,
            files=files,
            on_commit=committed.append,
            on_error=troubles.append,
        )
        journal.start()
    for n, record in enumerate(records):
        append_all(journal, [record])
        if n % 9 == 0:
            wait_for(lambda: not journal._waiting or journal.failure is not None)
        if journal.failure is not None:
            acked = committed[-1] if committed else 0
            held = {r.seq for r in read(folder)}
            assert held >= set(range(1, acked + 1))
            journal.retry()
    for _ in range(5):
        with suppress(OSError):
            journal.close()
            break
    return committed[-1]


def wait_for(condition: object) -> None:
    assert callable(condition)
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.0005)
    pytest.fail("nothing happened")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_fault_at_any_call_loses_nothing(tmp_path: Path, code: int) -> None:
    """The k-th call fails, for every k: all that was appended is there in the end."""
    records = [r for r in story_of(3, 200) if r.life == 1][:60]
    k, failed = 1, True
    while failed:
        files = FailingFiles(lambda n, k=k: error(code) if n == k else None)  # type: ignore[misc]
        assert run_against(files, tmp_path / str(k), records) == len(records)
        assert_holds(tmp_path / str(k), records)
        failed = files.failed > 0
        k += 1 if code == errno.ENOSPC else 3
    assert k > 20


def test_a_disk_that_stays_bad_keeps_everything_in_memory(tmp_path: Path) -> None:
    troubles: list[Exception] = []
    bad = [True]
    files = FailingFiles(lambda n: error(errno.ENOSPC) if bad[0] and n > 3 else None)
    journal = Journal(tmp_path, life=1, files=files, on_error=troubles.append)
    journal.start()
    records = [r for r in story_of(3, 200) if r.life == 1][:60]
    append_all(journal, records[:30])
    wait_for(lambda: len(troubles) == 1)
    append_all(journal, records[30:])
    time.sleep(0.02)
    assert len(troubles) == 1
    journal.retry()
    wait_for(lambda: len(troubles) == 2)
    assert journal.committed == 0
    assert str(journal.failure) == str(error(errno.ENOSPC))
    bad[0] = False
    journal.retry()
    wait_for(lambda: journal.committed > 0)
    journal.close()
    assert_holds(tmp_path, records)


def test_a_disk_that_is_bad_at_the_end_is_said(tmp_path: Path) -> None:
    files = FailingFiles(lambda n: error(errno.ENOSPC) if n > 4 else None)
    journal = Journal(tmp_path, life=1, files=files)
    journal.start()
    journal.append(DONE, 1.0)
    with pytest.raises(OSError, match="No space"):
        journal.close()


def test_a_failed_cut_leaves_no_record_twice(tmp_path: Path) -> None:
    """Where truncating fails as well, the rewritten records count once."""

    class NoTruncate(FailingFiles):
        def truncate(self, fd: int, size: int) -> None:
            raise error(errno.EIO)

        def sync(self, fd: int) -> None:
            if self.failed == 0:
                self.failed += 1
                raise error(errno.EIO)
            super().sync(fd)

        def remove(self, path: Path) -> None:
            raise error(errno.EIO)

    records = [r for r in story_of(3, 200) if r.life == 1][:40]
    journal = Journal(tmp_path, life=1, files=NoTruncate(lambda _n: None))
    journal.start()
    append_all(journal, records)
    wait_for(lambda: journal.failure is not None)
    journal.retry()
    journal.close()
    assert len(list((tmp_path / "journal").iterdir())) == 2
    assert_holds(tmp_path, records)


def test_a_callback_of_a_closed_loop_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    journal = Journal(tmp_path, life=1, on_commit=lambda _s: void(loop))
    journal.start()
    journal.append(DONE, 1.0)
    journal.close()
    assert journal.failure is None


def void(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(print)


def test_big_payloads_are_on_disk_before_their_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path, life=1)
    journal.start()
    value = {"text": "ü" * 70_000}
    journal.append(RowDone(row=A, value=value), 1.0)
    journal.close()
    (record,) = read(tmp_path)
    assert isinstance(record.event, RowDone)
    blobs = Blobs(tmp_path)
    assert blobs.value(record.event.value) == value
    assert blobs.value("plain") == "plain"
    path = next((tmp_path / "blobs").glob("*/*"))
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FanoutError, match="damaged"):
        blobs.value(record.event.value)
    path.unlink()
    with pytest.raises(FanoutError, match="cannot be read"):
        blobs.value(record.event.value)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "", "z" * 63, "/" * 64])
def test_a_blob_is_named_by_a_digest_or_not_at_all(tmp_path: Path, digest: str) -> None:
    with pytest.raises(FanoutError):
        Blobs(tmp_path).get(digest)


def test_a_follower_sees_every_record_once(tmp_path: Path) -> None:
    records = [r for r in story_of(9, 400) if r.life <= 2]
    seen: list[Record] = []
    mark = Mark()
    for life in (1, 2):
        own = [r for r in records if r.life == life]
        journal = Journal(
            tmp_path, life=life, last_seq=own[0].seq - 1, segment_bytes_max=4_000
        )
        journal.start()
        for n, record in enumerate(own):
            append_all(journal, [record])
            if n % 7 == 0:
                news = follow(tmp_path, mark)
                seen += news.records
                mark = news.mark
        journal.close()
    seen += follow(tmp_path, mark).records
    assert seen == records
    assert follow(tmp_path / "nowhere", Mark()).records == ()


def test_the_facts_of_one_row_are_found_among_all(tmp_path: Path) -> None:
    records = story_of(9, 600)
    paths = write_segments(tmp_path, records)
    paths[-1].write_bytes(paths[-1].read_bytes() + b'{"row":["audit","k0"],\n')
    rows = {getattr(record.event, "row", None) for record in records} - {None}
    assert len(rows) > 10
    for row in rows | {RowId("audit", "k"), RowId("a", 'quo"te\n')}:
        of_row = [r for r in records if getattr(r.event, "row", None) == row]
        assert list(records_of(tmp_path, row)) == of_row


def test_the_journal_in_memory_behaves_the_same() -> None:
    told: list[int] = []
    troubles: list[Exception] = []
    journal = MemoryJournal(on_commit=told.append, on_error=troubles.append)
    story = Story(4)
    records = list(story.tell(200))
    for record in records:
        if record.life == 1:
            assert journal.append(record.event, record.at) == record
    last = journal.append(NOTE, 9.0)
    assert journal.committed < last.seq
    journal.retry()
    assert journal.committed == last.seq
    first = [r for r in records if r.life == 1]
    assert list(journal.records())[:-1] == first
    assert vars(state_of(journal.records())) != vars(story.state)
    journal.failing = error(errno.ENOSPC)
    journal.append(DONE, 9.0)
    journal.append(DONE, 9.0)
    assert len(troubles) == 1
    journal.failing = None
    journal.retry()
    journal.close()
    assert told[-1] == journal.committed == len(journal.lines)
    assert isinstance(journal.events[0], LifeStarted)
    with pytest.raises(RuntimeError, match="closed"):
        journal.append(NOTE, 1.0)
