"""Audit a folder for unsafe file handling: one agent a partition, then a report.

    fanout-tui --simulate audit.py                  # Python's own asyncio and friends
    fanout-tui --simulate audit.py src "**/*.py"    # your code

What to look at:

- `partition` packs files by estimated tokens, not by count. Its keys stay the same
  when you run again, so finished partitions are reused and only edited ones redone.
- Each agent gets a list of its files and the tools to read them; what it reads is
  re-sent with every turn, which is why tokens per minute are the real limit.
- `schema` holds the answer to a shape, and `output` is the file that decides whether
  the partition is done: it must exist and parse.
- The report is given `results` as a whole. If partitions are missing, the agent that
  writes it is told which, and the run says so and exits with 3.
"""

import os
from pathlib import Path

from pydantic import BaseModel

import fanout

STANDARD_LIBRARY = str(Path(os.__file__).parent)
PATTERN = "{asyncio,json,logging}/*.py"
MAX_TOKENS = 9_000

AUDIT = """\
You are auditing Python code for unsafe file handling. Read every file listed below
with the read tool, whole. Report each place where a file is opened, written, moved or
deleted in a way that can lose data or be tricked: no encoding given, a check before
the use it guards, a temporary file with a name that can be guessed, a handle that is
not closed on an error. Report nothing you have not read."""

REPORT = """\
Write a report in Markdown from these findings: a paragraph for the reader in a hurry,
then the findings by severity. If some partitions are missing, begin by naming them:
nothing is known about their files."""


class Finding(BaseModel):
    """One place that should be looked at."""

    file: str
    line: int
    problem: str
    severity: str


class Findings(BaseModel):
    """All that one agent found."""

    findings: list[Finding]


async def main(root: str = STANDARD_LIBRARY, pattern: str = PATTERN) -> str:
    """Audit `pattern` below `root`; returns one sentence, the report is a file."""
    parts = fanout.partition(root, pattern, max_tokens=MAX_TOKENS)
    tools = fanout.read_tools(root)

    async with fanout.phase("audit"):
        results = await fanout.parallel(
            fanout.agent(
                AUDIT,
                key=part.key,
                inputs=part,
                schema=Findings,
                tools=tools,
                output=f"findings/{part.key}.json",
            )
            for part in parts
        )

    async with fanout.phase("summary"):
        summary = await fanout.agent(
            REPORT, key="report", inputs=results, output="report.md"
        )
    # Reading a missing summary raises Incomplete: the run then exits with 3.
    found = sum(len(done.value.findings) for done in results.done)
    words = len(summary.value.split())
    return f"{found} findings; the report of {words} words is report.md"
