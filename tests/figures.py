"""The figures that proofs measure, for `.github/RELIABILITY.md`.

A proof ends with one line:

    from figures import record_figure

    record_figure("hostile paths", "≥ 500, 0 escapes", f"{tried:,} tried, 0 escapes")

A value of which shards have a part each is given as a number, and summed:

    record_figure("kills of the real program", "≥ 200, 0 results lost", kills)

Say it after the last assertion: only what held is a figure. It is kept under
`.figures/` (not in git), printed when pytest ends, and `poe reliability` makes the
table. How to run the proof again is taken from the test that says it.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".figures"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: what was to be reached, and what was."""

    name: str
    goal: str
    value: str
    again: str


def record_figure(
    name: str, goal: str, value: float | str, *, unit: str = "", highest: bool = False
) -> None:
    """Keep what a proof has measured.

    Args:
        name: What the figure is of, the same in all shards of a proof.
        goal: What it must reach, in words.
        value: What was reached. Numbers of several shards or figures are summed.
        unit: What a number counts, shown behind it: `"kills, 0 lost"`.
        highest: Show the highest number of the shards, not their sum.
    """
    node = re.sub(r" \(\w+\)$", "", os.environ.get("PYTEST_CURRENT_TEST", ""))
    kept = {
        "name": name,
        "goal": goal,
        "value": value,
        "unit": unit,
        "highest": highest,
        "test": node,
    }
    FOLDER.mkdir(exist_ok=True)
    mark = sha256(json.dumps([name, node]).encode()).hexdigest()[:16]
    path = FOLDER / f"{mark}.json"
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(kept, ensure_ascii=False))
    fresh.replace(path)


def recorded(since: float = 0.0) -> list[Figure]:
    """The figures that were kept at or after a moment, shards put together."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        if path.stat().st_mtime >= since:
            part = json.loads(path.read_text())
            parts.setdefault(part["name"], []).append(part)
    return [_whole(name, parts[name]) for name in sorted(parts)]


def _whole(name: str, parts: list[dict[str, Any]]) -> Figure:
    values = [part["value"] for part in parts]
    last = parts[-1]
    if any(isinstance(value, str) for value in values):
        shown = "; ".join(dict.fromkeys(str(value) for value in values))
    else:
        number = max(values) if last["highest"] else sum(values)
        shown = f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"
    tests = dict.fromkeys(re.sub(r"\[.*", "", part["test"]) for part in parts)
    return Figure(
        name, last["goal"], f"{shown} {last['unit']}".strip(), " ".join(tests)
    )


def lines(since: float) -> Iterator[str]:
    """What pytest prints when it ends."""
    for figure in recorded(since):
        yield f"{figure.name}: {figure.value} (goal: {figure.goal})"
