"""The report on the screen: one moment, and what became of its files."""

import re
from dataclasses import replace

import pytest

from fanout.words.commands import Export
from fanout.words.snapshot import Counts, LogLine
from tui.stage import Stage, staged

WROTE = tuple(f"wrote /run/report.{form}" for form in ("json", "md", "csv", "html"))


async def frame(stage: Stage) -> None:
    stage.app.tick()
    await stage.settle()


@pytest.mark.anyio
async def test_the_figures_above_the_report_are_those_in_it() -> None:
    """Rows that end within a second change both, or neither."""
    async with staged("running", (100, 30), keys=("e",)) as stage:
        first = stage.handle.snapshot.counts.done
        for more in range(1, 4):
            counts = Counts(queued=100 - first - more, done=first + more)
            stage.handle.snapshot = replace(stage.handle.snapshot, counts=counts)
            await frame(stage)
            above = re.search(r"✓(\d+) ", stage.grid()[1])
            below = re.search(r"(\d+) of 100 done = ", stage.text())
            assert above
            assert below
            assert above[1] == below[1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (WROTE[:3], "writing 4 reports to .fanout/"),
        (
            (*WROTE[:2], "a script's line", *WROTE[2:]),
            "written: report.json, report.md, report.csv, report.html",
        ),
        (
            (*WROTE[:3], "cannot write /run/report.html: disk full"),
            "cannot write /run/report.html: disk full",
        ),
    ],
)
async def test_writing_says_when_it_is_written(
    lines: tuple[str, ...], said: str
) -> None:
    async with staged("running", (100, 30), keys=("e", "w")) as stage:
        assert stage.handle.sent == [Export(())]
        assert "writing 4 reports to .fanout/" in stage.grid()[-1]
        log = stage.handle.snapshot.log
        last = log[-1].number if log else 0
        news = tuple(
            LogLine(number=last + n, at=stage.app._now, level="info", text=text)
            for n, text in enumerate(lines, 1)
        )
        stage.handle.snapshot = replace(stage.handle.snapshot, log=log + news)
        await frame(stage)
        assert said in stage.grid()[-1]
