"""The report's figures against the account's own books, over whole runs."""

from pathlib import Path
from typing import Any

import pytest

from e2e.program import Program, account, known

CLASSES = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
EVERY_KIND = """
from pydantic import BaseModel

class Found(BaseModel):
    names: list[str]
    note: str

def look(path: str, depth: int, why: str) -> str:
    "Look."
    return path

async def thinks(client, n):
    return await client.messages.create(
        model="claude-sonnet-5", max_tokens=4_000,
        thinking={"type": "adaptive"},
        messages=[{"role": "user", "content": f"Say {n}. [[sim: thinking=333]]"}],
    )

async def main():
    async with fanout.phase("tools"):
        await fanout.parallel(
            fanout.agent(
                f"Look at {n}. [[sim: turns={n} parallel=2 tool_tokens={7 * n}]]",
                key=f"t{n}", tools=[look], schema=Found if n % 2 else None,
            )
            for n in range(1, 6)
        )
    async with fanout.phase("thinks"):
        client = fanout.client()
        await asyncio.gather(*(thinks(client, n) for n in range(3)))
    async with fanout.phase("batch"):
        await fanout.parallel(
            fanout.agent(f"Say {n}.", key=f"b{n}", schema=Found, lane="batch")
            for n in range(3)
        )
"""
BROKEN = """
async def main():
    await work(6, "[[sim: output=300]]")
"""


def test_books_and_report_agree_token_by_token(tmp_path: Path) -> None:
    """Tools, structured output, thinking and batches: what was told is charged."""
    quick = {"seconds_per_hour": 0.5, "hours": {"min": 0.1, "max": 0.2}}
    with account({"batches": quick}) as service:
        program = Program(tmp_path, service)
        program.script(EVERY_KIND)
        ended = program.run()
        books = service.state(0)
    assert ended.code == 0, ended.said
    charged = books["charged"]
    assert books["batched"]["output_tokens"] > 0
    assert known(ended.report, "useful") == {name: charged[name] for name in CLASSES}
    assert not any(known(ended.report, "wasted", "in_doubt", "overhead").values())
    assert ended.report["dollars"] == pytest.approx(charged["usd"])
    rows = ended.report["partitions"]
    assert (
        sum(row["usage"]["output_tokens"] for row in rows) == charged["output_tokens"]
    )


@pytest.mark.parametrize(
    ("kind", "after"),
    [("cut", 1), ("cut", 40), ("clean_eof", 9), ("error_event", 9), ("stall", 9)],
)
def test_books_and_report_agree_on_streams_that_break(
    tmp_path: Path, kind: str, after: int
) -> None:
    """Whole answers are held to the token, broken ones between known and at most."""
    rule: dict[str, Any] = {"kind": kind, "after_events": after, "times": 3}
    with account({"faults": [rule | {"seconds": 0.2}]}) as service:
        program = Program(tmp_path, service)
        program.script(BROKEN)
        ended = program.run()
        books = service.state(5_000)
    assert ended.code == 0, ended.said
    whole, cut = (_charged(books, how) for how in ("complete", "cut"))
    assert known(ended.report, "useful") == whole
    least = known(ended.report, "wasted")
    most = known(ended.report, "wasted", "in_doubt")
    for name in CLASSES:
        assert least[name] <= cut[name] <= most[name], name
    assert bool(least["input_tokens"]) == (kind != "stall")
    assert books["charged"]["output_tokens"] == (
        whole["output_tokens"] + cut["output_tokens"]
    )


def _charged(books: dict[str, Any], how: str) -> dict[str, int]:
    ended = [one for one in books["requests"] if one["ended"] == how]
    return {name: sum(one[name] for one in ended) for name in CLASSES}
