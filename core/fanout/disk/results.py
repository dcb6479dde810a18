"""All results of a run in one file: `results.jsonl`, one row a line.

Every expected row has its line, in the order expected. A missing one has its
kind and reason, and under `kept` what it produced nevertheless.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fanout.disk.files import write_atomic
from fanout.disk.jsonline import to_json
from fanout.disk.opening import open_ends
from fanout.disk.payloads import Payloads
from fanout.disk.reading import Where
from fanout.errors import FanoutError
from fanout.words.events import RowDone, RowMissing
from fanout.words.model import Row, Status

NAME = "results.jsonl"


def write_results(run_folder: Path, path: Path | None = None) -> Path:
    """Write a run's results, atomically; return where they stand."""
    path = path or run_folder / NAME
    lines = "".join(f"{line}\n" for line in results(run_folder))
    write_atomic(path, lines.encode())
    return path


def results(run_folder: Path) -> Iterator[str]:
    """Yield one JSON line for each expected row."""
    state, ends = open_ends(run_folder)
    payloads = Payloads(run_folder)
    for row in state.rows.values():
        yield to_json(_line(row, ends.where.get(row.id), payloads))


def _line(row: Row, where: Where | None, payloads: Payloads) -> dict[str, Any]:
    line: dict[str, Any] = {
        "phase": row.id.phase,
        "key": row.id.key,
        "status": row.status.value,
    }
    value = None
    if row.end is not None and where is not None:
        try:
            value = _value(payloads, where)
        except FanoutError as exc:
            line["unreadable"] = str(exc)
    if row.status is Status.DONE:
        return line | {"value": value}
    if row.end is not None and row.end.kind is not None:
        line |= {"kind": row.end.kind.value, "reason": row.end.reason, "kept": value}
    return line | {"value": None}


def _value(payloads: Payloads, where: Where) -> Any:
    event = payloads.event(where)
    match event:
        case RowDone():
            return payloads.value(event.value)
        case RowMissing():
            return payloads.value(event.kept)
        case _:
            raise FanoutError("the journal has changed")
