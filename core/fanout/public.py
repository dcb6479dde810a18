"""Where the public names of `fanout` live."""

from importlib import import_module
from typing import Any

HOMES = {
    "Agent": "fanout.script.agents",
    "Done": "fanout.script.results",
    "Incomplete": "fanout.errors",
    "Missing": "fanout.script.results",
    "Partition": "fanout.decide.parts.packing",
    "Partitions": "fanout.script.parts.partition",
    "Results": "fanout.script.results",
    "UsageError": "fanout.errors",
    "agent": "fanout.script.agents",
    "client": "fanout.script.client",
    "expect": "fanout.script.phases",
    "log": "fanout.script.phases",
    "parallel": "fanout.script.combine",
    "partition": "fanout.script.phases",
    "phase": "fanout.script.phases",
    "pipeline": "fanout.script.pipelines",
    "read_tools": "fanout.files.tools",
    "write_output": "fanout.files.tools",
    "write_tools": "fanout.files.tools",
}


def load(name: str, into: dict[str, Any]) -> Any:
    """Return a public name, and keep it in `into`."""
    if name not in HOMES:
        raise AttributeError(f"module `fanout` has no attribute {name!r}")
    into[name] = value = getattr(import_module(HOMES[name]), name)
    return value
