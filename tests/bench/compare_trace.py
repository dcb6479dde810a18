"""Why fanout-tui waited, beside what the account really held.

`record` runs inside the run: it writes down what each plan decided. `Truth` runs
beside it and asks the account for its levels. `explain` puts the two together: how
long each cause held the head, and how long it did although the account had room.
"""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanout.simulator.process import SimulatedAccount

EVERY_SECONDS = 0.1
OPENING_SECONDS = 2.0
"""What is lost before is lost by opening with too little."""
WIRE_SECONDS = 0.1
"""When a call that was started has been charged."""
POOL = "sonnet-5"
NOTHING = "nothing waits"


def record(path: Path) -> None:
    """Write down every plan of this process that differs from the one before."""
    from fanout.world import engine

    plan = engine.plan
    file = path.open("w", encoding="utf-8", buffering=1 << 16)
    last: list[Any] = [None, 0.0]

    def traced(account: Any, now: float, **words: Any) -> Any:
        decision = plan(account, now, **words)
        cause = [str(block.cause) for block in decision.gates.values()]
        if cause != last[0] or now - last[1] >= EVERY_SECONDS or decision.starts:
            last[:] = [cause, now]
            file.write(json.dumps(_line(account, decision, now)) + "\n")
            file.flush()
        return decision

    engine.plan = traced


def _line(account: Any, decision: Any, now: float) -> dict[str, Any]:
    pool = next(iter(account.pools.values()), None)
    line: dict[str, Any] = {
        "at": time.time(),
        "starts": [[t.row.key, t.need.input] for t in decision.starts],
        "gates": [
            [str(block.cause), block.detail] for block in decision.gates.values()
        ],
        "flying": account.in_flight,
        "ceiling": account.ceiling.limit,
    }
    if pool is not None:
        line["waiting"] = len(pool.line)
        # What starts now is still in the line; the head is the one behind.
        place = len(decision.starts)
        if len(pool.line) > place:
            line["need"] = pool.line.at(place).need.input
        line["levels"] = {
            str(name): level
            for name, bucket in pool.buckets.items()
            if (level := bucket.level(now)) != float("inf")
        }
        line["unsent"] = pool.unsent[1]
        line["to_come"] = pool.output_to_come
    return line


class Truth(threading.Thread):
    """Asks the account for its levels until stopped."""

    def __init__(self, account: SimulatedAccount) -> None:
        super().__init__(daemon=True)
        self._account = account
        self._stopped = threading.Event()
        self.samples: list[dict[str, Any]] = []

    def run(self) -> None:
        while not self._stopped.wait(EVERY_SECONDS * 2):
            state = self._account.state(0)
            levels = {n: b["level"] for n, b in state["pools"][POOL].items()}
            full = {n: b["capacity"] for n, b in state["pools"][POOL].items()}
            self.samples.append(
                {
                    "at": state["now"],
                    "levels": levels,
                    "full": full,
                    "flying": state["in_flight"],
                }
            )

    def stop(self) -> list[dict[str, Any]]:
        """All samples."""
        self._stopped.set()
        self.join(5)
        return self.samples


@dataclass(frozen=True)
class Bound:
    """What a run is held against."""

    seconds: float
    by: str
    rate: float
    """Refill a second of the limit that makes it; 0 where none does."""


def explain(
    path: Path,
    truth: list[dict[str, Any]],
    began: float,
    end: float,
    least: Bound,
) -> str:
    """How long what held the head, and where the time over the bound went."""
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    seen = _Seen()
    before, place = began, 0
    for sample in truth:
        if not began <= sample["at"] <= end:
            continue
        span, before = sample["at"] - before, sample["at"]
        while place < len(lines) and lines[place]["at"] <= sample["at"]:
            place += 1
        if place:
            seen.add(span, lines[place - 1], sample)
    told = [
        f"  head held by          {_seconds(seen.held)}",
        f"  though there was room {_seconds(seen.idle)}",
        f"  bucket full           {_seconds(seen.full)}",
        f"  true less believed input level: {seen.gap()}",
    ]
    starts = [line["at"] for line in lines if line["starts"]]
    if starts:
        told.append(
            f"  over the bound        {_over(truth, starts, began, end, least)}"
        )
    return "\n".join(told)


def _over(
    truth: list[dict[str, Any]],
    starts: list[float],
    began: float,
    end: float,
    least: Bound,
) -> str:
    """Where the time over the bound went.

    At the last start, what the limit has given is what was charged, what was lost
    while its bucket was full, and what is still in it; then comes the tail.
    """
    tail = end - starts[-1]
    if not least.rate or least.by == "output_tokens":
        # What is written flows on after the last start; there is no such sum.
        over = end - began - least.seconds
        return f"{over:.1f} s: from the last start to the end {tail:.1f}"
    opening = lost = left = 0.0
    before = began
    for sample in truth:
        if not began <= sample["at"] <= end:
            continue
        span, before = sample["at"] - before, sample["at"]
        level = sample["levels"][least.by]
        if sample["at"] > starts[-1] + WIRE_SECONDS:
            gained = least.rate * (sample["at"] - starts[-1])
            left = max(0.0, level - gained) / least.rate
            break
        if level >= sample["full"][least.by] - 1:
            early = sample["at"] < began + OPENING_SECONDS
            opening, lost = opening + span * early, lost + span * (not early)
    rest = end - began - least.seconds - opening - lost - left - tail
    return (
        f"{end - began - least.seconds:.1f} s: tail {tail:.1f}, "
        f"left in the bucket at the last start {left:.1f}, "
        f"bucket full while opening {opening:.1f} and later {lost:.1f}, "
        f"rest {rest:.1f}"
    )


class _Seen:
    """Seconds by what was seen in them."""

    def __init__(self) -> None:
        self.held: Counter[str] = Counter()
        """What held the head."""
        self.idle: Counter[str] = Counter()
        """What did although the account would have let it pass."""
        self.full: Counter[str] = Counter()
        """Buckets that lost their refill."""
        self._gaps: list[float] = []

    def add(self, span: float, line: dict[str, Any], sample: dict[str, Any]) -> None:
        """Count a span that ends with this plan and these levels."""
        cause = line["gates"][0][0] if line["gates"] else NOTHING
        levels = sample["levels"]
        self.held[cause] += span
        if cause != NOTHING and _fits(line, levels):
            self.idle[cause] += span
        for name, level in levels.items():
            if level >= sample["full"][name] - 1:
                self.full[name] += span
        believed = line.get("levels", {}).get("input tokens")
        if believed is not None:
            self._gaps.append(levels["input_tokens"] - believed)

    def gap(self) -> str:
        """How far belief and truth are apart."""
        if not self._gaps:
            return "-"
        gaps = sorted(self._gaps)
        tenth, middle = len(gaps) // 10, len(gaps) // 2
        return (
            f"p10 {gaps[tenth]:,.0f}, median {gaps[middle]:,.0f}, "
            f"p90 {gaps[-tenth - 1]:,.0f}"
        )


def _fits(line: dict[str, Any], levels: dict[str, float]) -> bool:
    """The account would have let the head pass, had it been sent."""
    return (
        levels["input_tokens"] >= line.get("need", 0)
        and levels["requests"] >= 1
        and levels["output_tokens"] > 0
    )


def _seconds(spans: Counter[str]) -> str:
    parts = (f"{name} {span:.1f} s" for name, span in spans.most_common() if span > 0)
    return ", ".join(parts) or "-"
