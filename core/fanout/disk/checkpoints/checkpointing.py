"""Writing checkpoints, from what the journal holds on disk and nothing else.

A live run's are written by a child process, so that neither the engine's loop nor
its memory feels it; whoever ends a life writes the last one. Several may write at
once: each writes a file of its own, whole or not at all, and what each holds is
true of the journal whenever it was begun.
"""

import io
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from fanout.disk.checkpoints import packed_values
from fanout.disk.checkpoints.checkpoint import (
    PREFIX,
    SUFFIX,
    Checkpoint,
    cover,
    encode,
    found,
)
from fanout.disk.checkpoints.folding import ALL, Fold
from fanout.disk.checkpoints.packed_index import pack_asked, pack_results, pack_talks
from fanout.disk.files import DISK, Files, write_atomic
from fanout.disk.opening import Opened, open_fold
from fanout.disk.reading import keeping_all

RECORDS_MIN = 2_000
"""Records that fold in no time, and need no checkpoint."""
KEPT = 2
"""The newest, and the one that is used if the newest is damaged."""


def write_checkpoint(
    run_folder: Path,
    *,
    upto: int | None = None,
    records_min: int = RECORDS_MIN,
    files: Files = DISK,
) -> Path | None:
    """Write a checkpoint of record `upto`, or of the last one; return its path.

    None where the newest one is not `records_min` behind, or where the journal ends
    in a torn line. Raises OSError.
    """
    opened = open_fold(run_folder, ALL, upto=upto)
    reading = opened.reading
    behind = opened.tail.last_seq - opened.since
    if behind < records_min or reading.cut or reading.end[1] == 0:
        return None
    with keeping_all():
        lines = _proven(run_folder, opened)
    if lines is None:
        return None
    path = run_folder / f"{PREFIX}{opened.tail.last_seq}{SUFFIX}"
    _tidy(run_folder, files)
    write_atomic(path, lines, files=files)
    for old in found(run_folder)[KEPT:]:
        with suppress(OSError):
            files.remove(old)
    return path


def _proven(run_folder: Path, opened: Opened) -> bytes | None:
    """Return a checkpoint that reads back as what it was made of, or None."""
    covered = cover(run_folder, opened.reading.end, opened.covered)
    back = Fold(run_folder)
    try:
        data = b"".join(encode(opened.fold, opened.tail, covered))
        checkpoint = Checkpoint(run_folder, io.BytesIO(data))
        checkpoint.load(back, ALL)
    except (TypeError, ValueError, RecursionError):  # an unusable one among them
        return None
    same = checkpoint.head.tail == opened.tail and alike(back, opened.fold)
    return data if same else None


def alike(one: Fold, other: Fold) -> bool:
    """Whether two folds hold the same."""
    return _content(one) == _content(other)


def _content(fold: Fold) -> tuple[object, ...]:
    return (
        vars(fold.state),
        list(fold.state.rows),
        fold.recent.calls,
        fold.recent.sent,
        fold.ends.where,
        vars(fold.shown),
        list(pack_results(fold.harvest)),
        list(pack_talks(fold.harvest)),
        list(pack_asked(fold.harvest)),
        packed_values.pack(fold.harvest.outlook),
    )


def _tidy(run_folder: Path, files: Files) -> None:
    """Remove what a killed writer left unfinished."""
    for left in run_folder.glob(f".{PREFIX}*.tmp"):
        pid = left.name.removesuffix(".tmp").rpartition(".")[2]
        if pid != str(os.getpid()):
            with suppress(OSError):
                files.remove(left)


NICENESS = 10


def main(arguments: list[str]) -> None:
    """The child: write a checkpoint of a run's folder up to a record, then end.

    It ends at once when its stdin does: whoever started it is gone, or has no use
    for the checkpoint any more.
    """
    folder, upto = arguments
    threading.Thread(target=_end_with, args=(0,), daemon=True).start()
    os.nice(NICENESS)
    write_checkpoint(Path(folder), upto=int(upto))


def _end_with(stdin: int) -> None:
    while os.read(stdin, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
