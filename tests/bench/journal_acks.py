"""How long a durable acknowledgement takes, and how long a journal takes to open.

PYTHONPATH=tests python tests/bench/journal_acks.py [folder]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.state_fold import story
from core.disk.commits import Acknowledged
from fanout.disk.codec import encode
from fanout.disk.reading import fold
from fanout.words.events import CallAnswered, Record
from fanout.words.model import RowId, Usage

EVENT = CallAnswered(
    row=RowId("audit", "k"),
    call=1,
    usage=Usage(1, 2, 3, 4),
    stop_reason="tool_use",
    answer=[{"type": "text", "text": "x" * 300}],
)
PACED = 200
SECONDS = 5


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


async def closed_loop(
    folder: Path, producers: int, each: int
) -> tuple[float, list[float]]:
    told = Acknowledged(folder)
    journal = told.journal
    waits: list[float] = []

    async def produce() -> None:
        for _ in range(each):
            started = time.perf_counter()
            await told.durable(journal.append(EVENT, 1.0).seq)
            waits.append(time.perf_counter() - started)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(producers):
            group.create_task(produce())
    rate = producers * each / (time.perf_counter() - started)
    journal.close()
    return rate, waits


async def open_loop(folder: Path) -> tuple[list[float], list[float]]:
    told = Acknowledged(folder)
    journal = told.journal
    waits: list[float] = []
    lags: list[float] = []

    async def one() -> None:
        started = time.perf_counter()
        await told.durable(journal.append(EVENT, 1.0).seq)
        waits.append(time.perf_counter() - started)

    async def beat() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.002)
            lags.append(time.perf_counter() - started - 0.002)

    heart = asyncio.create_task(beat())
    async with asyncio.TaskGroup() as group:
        for _ in range(PACED * SECONDS):
            group.create_task(one())
            await asyncio.sleep(1 / PACED)
    heart.cancel()
    journal.close()
    return waits, lags


def recorded(events: int) -> Iterator[Record]:
    """The records of a run of 5,000 rows, answers of some text included."""
    for n, event in enumerate(story(events, 5_000)):
        if isinstance(event, CallAnswered):
            yield Record(n + 1, 1, n / 100, replace(event, answer=EVENT.answer))
        else:
            yield Record(n + 1, 1, n / 100, event)


def opening(folder: Path, events: int) -> tuple[int, float, float]:
    """Records, CPU seconds and MiB of opening a journal of about so many events."""
    (folder / "journal").mkdir(parents=True)
    path = folder / "journal" / "00001.jsonl"
    with path.open("wb") as file:
        file.writelines(encode(record) for record in recorded(events))
    started = time.process_time()
    tail = fold(folder).tail
    assert tail.damage == []
    return tail.records, time.process_time() - started, path.stat().st_size / 2**20


def main(base: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        rate, waits = asyncio.run(closed_loop(folder / "closed", 64, 200))
        paced, lags = asyncio.run(open_loop(folder / "open"))
        count, seconds, size = opening(folder / "fold", 200_000)
    print("| what | figure | target |\n|---|---:|---:|")
    print(f"| durable events/s, 64 producers | {rate:,.0f} | ≥ 5,000 |")
    print(f"| their acknowledgement p50, ms | {statistics.median(waits) * 1e3:.1f} | |")
    print(
        f"| acknowledgement at {PACED}/s, p50, ms | {statistics.median(paced) * 1e3:.1f} | ≤ 5 |"
    )
    print(
        f"| acknowledgement at {PACED}/s, p99, ms | {percentile(paced, 0.99) * 1e3:.1f} | ≤ 50 |"
    )
    print(
        f"| lag of the loop meanwhile, p99, ms | {percentile(lags, 0.99) * 1e3:.1f} | ≤ 20 |"
    )
    print(f"| opening {count:,} events of {size:.0f} MiB, CPU s | {seconds:.2f} | |")
    print(f"| that for a million, s | {seconds / count * 1e6:.1f} | ≤ 10 |")


if __name__ == "__main__":
    main(*sys.argv[1:])
