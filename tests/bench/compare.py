"""fanout-tui beside what people use, on the same work and the same account.

    python tests/bench/compare.py [--workloads even,heavy,…] [--conditions plain,…]
                                  [--clients gather-2,fanout,…] [--seeds N]
                                  [--quick | --all] [--virtual] [--trace] [--json FILE]

Every run has a simulated account of its own, fresh, in its own process, over HTTP on
loopback; every client is a process of its own. fanout-tui is the real command on an
account it knows nothing about. What is sent is the same for all (`compare_work`), as
is what is counted: by the account's own books, from the first request's arrival to
the last answer's end, so nobody pays for importing an SDK.

The bound (`compare_bound`) is over what agents needed that finished: input that was
charged, cache writes included and reads not, output, requests. A client that loses
agents has no figure: whoever drops half the work is done early. Wasted is what was
charged beyond the calls of finished agents. `--quick` is one small workload and two
clients in half a minute; `--all` is every workload by every client, and every condition
on the small workload by one client of each kind, once. How long it takes is said first; `--virtual` adds the long schedules
on virtual time (`admission_virtual`); `--trace` says why fanout-tui waited
(`compare_trace`). At the end all cells stand in one table.

`fanout-pair` is two runs of the command at the same time on the one account, each
with the workload's agents of a seed of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import admission_virtual
import compare_account
import compare_plan
from compare_bound import bound
from compare_ideal import orders
from compare_trace import Bound, Truth, explain
from compare_work import CONDITIONS, LIMITS, WORK, Condition, Job, jobs

from fanout.simulator.process import SimulatedAccount

HERE = Path(__file__).parent
NONE = "\N{EN DASH}"
OURS = {"fanout": "declared", "fanout-client": "client", "fanout-pair": "declared"}
PAIR = "fanout-pair"
SECOND = 1_000
"""What the second run's seed of a pair is more."""
CLIENTS = (
    "gather-2", "gather-6", "semaphore-4", "semaphore-8", "semaphore-16",
    "aiolimiter-requests", "aiolimiter-tokens", "aiolimiter-tokens-80", *OURS,
)  # fmt: skip
ALONE = ",".join(client for client in CLIENTS if client != PAIR)
POLL_SECONDS = 0.05
EVERY_ENTRY = 100_000
SEEDS = 3


@dataclass
class Ran:
    """What one run came to."""

    workload: str
    condition: str
    client: str
    seed: int
    seconds: float
    bound: float
    bound_by: str
    lost: int | None
    """None: it was not done when its time was over."""
    refused_429: int
    refused_529: int
    wasted: int
    peak: int
    causes: dict[str, int]
    trace: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.lost != 0 else self.seconds / self.bound


def command(client: str, url: str, words: list[str], *, mute: bool) -> list[str]:
    """How the client is started; `words` are workload, seed, result and trace."""
    if client in OURS:
        run = [sys.executable, "-m", "fanout_tui", "--json", "--fresh", "--yes"]
        return [*run, str(HERE / "compare_script.py"), OURS[client], *words]
    made = [sys.executable, str(HERE / "compare_client.py"), client, url, *words]
    return [*made, "mute"] if mute else made


def run_one(
    workload: str, name: str, client: str, seed: int, options: argparse.Namespace
) -> Ran:
    """One client on one fresh account."""
    condition = CONDITIONS[name]
    seeds = [seed, seed + SECOND] if client == PAIR else [seed]
    work = [job for one in seeds for job in jobs(workload, one)]
    with (
        tempfile.TemporaryDirectory() as folder,
        compare_account.start(condition, seed) as account,
    ):
        trace = Path(folder, "trace.jsonl")
        results = [Path(folder, f"result-{one}.json") for one in seeds]
        traced = options.trace and client in OURS
        truth = Truth(account)
        if traced:
            truth.start()
        made = []
        for one, result in zip(seeds, results, strict=True):
            words = [workload, str(one), str(result)]
            if traced and one == seed:
                words.append(str(trace))
            made.append(command(client, account.url, words, mute=condition.mute))
        _watch(made, folder, account, condition, options.cap)
        samples = truth.stop() if traced else []
        agents = None
        if all(result.exists() for result in results):
            told = [json.loads(result.read_text("utf-8")) for result in results]
            agents = [agent for part in told for agent in part]
        state = account.state(EVERY_ENTRY)
        ran = _judge(agents, state, work, condition)
        ran.workload, ran.condition, ran.client, ran.seed = workload, name, client, seed
        if traced and trace.exists():
            began, end = _span(state)
            limit = LIMITS.get(ran.bound_by, 0) * condition.scale / 60
            least = Bound(ran.bound, ran.bound_by, limit)
            ran.trace = explain(trace, samples, began, end, least)
    return ran


def _watch(
    made: list[list[str]],
    folder: str,
    account: SimulatedAccount,
    condition: Condition,
    cap: float,
) -> None:
    """Run clients to their end, and let happen to the account what is to happen."""
    environ = os.environ | {
        "ANTHROPIC_BASE_URL": account.url,
        "ANTHROPIC_API_KEY": "simulated",
        "NO_PROXY": "127.0.0.1",
    }
    children = []
    for number, words in enumerate(made):
        # A folder of its own: one run folder at a time belongs to one script.
        own = Path(folder, f"client-{number}")
        own.mkdir()
        with Path(own, "out").open("wb") as out:
            child = subprocess.Popen(
                words,
                cwd=own,
                env=environ,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
            )
        children.append(child)
    try:
        end = time.monotonic() + cap
        due = condition.at > 0
        while any(c.poll() is None for c in children) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            if due and (first := account.state(1)["requests"]):
                due = False
                _stage(account, condition, first[0]["at"])
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
            child.wait()


def _stage(account: SimulatedAccount, condition: Condition, began: float) -> None:
    """Sleep until the moment comes; a client cannot be done before it."""
    time.sleep(max(0.0, began + condition.at - time.time()))
    if condition.halved:
        limits = condition.extra()["limits"]
        account.set(limits={name: limit // 2 for name, limit in limits.items()})
    if condition.wall:
        account.set(overloaded_seconds=condition.wall)


def _span(state: dict[str, Any]) -> tuple[float, float]:
    """The first request's arrival and the last answer's end, epoch seconds."""
    entries = [one for one in state["requests"] if one["endpoint"] == "messages"]
    if not entries:
        return 0.0, 0.0
    return (
        min(one["at"] for one in entries),
        max(one["at"] + one["seconds"] for one in entries),
    )


def _judge(
    agents: list[dict[str, Any]] | None,
    state: dict[str, Any],
    work: list[Job],
    condition: Condition,
) -> Ran:
    """Hold what the client says against the account's books."""
    done = [one for one in agents or [] if "calls" in one]
    used = [call for one in done for call in one["calls"]]
    needed = {
        "requests": float(sum(job.calls for job in work)),
        "input_tokens": float(sum(call["input"] for call in used)),
        "output_tokens": float(sum(call["output"] for call in used)),
    }
    charged = state["charged"]
    paid = charged["input_tokens"] + charged["cache_creation_input_tokens"]
    wasted = paid + charged["output_tokens"]
    wasted -= int(needed["input_tokens"] + needed["output_tokens"])
    began, end = _span(state)
    least = bound(needed, work, condition, began)
    lost = None if agents is None else len(work) - len(done)
    causes: dict[str, int] = {}
    for one in agents or []:
        if "lost" in one:
            causes[one["lost"]] = causes.get(one["lost"], 0) + 1
    return Ran(
        workload="", condition="", client="", seed=0,
        seconds=end - began, bound=least.seconds, bound_by=least.by,
        lost=lost, wasted=wasted, causes=causes,
        refused_429=state["statuses"].get("429", 0),
        refused_529=state["statuses"].get("529", 0),
        peak=state["in_flight_peak"],
    )  # fmt: skip


def _middle(figures: Sequence[float], form: str = ",.0f") -> str:
    """Median and range."""
    if not figures:
        return NONE
    low, high = min(figures), max(figures)
    told = format(statistics.median(figures), form)
    if format(low, form) != format(high, form):
        told += f" ({format(low, form)}{NONE}{format(high, form)})"
    return told


def table(runs: list[Ran]) -> str:
    """One line a client, median and range over the seeds."""
    heads = (
        "client", "makespan / bound", "seconds", "429s", "agents lost",
        "tokens wasted", "in flight, peak",
    )  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * 6 + "|"]
    for client in dict.fromkeys(run.client for run in runs):
        mine = [run for run in runs if run.client == client]
        ratios = [run.ratio for run in mine if run.ratio is not None]
        # One seed that lost agents, and the figure means nothing.
        told = _middle(ratios, ".2f") if len(ratios) == len(mine) else NONE
        lost = [run.lost for run in mine if run.lost is not None]
        cells = (
            client,
            told,
            _middle([run.seconds for run in mine], ".1f"),
            _middle([run.refused_429 for run in mine]),
            _middle(lost) if len(lost) == len(mine) else "unfinished",
            _middle([run.wasted for run in mine]),
            _middle([run.peak for run in mine]),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reference(workload: str, seeds: int) -> str:
    """What an order alone can do here, as a line."""
    figures = [orders(workload, seed) for seed in range(1, seeds + 1)]
    knowing, expecting, fifo, alone = (
        _middle(one, ".2f") for one in zip(*figures, strict=True)
    )
    return (
        f"On virtual time: all-knowing order {knowing}, longest expected path when "
        f"lengths are not known {expecting} (its last call alone: {alone}), "
        f"first come {fifo} x bound."
    )


def series(options: argparse.Namespace) -> list[Ran]:
    """All runs; seed by seed, so that the machine's mood meets all clients."""
    every: list[Ran] = []
    for part in options.parts:
        runs = [
            run_and_tell(part.workload, part.condition, client, seed, options)
            for seed in range(1, options.seeds + 1)
            for client in part.clients
        ]
        every += runs
        known = {f"{r.bound:.1f} s by {r.bound_by}" for r in runs if r.lost == 0}
        bounds = ", ".join(sorted(known)) or "unknown"
        print(f"\n### {part.workload}, {part.condition} (bound {bounds})\n")
        if part.condition == "plain":
            print(reference(part.workload, options.seeds) + "\n")
        print(table(runs), flush=True)
    return every


def summary(runs: list[Ran]) -> str:
    """Makespan over bound of all cells, 429s behind it; what lost agents is named."""
    clients = list(dict.fromkeys(run.client for run in runs))
    lines = [
        "| makespan / bound (429s) | " + " | ".join(clients) + " |",
        "|---" + "|--:" * len(clients) + "|",
    ]
    for workload, name in dict.fromkeys((r.workload, r.condition) for r in runs):
        cells = []
        for client in clients:
            mine = [
                run
                for run in runs
                if (run.workload, run.condition, run.client) == (workload, name, client)
            ]
            cells.append(_cell(mine))
        lines.append(f"| {workload}, {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(runs: list[Ran]) -> str:
    if not runs:
        return NONE
    refused = _middle([run.refused_429 for run in runs])
    lost = [run.lost for run in runs]
    if None in lost:
        return f"unfinished ({refused})"
    if any(lost):
        return f"lost {_middle([n for n in lost if n is not None])} ({refused})"
    ratios = [run.ratio for run in runs if run.ratio is not None]
    return f"{_middle(ratios, '.2f')} ({refused})"


def run_and_tell(
    workload: str, name: str, client: str, seed: int, options: argparse.Namespace
) -> Ran:
    """One run, with a line of its own."""
    ran = run_one(workload, name, client, seed, options)
    ratio = NONE if ran.ratio is None else f"{ran.ratio:.3f}"
    load = os.getloadavg()[0]
    told = (
        f"{workload}/{name} seed {seed} {client}: {ran.seconds:.1f} s, {ratio} x bound, "
        f"429 {ran.refused_429}, 529 {ran.refused_529}, lost {ran.lost} "
        f"{ran.causes or ''} load {load:.1f}"
    )
    print(told, file=sys.stderr, flush=True)
    if ran.trace:
        print(ran.trace, file=sys.stderr, flush=True)
    return ran


def understood(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for option, known, default in (
        ("--workloads", tuple(WORK), "even,heavy,small,output,turns"),
        ("--conditions", tuple(CONDITIONS), "plain"),
        ("--clients", CLIENTS, ALONE),
    ):
        parser.add_argument(option, default=default, help=", ".join(known))
    parser.add_argument("--seeds", type=int, help=f"{SEEDS}; with --all 1")
    parser.add_argument(
        "--cap", type=float, default=300.0, help="seconds a run may take"
    )
    preset = parser.add_mutually_exclusive_group()
    preset.add_argument("--quick", action="store_true")
    preset.add_argument("--all", action="store_true", help="everything, once")
    parser.add_argument(
        "--virtual", action="store_true", help="long schedules on virtual time, too"
    )
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(words)
    if options.all:
        options.seeds = options.seeds or 1
        options.clients = options.clients
    options.seeds = options.seeds or SEEDS
    if options.quick:
        options.workloads, options.clients = "quick", "gather-2,fanout"
        options.seeds, options.cap = 1, 17.0
    for name, known in (
        ("workloads", WORK), ("conditions", CONDITIONS), ("clients", CLIENTS),
    ):  # fmt: skip
        chosen = getattr(options, name).split(",")
        if unknown := [one for one in chosen if one not in known]:
            parser.error(
                f"no {name} {', '.join(unknown)}; there are {', '.join(known)}"
            )
        setattr(options, name, chosen)
    options.parts = (
        compare_plan.everything(options.clients)
        if options.all
        else compare_plan.chosen(options.workloads, options.conditions, options.clients)
    )
    return options


def main() -> None:
    """Run it from the command line."""
    options = understood()
    print(compare_plan.forecast(options.parts, options.seeds, options.cap), flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    runs = series(options)
    print(f"\n### All, median and range of {options.seeds} seeds\n\n{summary(runs)}")
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.json is not None:
        told = [asdict(run) | {"ratio": run.ratio} for run in runs]
        options.json.write_text(json.dumps(told, indent=1), "utf-8")
    if options.virtual:
        print("\n### Long schedules on virtual time\n", flush=True)
        admission_virtual.main(options.seeds)


if __name__ == "__main__":
    main()
