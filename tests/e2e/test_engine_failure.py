"""The engine itself fails in the middle of a run: truth, and nothing lost."""

from pathlib import Path

import pytest

from e2e.program import PARALLEL, Program, account
from tui.terminal import Terminal

SPOILT = """
async def main():
    fanout.expect(["late-1", "late-2"], phase="more")
    await work(3)
    if os.environ.get("SPOIL"):
        from fanout.world.engine import Engine
        def fail(*_):
            raise KeyError("usage")
        Engine._turn = fail
    async with fanout.phase("more"):
        await fanout.parallel(fanout.agent("Say.", key=f"late-{n}") for n in (1, 2))
"""


def test_the_report_is_written_and_a_resume_finishes(tmp_path: Path) -> None:
    with account() as service:
        program = Program(tmp_path, service)
        program.script(SPOILT)
        program.environ["SPOIL"] = "1"
        failed = program.run()
        assert failed.code == 70, failed.said
        assert "fanout-tui itself failed" in failed.err
        assert "KeyError('usage')" in failed.err
        assert (failed.run / "crash.txt").exists()
        report = failed.report
        figures = (report["exit_code"], report["done"], report["missing"])
        assert figures == (70, 3, 2), report
        assert report["complete"] is False
        assert report["finish"].startswith("fanout-tui resume ")
        del program.environ["SPOIL"]
        resumed = program.run(*report["finish"].split()[1:])
        assert resumed.code == 0, resumed.said
        assert "reuses 3" in resumed.out
        assert resumed.report["done"] == 5


@pytest.mark.long
def test_the_screen_stays_and_says_so_until_one_leaves(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PARALLEL + SPOILT)
    with account() as service:
        code = (
            f"import os, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = ['job.py']\n"
            "from fanout_tui.__main__ import main; sys.exit(main())"
        )
        terminal = Terminal(code, ANTHROPIC_BASE_URL=service.url, SPOIL="1")
        try:
            terminal.read_until(b"CRASHED", 60.0)
            terminal.settle()
            terminal.type(b"p")
            terminal.read_until(b"the run is over")
            terminal.type(b"e")
            terminal.read_until(b"Missing, by cause")
            terminal.type(b"w")
            terminal.read_until(b"written: report.json, report.md, report.csv")
            terminal.type(b"q")
            terminal.settle()
            terminal.type(b"q")
            terminal.read_until(b"\x1b[?1049l", 60.0)
            assert terminal.exit_code(60.0) == 70
        finally:
            terminal.close()
