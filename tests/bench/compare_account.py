"""The simulated account of `compare.py`, in a process of its own.

Run as a program it serves like `python -m fanout.simulator`, except that with
`--silent` no refusal brings a `retry-after` or shows the limits.
"""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

from compare_work import Condition

from fanout.simulator import serving
from fanout.simulator.books import Entry
from fanout.simulator.errors import Refusal
from fanout.simulator.process import SimulatedAccount
from fanout.simulator.server import Service


class Silent(Service):
    """Says no, and not for how long."""

    def _refuse(
        self, refusal: Refusal, entry: Entry, quota: dict[str, str] | None = None
    ) -> Any:
        del quota
        return super()._refuse(replace(refusal, retry_after=None), entry, {})


def start(condition: Condition, seed: int) -> SimulatedAccount:
    """A fresh account; a context manager that ends it."""
    command = [
        *(sys.executable, __file__, "--seed", str(seed)),
        *("--extra", json.dumps(condition.extra()), "--until-stdin-closes"),
    ]
    if condition.mute:
        command.append("--silent")
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdout is not None
    told = json.loads(child.stdout.readline())
    return SimulatedAccount(
        told["url"], told["control"], told["profile"], told["limits"], child
    )


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--silent"]
    if len(words) < len(sys.argv) - 1:
        serving.Service = Silent
    sys.exit(serving.main(words))
