"""What a report says finishes a run does finish it, the first time it is typed."""

import json
import shlex
from pathlib import Path

import pytest

from e2e.program import Program, account

SHORT = {
    "tokens of the run": ("--max-tokens-total", "2000"),
    "dollars of the run": ("--max-usd", "0.004"),
    "dollars of a phase": ("--max-usd", "work=0.004"),
}
TWELVE = "async def main():\n    await work(12)\n"


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT)
def test_a_budget_that_was_too_small(tmp_path: Path, name: str) -> None:
    with account() as service:
        program = Program(tmp_path, service)
        program.script(TWELVE)
        short = program.run(*SHORT[name], "job.py")
        assert short.code == 4, short.said
        # So small a sum is said with its digits, not as nothing.
        assert "budget of $0.00 reached" not in short.said
        assert "may take $0.00" not in short.said
        _, *words = shlex.split(short.report["finish"])
        done = program.run(*words)
        assert done.code == 0, done.said
        assert done.report["done"] == 12


def test_a_question_that_nobody_was_there_to_answer(tmp_path: Path) -> None:
    text = (
        "async def main():\n"
        "    await fanout.parallel(\n"
        "        fanout.agent('word ' * 300_000, key=f'k{n}') for n in range(9)\n"
        "    )\n"
    )
    with account() as service:
        program = Program(tmp_path, service)
        program.script(text)
        refused = program.run()
        assert refused.code == 2, refused.said
        assert refused.report["finish"].startswith("fanout-tui resume --yes ")


def test_a_run_that_is_kept_elsewhere(tmp_path: Path) -> None:
    with account() as service:
        program = Program(tmp_path, service)
        program.script("async def main():\n    fanout.expect(['a'])\n")
        short = program.run("--run-dir", "my runs", "job.py")
        assert short.code == 3, short.said
        (folder,) = (tmp_path / "my runs").glob("job-*")
        report = json.loads((folder / "report.json").read_text())
        assert report["finish"] in short.out
        _, *words = shlex.split(report["finish"])
        program.script("async def main():\n    await fanout.agent('x', key='a')\n")
        done = program.run(*words)
        assert done.code == 0, done.said
