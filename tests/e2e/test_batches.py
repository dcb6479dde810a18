"""The batch lane of the real program: killed at every stage, stopped, gone wrong.

What the account's books say is held against what the run says of itself.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.program import INT, Ended, Program, account, known
from fanout.simulator.process import SimulatedAccount

pytestmark = [pytest.mark.long, pytest.mark.soak]

ROWS = 150
BATCHED = f"""
async def main():
    results = await work({ROWS}, output=None, lane="batch")
    return len(results.done)
"""
TOOLS = """
async def main():
    await work(2, lane="batch", tools=[look])

def look(path: str) -> str:
    "Look."
    return path
"""
QUICK: dict[str, Any] = {"seconds_per_hour": 3.0, "hours": {"min": 0.2, "max": 0.9}}


def rule(kind: str, endpoint: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "endpoint": endpoint, "times": 1, **more}


Stage = tuple[list[dict[str, Any]], Callable[[Program, SimulatedAccount], bool]]
STAGES: dict[str, Stage] = {
    "gathering": ([], lambda p, _: p.journaled("RowScheduled") == ROWS),
    "planned": ([], lambda p, _: p.journaled("BatchPlanned") == 1),
    "its id lost": (
        [rule("slow_headers", "batches", seconds=20)],
        lambda _, own: bool(own.state(0)["batches"]),
    ),
    "in progress": ([], lambda p, _: p.journaled("BatchOpened") == 1),
    "half read": (
        [rule("stall", "batch_results", seconds=20, after_events=120)],
        lambda p, _: p.journaled("CallAnswered") >= 100,
    ),
}


def agrees(end: Ended, own: SimulatedAccount) -> None:
    """Nothing was paid twice, nothing lost, and the report says what was charged."""
    books = own.state(5_000)
    assert end.code == 0, end.said
    assert end.report["done"] == ROWS
    paid = Counter(
        entry["body_sha256"]
        for entry in books["requests"]
        if entry["endpoint"] in ("batch", "messages")
        if entry["ended"] in ("succeeded", "complete")
    )
    assert len(paid) == ROWS
    assert set(paid.values()) == {1}
    assert books["batch_results"]["succeeded"] == ROWS
    assert books["admitted"] == 0
    charged = books["charged"]
    useful = known(end.report, "useful")
    assert useful == {name: charged[name] for name in useful}
    assert not any(known(end.report, "wasted", "in_doubt").values())
    assert end.report["dollars"] == pytest.approx(charged["usd"])


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("gathering", marks=pytest.mark.long),
        pytest.param("planned", marks=pytest.mark.long),
        "its id lost",
        pytest.param("in progress", marks=pytest.mark.long),
        "half read",
    ],
)
def test_a_kill_at_any_stage_costs_nothing_twice(tmp_path: Path, stage: str) -> None:
    faults, holds = STAGES[stage]
    with account({"batches": QUICK, "faults": faults}) as own:
        program = Program(tmp_path, own)
        program.script(BATCHED)
        child = program.start("job.py")
        program.until(child, lambda: holds(program, own))
        child.kill()
        child.wait()
        answered = program.journaled("CallAnswered")
        assert answered < ROWS
        # Hours later by the account's clock.
        end = program.run("resume", "--no-tui", "last")
        agrees(end, own)
        assert len(own.state(0)["batches"]) == 1


def test_a_stop_leaves_the_batch_and_a_resume_picks_it_up(tmp_path: Path) -> None:
    with account({"batches": QUICK}) as own:
        program = Program(tmp_path, own)
        program.script(BATCHED)
        end = program.signalled(INT, after=lambda: program.journaled("BatchOpened") > 0)
        assert end.code == 130
        assert end.seconds < 10
        (batch,) = own.state(0)["batches"]
        assert f"{batch['id']} goes on at the service ({ROWS} requests)" in end.said
        assert end.kinds() == {"stopped": ROWS}
        assert known(end.report, "in_doubt")["output_tokens"] > 0
        agrees(program.run("resume", "--no-tui", "last"), own)


@pytest.mark.long
def test_what_expires_and_fails_comes_round(tmp_path: Path) -> None:
    wrong = {"errored": 0.1, "expired": 0.1, "expiry_hours": 1.0, "seconds_per_hour": 2}
    faults = [
        rule("cut", "batch_results", after_events=30),
        rule("overloaded", "batch_reads", times=3),
    ]
    with account({"batches": QUICK | wrong, "faults": faults}) as own:
        program = Program(tmp_path, own)
        program.script(BATCHED)
        end = program.run("--lane", "batch", "job.py")
        books = own.state(5_000)
    report = end.report
    assert report["done"] > ROWS * 0.95, end.said
    assert report["done"] + report["missing"] == ROWS
    assert set(end.kinds()) <= {"done", "timeout", "rejected"}
    assert books["batch_results"]["succeeded"] == report["done"]
    assert len(books["batches"]) == 3
    useful = known(report, "useful")
    assert useful == {name: books["charged"][name] for name in useful}
    assert report["dollars"] == pytest.approx(books["charged"]["usd"])


def test_a_live_run_reuses_what_a_batch_has_done(tmp_path: Path) -> None:
    with account({"batches": QUICK}) as own:
        program = Program(tmp_path, own)
        program.script(BATCHED.replace(', lane="batch"', ""))
        agrees(program.run("--lane", "batch", "job.py"), own)
        end = program.run("--lane", "live", "job.py")
        assert end.code == 0
        assert end.report["reused"] == ROWS
        assert own.state(0)["admitted"] == 0


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (("--lane", "fast", "job.py"), BATCHED, "--lane takes live or batch"),
        (
            ("job.py",),
            TOOLS,
            "has tools, and no tool runs in a batch",
        ),
        (
            ("job.py",),
            'async def main():\n    await work(2, lane="slow")\n',
            "the lane of the agent `k00` is 'slow'",
        ),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(
    tmp_path: Path, words: tuple[str, ...], text: str, said: str
) -> None:
    with account() as own:
        program = Program(tmp_path, own)
        program.script(text)
        end = program.run(*words)
        assert said in end.said
        assert end.code in (1, 2)
        assert not own.state(5)["requests"]


@pytest.mark.long
def test_an_embedded_account_takes_its_batches_along(tmp_path: Path) -> None:
    """It ends with the process; what was handed in is asked anew."""
    profile = tmp_path / "quick.toml"
    profile.write_text("[batches]\nseconds_per_hour = 60.0\n")
    program = Program(tmp_path, None)
    program.script(BATCHED)
    words = ("--simulate", "--profile", "quick.toml", "--no-tui", "job.py")
    child = program.start(*words)
    program.until(child, lambda: program.journaled("BatchOpened") == 1)
    child.send_signal(INT)
    end = program.wait(child)
    assert end.code == 130
    assert "picks it up" not in end.said
    profile.write_text("[batches]\nseconds_per_hour = 3.0\n")
    end = program.run(*words)
    assert end.code == 0, end.said
    assert program.journaled("BatchGone") == 1
    assert end.report["done"] == ROWS
