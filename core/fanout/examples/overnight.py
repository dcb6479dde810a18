"""Describe every module of a folder at half the price, then write an index.

    fanout-tui --simulate overnight.py                 # Python's own email package
    fanout-tui --simulate overnight.py src "**/*.py"   # your code

What to look at:

- `lane="batch"` sends these agents together through message batches: half the price,
  most often within an hour, a day at most. They have no tools, for a batch runs none;
  `partition` therefore puts the files' content into the question itself.
- Leave it: `q`, Ctrl-C or a closed lid end the run and not the batch. `fanout-tui
  resume last` picks it up, tomorrow and in another process, and pays nothing again.
- What expires goes into the next batch, and an answer that misses the schema goes
  back in its own conversation: both by themselves, and only so many times.
- The index is one agent on the live lane: nobody wants to wait an hour for it.
- `fanout-tui --lane batch script.py` does the same for a script that says nothing of
  lanes; results are the same results, and each lane reuses what the other has done.
"""

import os
from pathlib import Path

from pydantic import BaseModel

import fanout

STANDARD_LIBRARY = str(Path(os.__file__).parent)
PATTERN = "email/*.py"
MAX_TOKENS = 6_000

DESCRIBE = """\
For each file below: its path, what it is for in one sentence, and the names a caller
needs. Say nothing that does not stand in the file."""

INDEX = """\
Write an index in Markdown from these descriptions: the files in groups that belong
together, a line each. If some are missing, begin by naming them."""


class Description(BaseModel):
    """One file, described."""

    file: str
    purpose: str
    names: list[str]


class Descriptions(BaseModel):
    """All files of one partition."""

    files: list[Description]


async def main(root: str = STANDARD_LIBRARY, pattern: str = PATTERN) -> str:
    """Describe in batches, then write the index on the live lane."""
    parts = fanout.partition(root, pattern, max_tokens=MAX_TOKENS)
    async with fanout.phase("describe"):
        described = await fanout.parallel(
            fanout.agent(
                DESCRIBE,
                key=part.key,
                inputs=part,
                schema=Descriptions,
                output=f"files/{part.key}.json",
                lane="batch",
            )
            for part in parts
        )
    async with fanout.phase("index"):
        index = await fanout.agent(
            INDEX, key="index", inputs=described, output="index.md", lane="live"
        )
    files = sum(len(found.files) for found in described.done.values())
    return f"{files} files in {len(described)} partitions\n\n{index.value}"
