"""When a run was worked on, by its records' stamps: the scale of a replay.

A life ends with the run's end: a screen may stay up for hours after it, and nothing
happens then. Where a row is requeued on it, another span begins. Nothing is checked
here: it is good for a scale, not for facts.
"""

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanout.disk.segment import SUFFIX, numbers
from fanout.words.events import RowRequeued, RunEnded


@dataclass(frozen=True, slots=True)
class Span:
    """A time without a gap, in wall-clock seconds."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class _Mark:
    life: int
    at: float
    event: str


_STAMP = re.compile(rb'"n":\d+,"life":(\d+),"at":([0-9.]+),"e":"(\w+)"')
_ENDS, _REOPENS = RunEnded.__name__, RowRequeued.__name__
_WANTED = re.compile(f'"e":"(?:{_ENDS}|{_REOPENS})"'.encode())
_HEAD_BYTES = 120


def spans(run_folder: Path) -> list[Span]:
    """Return when a run was worked on, the earliest first."""
    found: list[Span] = []
    life, over = 0, True
    folder = run_folder / "journal"
    for number in numbers(folder):
        for mark in _marks(folder / f"{number:05}{SUFFIX}"):
            if mark.life != life or (over and mark.event == _REOPENS):
                found.append(Span(mark.at, mark.at))
            elif not over:
                found[-1] = Span(found[-1].start, mark.at)
            else:
                continue
            life, over = mark.life, mark.event == _ENDS
    return found


def _marks(path: Path) -> Iterator[_Mark]:
    """Yield a segment's first and last stamp, and its ends and reopenings between."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            first = _mark(text, 0)
            if first is not None:
                yield first
            for hit in [found.start() for found in _WANTED.finditer(text)]:
                # The name stands in a head, or somewhere in what was said.
                start = text.rfind(b"\n", 0, hit) + 1
                mark = _mark(text, start) if hit - start < _HEAD_BYTES else None
                if mark is not None and start:
                    yield mark
            last = _last(text)
            if last is not None:
                yield last


def _mark(text: mmap.mmap, start: int) -> _Mark | None:
    found = _STAMP.search(text[start : start + _HEAD_BYTES].partition(b"\n")[0])
    if found is None:
        return None
    return _Mark(int(found[1]), float(found[2]), found[3].decode())


def _last(text: mmap.mmap) -> _Mark | None:
    """Return the last line that can be read; the one behind it may be cut."""
    end = len(text)
    while end > 0:
        start = text.rfind(b"\n", 0, end - 1) + 1
        mark = _mark(text, start)
        if mark is not None:
            return mark
        end = start
    return None
