"""What a run says it cost, against the simulated account's own books.

The account reckons for itself (`fanout.simulator` imports nothing of ours but what
it is sent), with its own prices, and charges every attempt. Of calls that ended,
failed attempts included, each row's tokens agree with it to the token; of cut ones
the books lie between the sum without and the sum with what is in doubt.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.program import Ended, Program, account, known
from fanout.simulator.process import SimulatedAccount

pytestmark = pytest.mark.long

CLASSES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
SCRIPT = """
import fanout

SYSTEM = "You judge with care. " * 900

def look(path: str) -> str:
    "Look."
    return path * 40

async def main():
    async with fanout.phase("read", max_usd=50):
        read = await fanout.parallel(
            fanout.agent(
                f"Read {n}. [[sim: output=90]]", key=f"r{n:02}", system=SYSTEM,
                tools=[look] if n % 3 == 0 else [],
            )
            for n in range(24)
        )
    async with fanout.phase("sum"):
        await fanout.agent("Sum.", key="all", inputs=read, model="claude-opus-5")
"""


def rule(kind: str, share: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "endpoint": "messages", "probability": share, **more}


REFUSALS = [
    rule("overloaded", 0.2),
    rule("server_error", 0.1),
    rule("rate_limit", times=2, retry_after=1),
]
CUTS = [
    rule("error_event", 0.2, after_events=6),
    rule("cut", 0.2, after_events=9),
    rule("overloaded", 0.1),
]


def booked(own: SimulatedAccount) -> Counter[str]:
    """What the account charged its requests one by one, by class."""
    found: Counter[str] = Counter()
    for entry in own.state(5_000)["requests"]:
        for name in CLASSES:
            found[name] += entry[name]
    return found


def rows_of(report: Mapping[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in report["partitions"]:
        found.update(row["usage"])
    return found


def runs(folder: Path, faults: list[dict[str, Any]]) -> tuple[Ended, dict[str, Any]]:
    with account({"faults": faults}) as own:
        program = Program(folder, own)
        program.script(SCRIPT)
        end = program.run("--model", "claude-sonnet-5", "job.py")
        state = own.state(5_000)
        assert booked(own) == {name: state["charged"][name] for name in CLASSES}
    assert end.code == 0, end.said
    return end, state


def test_what_ended_is_known_to_the_token_and_to_the_dollar(tmp_path: Path) -> None:
    end, state = runs(tmp_path, REFUSALS)
    charged, report = state["charged"], end.report
    assert sum(state["refused"].values()) > 5
    assert {entry["status"] for entry in state["requests"]} > {200, 529}
    books = {name: charged[name] for name in CLASSES}
    assert books["cache_read_input_tokens"] > 0
    overhead = known(report, "overhead")
    rows = rows_of(report)
    assert {name: rows[name] + overhead[name] for name in CLASSES} == books
    assert known(report, "useful", "wasted", "overhead") == books
    assert not any(known(report, "in_doubt").values())
    assert report["dollars"] == pytest.approx(charged["usd"], rel=1e-9)
    priced = sum(row["dollars"] for row in report["partitions"])
    assert priced == pytest.approx(charged["usd"], rel=1e-9)
    by_phase = sum(phase["budget"]["dollars"] for phase in report["phases"][:1])
    assert 0 < by_phase < charged["usd"]


def test_what_was_cut_lies_between_without_and_with_the_doubt(tmp_path: Path) -> None:
    end, state = runs(tmp_path, CUTS)
    report, charged = end.report, state["charged"]
    assert any(entry["ended"] == "cut" for entry in state["requests"])
    sure, doubt = known(report, "useful", "wasted"), known(report, "in_doubt")
    assert doubt["output_tokens"] > 0
    for name in CLASSES:
        assert sure[name] <= charged[name] <= sure[name] + doubt[name], name
    assert report["dollars"] <= charged["usd"] + 1e-9
    most = sum(p["in_doubt_dollars"] for p in report["partitions"])
    assert charged["usd"] <= report["dollars"] + most + 1e-9
