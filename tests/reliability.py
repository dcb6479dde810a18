"""Writes `.github/RELIABILITY.md` from the figures that proofs have kept.

    poe reliability

after `poe test`, `poe long` and `poe soak`. What a proof of `EXPECTED` has
not said is shown as not measured, and the exit code is 1 then.
"""

import os
import platform
import sys
from collections.abc import Iterable, Iterator

from core.engine import invariants
from figures import ROOT, Figure, recorded

PATH = ROOT / ".github" / "RELIABILITY.md"
BUG = "planted bug: "
EXPECTED = (
    "simulated runs",
    "planted bugs",
    "planted bugs, the last to be caught",
    "kill -9 of the real program",
    "kill -9 of the real program: calls in doubt by one kill",
    "kill -9 of the journal's writer",
    "crash states of a journal",
    "a torn tail cut at every byte",
    "durable acknowledgements at 200 events a second",
    "opening a long run from a checkpoint",
    "opening a long run without one",
    "lying agents",
    "hostile paths",
    "a rename race against the file tools",
    "canary secrets over everything the suite writes",
)

HEAD = """\
# Reliability

What is claimed of `fanout-tui`, and what was measured. This file is generated:
`poe test`, `poe long` and `poe soak` run the proofs, `poe reliability` writes down
what they have said. A proof
that fails says nothing, so every figure here is of one that
held. Times were taken on a loaded machine, where the tests allow more than the goal: a
time over its goal stands here as it was.

{machine}. `FANOUT_SCALE=5 poe long` tells five times as many
stories and kills five times as often.

## Figures

| what | must reach | reached | where |
|---|---|---|---|
"""

SEEDS = """
Seeds count from 1,000 in each weather, and from 0 for planted bugs. A failure prints
its seed and the command that tells that one story again:

    PYTHONPATH=tests .venv/bin/python -m core.engine.stories "killed often" 1234

One proof is run again by its name, for instance
`.venv/bin/pytest -m '' tests/e2e/test_real_kills.py`.

## What is checked of every story

A story is a run of the whole engine on a virtual clock, with a disk that loses what was
not synced, an account with limits and books of its own, a script, and a person who
interferes. All of it is drawn from one seed.

"""

BUGS = """
## Planted bugs

A harness that finds nothing proves nothing. Each of these bugs is planted in turn, and
stories are told until one goes wrong.

| bug | caught |
|---|---|
"""

NOT_CLAIMED = """
## What is not claimed

- **Calls exactly once.** The Messages API takes no idempotency key. A call that is in
  flight when the process dies may be charged, and is sent again. There are at most as
  many of them as may be in flight at once; each is listed as in doubt, with the most
  that it can have cost. A call whose answer is in the journal is never sent again.
- **Power cuts on drives that lie.** What was synced is taken to be on the drive. A
  drive or a hypervisor that confirms a sync and has not done it can lose results.
  Power cuts are simulated, not pulled.
- **Network and shared file systems.** The lock and the journal are made for a local
  disk. NFS, SMB and shared folders of virtual machines are neither tested nor refused.
- **A sandbox.** A script runs with its user's rights, and so do the tools that it
  brings along. The file tools are confined to their folder; nothing else is.
- **Another clock.** A clock that is set while a run is down can make a wait after a 429
  shorter than the service had asked for, never longer.
"""


def main() -> int:
    """Write the file; returns 1 when an expected figure is not there."""
    figures = {figure.name: figure for figure in recorded()}
    missing = [name for name in EXPECTED if name not in figures]
    PATH.write_text("".join(_parts(figures)))
    for name in missing:
        print(f"not measured: {name}", file=sys.stderr)
    print(f"wrote {PATH.relative_to(ROOT)}: {len(figures)} figures")
    return 1 if missing else 0


def _parts(figures: dict[str, Figure]) -> Iterator[str]:
    yield HEAD.format(machine=_machine())
    known = [figures.get(name) or _absent(name) for name in EXPECTED]
    rest = [f for name, f in figures.items() if name not in EXPECTED]
    yield from _rows(_ordered([*known, *(f for f in rest if BUG not in f.name)]))
    yield SEEDS
    yield from _invariants()
    yield BUGS
    for figure in figures.values():
        if figure.name.startswith(BUG):
            yield f"| {figure.name.removeprefix(BUG)} | {figure.value} |\n"
    yield NOT_CLAIMED


def _ordered(figures: Iterable[Figure]) -> list[Figure]:
    """Put what belongs to a figure (`figure: more`) behind it."""
    figures = list(figures)
    heads = [f for f in figures if ": " not in f.name]
    order = {figure.name: number for number, figure in enumerate(heads)}
    return sorted(figures, key=lambda f: order.get(f.name.split(": ")[0], len(order)))


def _rows(figures: Iterable[Figure]) -> Iterator[str]:
    for figure in figures:
        head, _, more = figure.name.partition(": ")
        name = f"… {more}" if more else head
        where = " ".join(f"`{test}`" for test in _short(figure.again))
        yield f"| {name} | {figure.goal} | {figure.value} | {where} |\n"


def _short(tests: str) -> list[str]:
    """Files rather than single tests: those are long, and change their names."""
    return list(dict.fromkeys(test.partition("::")[0] for test in tests.split()))


def _absent(name: str) -> Figure:
    return Figure(name, "", "**not measured**", "")


def _invariants() -> Iterator[str]:
    """The table that heads the module of the invariants, its places left out."""
    yield "| | what holds |\n|---|---|\n"
    for line in (invariants.__doc__ or "").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| I"):
            yield f"| {cells[0]} | {cells[1]} |\n"


def _machine() -> str:
    cores = os.cpu_count()
    python = platform.python_version()
    return f"Measured on {cores} cores, {platform.system()}, Python {python}"


if __name__ == "__main__":
    sys.exit(main())
