"""Real processes, really killed: what was acknowledged is there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from fanout.disk.blobs import Blobs
from fanout.disk.journal import Journal
from fanout.disk.reading import Reading, read
from fanout.disk.rundir import create_run
from fanout.words.events import RowDone
from fanout.words.model import RowId
from figures import record_figure

SCALE = float(os.environ.get("FANOUT_SCALE", "1"))


def told(folder: Path) -> Reading:
    """Read a run's records to their end, and what they name beside the journal."""
    reading, blobs = read(folder), Blobs(folder)
    for record in reading:
        assert isinstance(record.event, RowDone)
        blobs.value(record.event.value)
    return reading


def work(folder: Path) -> None:
    """The child: append for ever, print what is durable."""
    tail = told(folder).tail

    def acknowledge(seq: int) -> None:
        os.write(1, b"%d\n" % seq)

    journal = Journal(
        folder,
        life=tail.last_life + 1,
        last_seq=tail.last_seq,
        on_commit=acknowledge,
        segment_bytes_max=200_000,
    )
    journal.start()
    n = tail.last_seq
    while True:
        n += 1
        size = 90_000 if n % 50 == 0 else n % 3_000
        done = RowDone(row=RowId("p", f"k{n}"), value="x" * size)
        assert journal.append(done, 1.0).seq == n
        if n % 16 == 0:
            while journal.committed < n - 64:
                time.sleep(0.0005)


def kill_repeatedly(tmp_path: Path, kills: int) -> None:
    random = Random(kills)
    folder = create_run(
        tmp_path,
        script="/s.py",
        arguments=(),
        endpoint="e",
        simulated=True,
        version="0",
        now=1.0,
    )
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, __file__, str(folder)]
    acked = 0
    for _ in range(kills):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        ) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(random.random() * 0.1)
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read()
        acked = max(int(line) for line in (first + rest).splitlines() if line)
        tail = told(folder).tail
        assert tail.last_seq >= acked
        assert tail.records == tail.last_seq
        assert tail.damage == []
    assert acked > 0


def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    kill_repeatedly(tmp_path, 3)


@pytest.mark.long
@pytest.mark.soak
def test_nothing_acknowledged_is_lost_to_many_kills(tmp_path: Path) -> None:
    folders = int(8 * SCALE)
    for n in range(folders):
        (tmp_path / str(n)).mkdir()
        kill_repeatedly(tmp_path / str(n), 5)
    name, goal = "kill -9 of the journal's writer", "0 acknowledged lost"
    record_figure(name, goal, 5 * folders, unit="kills, 0 lost")


if __name__ == "__main__":
    work(Path(sys.argv[1]))
