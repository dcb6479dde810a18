r"""Checkpoints: a run's journal folded up to a record, so that it opens at once.

    checkpoint-120000.jsonl
      {"c":…, "checkpoint":1, "fold":…, "n":120000, "segments":[[1,67108900,crc],…], …}
      {"c":…, "facts":{…}}                     all of the state but its rows
      {"c":…, "part":"rows", "items":[…]}      some hundred rows each; then the log,
      …                                        ends, results and conversations

A checkpoint is a cache, never the truth. It is used only while every byte of the
journal that it was folded from is as it was, every line of it is whole, and the
code that folds is the code that wrote it; else it is passed over, which is said,
and an older one or the whole journal is read. It may be deleted at any time.
"""

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from fanout.decide.shown import Shown
from fanout.disk.checkpoints import packed_values
from fanout.disk.checkpoints.folding import Fold, Parts
from fanout.disk.checkpoints.packed import packer
from fanout.disk.checkpoints.packed_index import (
    pack_asked,
    pack_ends,
    pack_results,
    pack_talks,
    unpack_asked,
    unpack_ends,
    unpack_harvest,
)
from fanout.disk.checkpoints.packed_state import (
    pack_facts,
    pack_rows,
    unpack_facts,
    unpack_rows,
)
from fanout.disk.codec import BadLineError, fields_of, line_of
from fanout.disk.reading import Tail, beginning
from fanout.disk.segment import numbers, segment_path
from fanout.version import VERSION
from fanout.words.snapshot import LogLine

FORMAT = 1
PREFIX, SUFFIX = "checkpoint-", ".jsonl"
_MARK_AT = len('{"c":"01234567",')
ITEMS = 500
"""Items on a line: no single step of reading or writing takes long."""

_FOLDS = ("words", "decide", "disk")
"""What decides what a journal folds to, and how that is written down."""

Covered = list[list[int]]
"""Number, bytes and CRC-32 of each segment that was folded; the last may go on."""


class UnusableError(ValueError):
    """A checkpoint that must not be used; the text says why."""


@dataclass(slots=True)
class Head:
    """What a checkpoint says of itself."""

    seq: int
    covered: Covered
    counts: dict[str, int]
    """Items by part."""
    tail: Tail

    @property
    def begin(self) -> tuple[int, int]:
        """Segment and offset at which reading goes on."""
        number, size, _ = self.covered[-1]
        return number, size


def found(run_folder: Path) -> list[Path]:
    """Return a run's checkpoints, the newest first."""
    numbered = []
    for path in run_folder.glob(f"{PREFIX}*{SUFFIX}"):
        number = path.name.removeprefix(PREFIX).removesuffix(SUFFIX)
        if number.isascii() and number.isdigit():
            numbered.append((int(number), path))
    return [path for _, path in sorted(numbered, reverse=True)]


@cache
def fold_id() -> str:
    """Return what tells this code's folding from any other's."""
    digest = sha256(f"{FORMAT} {VERSION}".encode())
    # Without sources, in an archive for instance, the version has to say it all.
    for folder in _FOLDS:
        home = Path(__file__).parents[2] / folder
        for path in sorted([*home.rglob("*.py"), *home.rglob("*.toml")]):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# -- writing ---------------------------------------------------------------


def encode(fold: Fold, tail: Tail, covered: Covered) -> list[bytes]:
    """Return the lines of a checkpoint of `fold`, to which `covered` was folded."""
    shared, rows = pack_rows(fold.state.rows.values())
    packed = {
        "rows": list(rows),
        "log": [packer(LogLine).pack(line) for line in fold.shown.log],
        "shown": [_shown(fold.shown)],
        "ends": list(pack_ends(fold.ends)),
        "results": list(pack_results(fold.harvest)),
        "talks": list(pack_talks(fold.harvest)),
        "asked": list(pack_asked(fold.harvest)),
        "outlook": [packed_values.pack(fold.harvest.outlook)],
    }
    head = {
        "checkpoint": FORMAT,
        "fold": fold_id(),
        "n": tail.last_seq,
        "version": VERSION,
        "segments": covered,
        "counts": {part: len(items) for part, items in packed.items()},
        "tail": asdict(tail),
    }
    facts = pack_facts(fold.state, fold.recent)
    lines = [line_of(head), line_of({"facts": facts, "specs": shared})]
    for part, items in packed.items():
        for start in range(0, len(items), ITEMS):
            some = items[start : start + ITEMS]
            lines.append(line_of({"part": part, "items": some}))
    return lines


def _shown(shown: Shown) -> list[object]:
    return [shown.lines, sorted(shown.entered), packed_values.pack(shown.observed)]


def cover(run_folder: Path, end: tuple[int, int], before: Covered) -> Covered:
    """Return what has been read of each segment, up to `end`.

    `before` is what an older checkpoint had covered, and was found unchanged.
    """
    folder = run_folder / "journal"
    known = {number: (size, crc) for number, size, crc in before}
    covered = []
    for number in numbers(folder):
        if number > end[0]:
            break
        path = segment_path(folder, number)
        size = end[1] if number == end[0] else path.stat().st_size
        skip, crc = known.get(number, (0, 0))
        for data in beginning(path, size, skip):
            crc = zlib.crc32(data, crc)
        covered.append([number, size, crc])
    return covered


# -- reading ---------------------------------------------------------------


class Checkpoint:
    """An open checkpoint that fits the journal. Raises `UnusableError`."""

    def __init__(self, run_folder: Path, file: BinaryIO) -> None:
        self._file = file
        self.head = self._read_head()
        self.is_newest = _check(run_folder / "journal", self.head.covered)
        """Whether the journal has nothing that it has not."""

    def load(self, fold: Fold, wanted: Parts) -> None:
        """Fill a fold that has taken in nothing yet; to be called once."""
        try:
            facts = self._fields()
            if wanted.state:
                fold.state, fold.recent = unpack_facts(facts["facts"])
            if wanted.state and wanted.rows:
                fold.state.rows = unpack_rows(facts["specs"], self._items("rows"))
            if wanted.shown:
                fold.shown.log.extend(map(packer(LogLine).unpack, self._items("log")))
                ((fold.shown.lines, entered, observed),) = self._items("shown")
                fold.shown.entered.update(entered)
                fold.shown.observed = packed_values.unpack(observed)
            if wanted.state and wanted.index:
                fold.ends = unpack_ends(self._items("ends"))
            if wanted.index:
                results, talks = self._items("results"), self._items("talks")
                unpack_harvest(fold.harvest, results, talks)
                known = fold.state if wanted.state else unpack_facts(facts["facts"])[0]
                fold.harvest.known_as(known.run)
                unpack_asked(fold.harvest, self._items("asked"))
                (outlook,) = self._items("outlook")
                fold.harvest.outlook = packed_values.unpack(outlook)
        except (AttributeError, LookupError, TypeError, ValueError) as exc:
            raise UnusableError(f"it does not read: {exc!r}") from exc

    def _read_head(self) -> Head:
        try:
            head = self._fields()
            if head.get("checkpoint") != FORMAT or head.get("fold") != fold_id():
                raise UnusableError("another version wrote it")
            tail = Tail(**head["tail"])
            return Head(head["n"], head["segments"], head["counts"], tail)
        except (KeyError, TypeError, BadLineError) as exc:
            raise UnusableError(f"it does not read: {exc!r}") from exc

    def _fields(self) -> dict[str, Any]:
        return fields_of(self._file.readline())

    def _items(self, part: str) -> Iterator[list[Any]]:
        """Yield all items of a part; those of parts before it are passed over."""
        left = self.head.counts[part]
        mark = b'"part":"%b"' % part.encode()
        while left > 0:
            line = self._file.readline()
            if not line:
                raise BadLineError("it ends too early")
            if line.startswith(mark, _MARK_AT):
                items = fields_of(line)["items"]
                left -= len(items)
                yield from items


def _check(folder: Path, covered: Covered) -> bool:
    """See that what was folded is as it was; tell whether nothing came after it."""
    there = numbers(folder)
    if not covered or there[: len(covered)] != [number for number, *_ in covered]:
        raise UnusableError("the journal has other segments")
    newest = False
    for number, size, crc in covered:
        path = segment_path(folder, number)
        stat = path.stat()
        newest = stat.st_size == size
        is_last = number == covered[-1][0]
        as_it_was = newest or (is_last and stat.st_size > size)
        if not as_it_was or _crc(path, size, stat.st_ino, stat.st_mtime_ns) != crc:
            raise UnusableError(f"{path.name} is not as it was")
    return newest and len(there) == len(covered)


@lru_cache(maxsize=1024)
def _crc(path: Path, size: int, _inode: int, _changed: int) -> int:
    """Checksum of the first bytes of a file; known while it has not changed."""
    crc = 0
    for data in beginning(path, size):
        crc = zlib.crc32(data, crc)
    return crc
