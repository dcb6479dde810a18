"""Whole runs of the real program: killed, stopped, refused, bounded, summed up."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from e2e.program import HUP, INT, TERM, Ended, Program, account, known
from fanout.simulator.process import SimulatedAccount

TWO_PHASES = """
async def main():
    results = await work(30, "[[sim: turns=2 output=60]]", tools=[look], output=None)
    async with fanout.phase("summary"):
        made = await fanout.agent("Summarise.", key="all", inputs=results, output="all.md")
    return made.value

def look(path: str = "") -> str:
    "Look."
    return "nothing there"
"""
SLOW = """
async def main():
    await work(12, "[[sim: output=600 tps={tps}]]")
"""


@pytest.fixture(scope="module")
def service() -> Iterator[SimulatedAccount]:
    with account() as one:
        yield one


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as one:
        yield one


def test_what_was_answered_before_a_kill_is_not_asked_again(tmp_path: Path) -> None:
    with account() as own:
        program = Program(tmp_path, own)
        program.script(TWO_PHASES)
        child = program.start("job.py")
        program.until(child, lambda: program.journaled("CallAnswered") >= 25)
        child.kill()
        child.wait()
        answered = program.journaled("CallAnswered")
        open_calls = program.journaled("CallAdmitted") - answered
        before = own.state(5_000)["requests"]
        end = program.run()
        after = own.state(5_000)["requests"]
    assert end.code == 0, end.said
    assert end.report["done"] == 31
    whole = Counter(e["body_sha256"] for e in after if e["ended"] == "complete")
    twice = sum(count - 1 for count in whole.values())
    assert twice <= open_calls
    assert len(after) - len(before) <= 91 - answered + open_calls
    known_in = known(end.report, "useful", "wasted")
    doubt = known(end.report, "in_doubt")
    for name, charged in own_charged(after).items():
        assert known_in[name] <= charged <= known_in[name] + doubt[name]


def own_charged(entries: list[dict[str, int]]) -> dict[str, int]:
    names = ("input_tokens", "output_tokens")
    return {name: sum(entry[name] for entry in entries) for name in names}


def test_a_run_without_faults_agrees_with_the_account_to_the_token(
    tmp_path: Path,
) -> None:
    with account() as own:
        program = Program(tmp_path, own, anew=True)
        program.script(TWO_PHASES)
        end = program.run()
        charged = own.state(1)["charged"]
    assert end.code == 0, end.said
    useful = known(end.report, "useful")
    assert useful == {name: charged[name] for name in useful}
    assert not any(known(end.report, "wasted", "in_doubt").values())


@pytest.mark.long
def test_a_run_with_cuts_agrees_with_the_account_within_its_doubt(
    tmp_path: Path,
) -> None:
    faults = [
        {"kind": "cut", "probability": 0.1},
        {"kind": "error_event", "probability": 0.1},
        {"kind": "overloaded", "probability": 0.05},
        {"kind": "server_error", "probability": 0.05},
        {"kind": "clean_eof", "probability": 0.05},
        {"kind": "rate_limit", "probability": 0.05, "retry_after": 1},
    ]
    with account({"faults": faults}) as own:
        program = Program(tmp_path, own)
        program.script(TWO_PHASES)
        end = program.run()
        charged = own.state(1)["charged"]
    assert end.code == 0, end.said
    sure = known(end.report, "useful", "wasted")
    doubt = known(end.report, "in_doubt")
    assert sum(known(end.report, "wasted").values()) > 0
    for name, count in sure.items():
        assert count <= charged[name] <= count + doubt[name], (
            name,
            charged,
            sure,
            doubt,
        )


@pytest.mark.parametrize(
    "where", ["closed", "full", "a reader that leaves", "one of JSON that leaves"]
)
def test_nobody_to_talk_to_is_no_reason_to_fail(
    service: SimulatedAccount, tmp_path: Path, where: str
) -> None:
    program = Program(tmp_path, service)
    program.script("async def main():\n    await work(3)\n    return 'fine'\n")
    shell = {
        "closed": "exec {run} >&- 2>&- <&-",
        "full": "exec {run} >/dev/full 2>/dev/full",
        "a reader that leaves": "set -o pipefail; {run} | head -c 1",
        "one of JSON that leaves": "set -o pipefail; {json} | head -c 1",
    }[where]
    program_line = f"{sys.executable} -m fanout_tui"
    line = shell.format(
        run=f"{program_line} job.py", json=f"{program_line} --json job.py"
    )
    child = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env=program.environ,
        timeout=60,
        check=False,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.returncode == 0
    said = "nobody takes the standard output any more; the run goes on"
    assert child.stderr.count(said) == int("leaves" in where)
    (report,) = tmp_path.glob(".fanout/*/report.json")
    assert json.loads(report.read_text())["done"] == 3


# -- stops, all at once --------------------------------------------------------------


DEAF = """
async def main():
    asyncio.create_task(work(12))
    while True:
        try: await asyncio.sleep(1)
        except asyncio.CancelledError: pass
"""


class Stops:
    """Runs that are stopped by signals, several at a time."""

    def __init__(
        self,
        service: SimulatedAccount,
        pool: ThreadPoolExecutor,
        folders: pytest.TempPathFactory,
    ) -> None:
        self._service = service
        self._pool = pool
        self._folders = folders

    def begin(self, name: str, text: str, *numbers: int) -> Future[Ended]:
        program = Program(self._folders.mktemp(name), self._service)
        program.script(text)
        return self._pool.submit(
            program.signalled,
            *numbers,
            after=lambda: program.journaled("CallAdmitted") >= 12,
        )


@pytest.fixture(scope="module")
def stops(
    service: SimulatedAccount,
    pool: ThreadPoolExecutor,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stops:
    return Stops(service, pool, tmp_path_factory)


def test_an_interrupt_lets_finish_what_flies(tmp_path: Path) -> None:
    with account() as own:
        program = Program(tmp_path, own)
        program.script(SLOW.format(tps=150))
        flying = lambda: own.state(1)["in_flight"] >= 8  # noqa: E731
        end = program.signalled(INT, after=flying)
        books = own.state(100)
    assert end.code == 130
    assert set(books["ended"]) == {"complete"}
    assert end.kinds().get("done") == books["admitted"] >= 8
    assert not known(end.report, "in_doubt")["output_tokens"]


def at_once(end: Ended, code: int) -> None:
    assert end.code == code
    assert end.seconds < 15
    assert end.kinds() == {"stopped": 12}
    assert known(end.report, "in_doubt")["output_tokens"] > 0
    assert "fanout-tui resume" in end.out


def test_a_hard_stop_ends_at_once(stops: Stops) -> None:
    at_once(stops.begin("term", SLOW.format(tps=6), TERM).result(), 143)


@pytest.mark.long
def test_other_hard_stops_end_at_once(stops: Stops) -> None:
    hup = stops.begin("hup", SLOW.format(tps=6), HUP)
    twice = stops.begin("twice", SLOW.format(tps=6), INT, INT)
    at_once(hup.result(), 129)
    at_once(twice.result(), 130)


@pytest.mark.long
def test_a_script_that_is_deaf_to_its_end_is_left(stops: Stops) -> None:
    end = stops.begin("deaf", DEAF, INT).result()
    assert end.code == 130
    assert end.seconds < 30
    assert end.report["expected"] == 12


# -- refusals and bounds, all at once ------------------------------------------------

BAD_ONE = """
async def main():
    async with fanout.phase("work"):
        results = await fanout.parallel(
            fanout.agent("x [[sim: error=400]]" if i == 3 else f"Say {i}.", key=f"k{i}")
            for i in range(12)
        )
    async with fanout.phase("summary"):
        made = await fanout.agent("Summarise.", key="all", inputs=results)
    return made.value
"""
EXITS = """
async def main():
    await work(5)
    if not os.path.exists("again"):
        open("again", "w").close()
        time.sleep(0.3)
        os._exit(7)
    await work_more()

async def work_more():
    async with fanout.phase("more"):
        await fanout.agent("One more.", key="more")
"""


@pytest.fixture(scope="module")
def ends(
    service: SimulatedAccount,
    pool: ThreadPoolExecutor,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Future[Ended]]:
    def run(name: str, text: str, *words: str, times: int = 1) -> Future[Ended]:
        program = Program(tmp_path_factory.mktemp(name), service)
        program.script(text)
        lines = [("job.py",)] * times if not words else [words]

        def all_times() -> Ended:
            return [program.run(*line) for line in lines][-1]

        return pool.submit(all_times)

    many = "async def main():\n    await work(200)\n"
    budget = (
        "async def main():\n    await work(60, '[[sim: output=400]]', max_tokens=500)\n"
    )
    return {
        "bad one": run("bad", BAD_ONE),
        "model": run("model", many, "--model", "claude-nothing-9", "job.py"),
        "budget": run("budget", budget, "--max-tokens-total", "9000", "job.py"),
        "exits": run("exits", EXITS, times=2),
    }


def test_one_that_can_never_succeed(ends: dict[str, Future[Ended]]) -> None:
    end = ends["bad one"].result()
    assert end.code == 3
    assert end.kinds() == {"done": 12, "rejected": 1}
    (hole,) = [p for p in end.report["partitions"] if p["status"] == "missing"]
    assert (hole["phase"], hole["key"]) == ("work", "k3")
    assert "400 invalid_request_error" in hole["reason"]
    texts = b"".join(p.read_bytes() for p in end.run.glob("journal/*"))
    assert b"11 of 12 done; missing: work/k3" in texts
    assert "work/k3" in end.out


def test_a_model_that_is_not_there(
    ends: dict[str, Future[Ended]], service: SimulatedAccount
) -> None:
    end = ends["model"].result()
    assert end.code == 3
    assert end.kinds() == {"rejected": 200}
    assert "--model" in end.said
    asked = service.state(5_000)["requests"]
    assert sum(e["model"] == "claude-nothing-9" for e in asked) < 40


def test_a_budget_is_a_ceiling(ends: dict[str, Future[Ended]]) -> None:
    end = ends["budget"].result()
    assert end.code == 4
    assert set(end.kinds()) == {"done", "budget"}
    assert 5_000 < sum(known(end.report, "useful", "wasted").values()) <= 9_000


BOUNDED = """
import fanout

async def main():
    for name in ("poor", "rich"):
        async with fanout.phase(name, max_usd=0.02 if name == "poor" else None):
            await fanout.parallel(
                fanout.agent(f"{name} [[sim: output=400]]", key=f"k{n}", max_tokens=500)
                for n in range(9)
            )
"""


def test_a_phase_without_money_lets_the_next_go_on_and_says_how_to_finish(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    program = Program(tmp_path, service)
    program.script(BOUNDED)
    first = program.run("job.py")
    assert first.code == 4, first.said
    kinds = {(p["phase"], p["kind"]) for p in first.report["partitions"]}
    assert kinds == {("poor", None), ("poor", "budget"), ("rich", None)}
    poor, rich = first.report["phases"]
    assert 0.01 < poor["budget"]["dollars"] <= poor["budget"]["max_usd"] == 0.02
    assert rich["budget"]["max_usd"] is None
    *words, run = first.report["finish"].split()[1:]
    assert words[:2] == ["resume", "--max-usd"]
    assert float(words[2].removeprefix("poor=")) >= 0.04
    end = program.run(*words, "--no-tui", run)
    assert (end.code, end.report["done"]) == (0, 18), end.said
    spent = end.report["phases"][0]["budget"]["dollars"]
    assert poor["budget"]["dollars"] < spent <= float(words[2].removeprefix("poor="))


def test_a_resumed_run_keeps_its_budget_until_it_gets_another(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    program = Program(tmp_path, service)
    program.script(
        "async def main():\n    await work(20, '[[sim: output=400]]', max_tokens=500)\n"
    )
    first = program.run("--max-usd", "0.03", "job.py")
    assert first.code == 4
    assert first.report["budget"]["max_usd"] == 0.03
    assert 0 < first.report["dollars"] <= 0.03
    again = program.run("resume", "--no-tui", "last")
    assert (again.code, again.report["dollars"]) == (4, first.report["dollars"])
    end = program.run("resume", "--max-usd", "5", "--no-tui", "last")
    assert (end.code, end.report["done"]) == (0, 20), end.said
    assert end.run == first.run


def test_a_process_that_exits_loses_nothing_finished(
    ends: dict[str, Future[Ended]],
) -> None:
    end = ends["exits"].result()
    assert end.code == 0, end.said
    assert end.report["done"] == 6
    assert "5 rows reused" in end.out


@pytest.mark.long
def test_a_run_in_use_is_left_alone_and_resumed_later(
    service: SimulatedAccount, tmp_path: Path
) -> None:
    program = Program(tmp_path, service)
    program.script(SLOW.format(tps=100))
    child = program.start("job.py")
    program.until(child, lambda: program.journaled("CallAdmitted") >= 1)
    second = Program(tmp_path, service)
    end = second.run("--resume", "last", "job.py")
    assert end.code == 2
    assert str(child.pid) in end.err
    assert "hint:" in end.err
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.1)
    end = program.run("resume", "last")
    assert end.code == 0, end.said
    assert end.report["done"] == 12
