"""Run a fan-out of Claude agents; what a script imports.

The public names are loaded when they are first used, so that `import fanout`
costs next to nothing and loads neither the SDK nor a terminal.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanout.decide.packing import Partition
    from fanout.errors import Incomplete
    from fanout.files.tools import read_tools, write_output, write_tools
    from fanout.script.agents import agent
    from fanout.script.client import client
    from fanout.script.combine import parallel
    from fanout.script.phases import expect, log, partition, phase
    from fanout.script.pipelines import pipeline
    from fanout.script.results import Done, Missing, Results

__all__ = [
    "Done",
    "Incomplete",
    "Missing",
    "Partition",
    "Results",
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

_HOMES = {
    "Done": "fanout.script.results",
    "Incomplete": "fanout.errors",
    "Missing": "fanout.script.results",
    "Partition": "fanout.decide.packing",
    "Results": "fanout.script.results",
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


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module `fanout` has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
