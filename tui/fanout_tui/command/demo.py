"""`fanout-tui demo`: the example on the embedded account, beside what people do.

First the naive program runs on a simulated account: plain `asyncio.gather` over
the SDK's default client. Then the account is reset, and the same audit of the
same files runs as a fan-out on it. The end compares what came back: measured on
the account's own books, both times.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fanout.errors import FanoutError
from fanout.simulator.process import SimulatedAccount
from fanout.words.counted import of_them, plural
from fanout.words.model import Usage
from fanout_tui.command import options as reading
from fanout_tui.command.running import run_script
from fanout_tui.command.say import write
from fanout_tui.command.verbparsers import parser_of
from fanout_tui.view.look import moment

PROFILE = "demo"
NAIVE_SECONDS_MAX = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Naive:
    """What the naive program came back with."""

    agents: int
    lost: int
    seconds: float
    refused: int
    """429s, by the account's books."""
    charged: int
    """Tokens the account charged for all of it."""


def run_demo(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run both and compare; the exit code is the fan-out's."""
    space = parser_of("demo").parse_args(list(arguments))
    space.simulate, space.profile = True, PROFILE
    # A demonstration that reused yesterday's results would show nothing.
    space.fresh = space.resume is None
    # The comparison comes last; a screen that waited for a key would hide it.
    space.exit_when_done = True
    example = str(files("fanout.examples") / "audit.py")
    space.rest = [example, *space.rest]
    with ExitStack() as stack:
        account = stack.enter_context(SimulatedAccount.start(PROFILE))
        quiet = space.json
        if not quiet:
            _announce(account)
        naive = _run_naive(account)
        if not quiet:
            write(_told(naive))
        account.reset()
        ran = run_script(reading.understand(space, environ), environ, account=account)
        if not quiet and ran.snapshot is not None:
            write(_compared(naive, ran.snapshot, account.state(0)))
    return ran.code


def _announce(account: SimulatedAccount) -> None:
    limits = account.limits
    write(
        "a simulated account on this machine: "
        f"{plural(limits['requests'], 'request')}, "
        f"{limits['input_tokens']:,} input and "
        f"{limits['output_tokens']:,} output tokens per minute"
    )
    write("1. plain asyncio.gather over the same files, SDK defaults …")


def _run_naive(account: SimulatedAccount) -> Naive:
    command = [sys.executable, "-m", "fanout.examples.naive", account.url]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, check=True, timeout=NAIVE_SECONDS_MAX
        )
        told = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise FanoutError(
            f"the naive program could not be measured: {error}",
            hint="run it by hand: python -m fanout.examples.naive",
        ) from error
    state = account.state(0)
    return Naive(
        agents=told["agents"],
        lost=told["lost"],
        seconds=told["seconds"],
        refused=_refused(state),
        charged=_charged(state),
    )


def _told(naive: Naive) -> str:
    return (
        f"   {of_them(naive.agents - naive.lost, naive.agents, 'agent')} came back in "
        f"{naive.seconds:.0f} s, {naive.lost} were lost to {naive.refused} x 429\n"
        "2. the same audit as a fan-out, on the same account …"
    )


def _compared(naive: Naive, snapshot: Any, state: dict[str, Any]) -> str:
    audit = [row for row in snapshot.rows.values() if row.id.phase == "audit"]
    done = sum(row.status.value == "done" for row in audit)
    seconds = moment(snapshot, snapshot.at) - snapshot.run.started_at
    before = (
        f"  plain gather  {naive.agents - naive.lost:>3} of {naive.agents} done  "
        f"{naive.lost:>3} lost  {naive.refused:>3} x 429  {naive.seconds:4.0f} s  "
        f"{naive.charged:,} tokens charged"
    )
    after = (
        f"  fanout-tui    {done:>3} of {len(audit)} done  "
        f"{len(audit) - done:>3} lost  {_refused(state):>3} x 429  {seconds:4.0f} s  "
        f"{_charged(state):,} tokens charged, report included"
    )
    return f"on the same account, by its own books:\n{before}\n{after}"


def _refused(state: Mapping[str, Any]) -> int:
    return sum(state["refused"].values())


def _charged(state: Mapping[str, Any]) -> int:
    charged = state["charged"]
    return sum(charged[name] for name in Usage().as_dict())
