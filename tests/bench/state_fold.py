"""How fast a run's facts fold, and what a snapshot of its rows costs.

python tests/bench/state_fold.py [events] [rows]
"""

import sys
import time
from collections.abc import Iterator

from fanout.decide.fold.state import RunState, apply
from fanout.words.events import (
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Event,
    LifeStarted,
    PhaseEntered,
    Record,
    RowDone,
    RowScheduled,
    ToolsRan,
)
from fanout.words.model import Need, RowId, RowSpec, Usage

TARGET_US = 4.0


def story(events: int, rows: int) -> Iterator[Event]:
    """Rows of as many turns as it takes, all alive at once; one in ten refused."""
    ids = [RowId("audit", f"part-{n:05}") for n in range(rows)]
    spec = RowSpec(
        kind="agent",
        model="m",
        pool="p",
        fingerprint="f",
        max_tokens=8192,
        max_turns=50,
        estimate=20_000,
    )
    yield LifeStarted(
        run="r",
        life=1,
        script="/s.py",
        arguments=(),
        endpoint="simulated:demo",
        simulated=True,
        model="m",
        version="0",
        pid=1,
    )
    yield PhaseEntered(phase="audit")
    for row in ids:
        yield RowScheduled(row=row, spec=spec, opening=None)
    need, usage = Need(20_000, 900, 8_192), Usage(900, 700, 19_000, 100)
    turns = max(1, round((events - 2 * rows) / rows / 3.2))
    call = 0
    for turn in range(1, turns + 1):
        for row in ids:
            call += 1
            yield CallAdmitted(row=row, call=call, turn=turn, pool="p", need=need)
            if call % 10 == 0:
                yield CallRefused(
                    row=row,
                    call=call,
                    cause="429 limit",
                    status=429,
                    message="slow",
                    until=9.0,
                )
                call += 1
                yield CallAdmitted(row=row, call=call, turn=turn, pool="p", need=need)
            yield CallAnswered(
                row=row, call=call, usage=usage, stop_reason="tool_use", answer=None
            )
            if turn < turns:
                yield ToolsRan(row=row, turn=turn, results=None)
    for row in ids:
        yield RowDone(row=row, value="text")


def main(events: int = 1_000_000, rows: int = 10_000) -> float:
    """Print the table; return µs an event."""
    state = RunState()
    folded, spent = 0, 0.0
    batch: list[Record] = []

    def fold() -> None:
        nonlocal spent
        started = time.process_time()  # others may keep the machine busy
        for record in batch:
            apply(state, record)
        spent += time.process_time() - started
        batch.clear()

    copies: list[float] = []
    for event in story(events, rows):
        folded += 1
        batch.append(Record(folded, 1, folded / 100, event))
        if len(batch) == 10_000:
            fold()
            started = time.perf_counter()
            state.copy_rows()
            copies.append(time.perf_counter() - started)
    fold()
    assert state.counts.done == rows
    each = spent / folded * 1e6
    copies.sort()
    print("| what | figure | target |\n|---|---:|---:|")
    print(f"| events folded | {folded:,} | 1,000,000 |")
    print(f"| rows | {rows:,} | 10,000 |")
    print(f"| fold, µs of CPU an event | {each:.2f} | ≤ {TARGET_US} |")
    print(f"| fold, seconds in all | {spent:.2f} | |")
    print(
        f"| snapshot copy of the rows, µs (median) | {copies[len(copies) // 2] * 1e6:.0f} | 80 |"
    )
    return each


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
