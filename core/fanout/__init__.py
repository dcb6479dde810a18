"""Run a fan-out of Claude agents at the account's real speed, from a script.

    async def main(root: str = "src"):
        parts = fanout.partition(root, "**/*.py", max_tokens=30_000)
        results = await fanout.parallel(
            fanout.agent("Review this.", key=part.key, inputs=part) for part in parts
        )
        return results.values()  # raises Incomplete when one is missing

`fanout-tui script.py` runs `main`; `fanout-tui --simulate script.py` rehearses it.

What a script does
    agent(prompt, key=…)       describe one unit of work; `await` it, or give it on
    parallel(agents)           run many; gives their `Results` in call order
    pipeline(items, *stages)   one stage after the other for each item, no barrier
    partition(source, …)       cut files, records or items into pieces of some tokens
    phase(name)                `async with` it: groups rows, holds tolerance and budget
    expect(keys)               declare rows ahead; they are in the report whatever comes
    log(text)                  write a line into the log
    client()                   an AsyncAnthropic whose calls are paced, kept and shown

What an agent may use
    read_tools(root)           read, glob and grep below a folder
    write_tools(root)          these, write and edit
    write_output               lets an agent write its own output file

What comes back
    Results                    a sequence of `Done` and `Missing`; `.values()`, `.done`
    Done, Missing              how one agent ended: `.value`, or `.reason`
    Partitions, Partition      what `partition` gives; each has a `.key`
    Agent                      what `agent` gives, before it is awaited: `Agent[str]`
    Incomplete                 raised where a hole is read as if it were a result
    UsageError                 raised for what cannot work; `.hint` says what would

`help(fanout.agent)` says more, and so for each name.
"""

from typing import TYPE_CHECKING

__all__ = [
    "Agent",
    "Done",
    "Incomplete",
    "Missing",
    "Partition",
    "Partitions",
    "Results",
    "UsageError",
    "agent",
    "client",
    "expect",
    "log",
    "parallel",
    "partition",
    "phase",
    "pipeline",
    "read_tools",
    "write_output",
    "write_tools",
]

if TYPE_CHECKING:
    from fanout.decide.parts.packing import Partition
    from fanout.errors import Incomplete, UsageError
    from fanout.files.tools import read_tools, write_output, write_tools
    from fanout.script.agents import Agent, agent
    from fanout.script.client import client
    from fanout.script.combine import parallel
    from fanout.script.parts.partition import Partitions
    from fanout.script.phases import expect, log, partition, phase
    from fanout.script.pipelines import pipeline
    from fanout.script.results import Done, Missing, Results
else:
    # The names are loaded when they are first used: importing this costs next to
    # nothing. Type checkers do not see it, or every misspelt name would be one.
    def __getattr__(name: str) -> object:
        from fanout.public import load  # noqa: PLC0415  see above

        return load(name, globals())

    def __dir__() -> list[str]:
        return __all__
