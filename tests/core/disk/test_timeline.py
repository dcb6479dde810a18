"""A run along its time: complete, in order, and drawn so that nothing acts."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from core.disk.journals import state_of, story_of, write_segments
from fanout.decide.fold.run_state import RunState
from fanout.decide.fold.state import apply
from fanout.decide.timeline import Clockwork, Reading, Stretch, Timeline
from fanout.disk.reports.as_timeline import LANES_MAX, timeline_html, timeline_of
from fanout.disk.reports.writing import FORMATS, report_of
from fanout.words.events import LifeStarted, Record
from fanout.words.model import RowId, Status


def timeline(records: list[Record]) -> Timeline:
    state, clockwork = RunState(), Clockwork()
    for record in records:
        apply(state, record)
        clockwork.take(record, state)
    return clockwork.finish()


@pytest.mark.parametrize("seed", range(12))
def test_every_row_is_one_thing_at_every_moment(seed: int) -> None:
    records = story_of(seed, 500)
    made = timeline(records)
    state = state_of(records)
    assert set(made.rows) >= set(state.rows)
    assert len(made.lives) == sum(isinstance(r.event, LifeStarted) for r in records)
    for row, stretches in made.rows.items():
        for before, after in pairwise(stretches):
            assert before.start <= before.end == after.start <= after.end
            assert before.status is not after.status
        assert stretches[-1].end == made.length
        if row in state.rows:
            assert stretches[-1].status is state.rows[row].status


def test_time_between_lives_is_left_out() -> None:
    records = story_of(3, 400)
    worked, began = 0.0, records[0].at
    for before, after in pairwise(records):
        if isinstance(after.event, LifeStarted):
            worked += before.at - began
            began = after.at
    worked += records[-1].at - began
    assert timeline(records).length == pytest.approx(worked)


def test_a_report_has_it_and_a_folder_without_a_journal_has_none(
    tmp_path: Path,
) -> None:
    assert timeline_of(tmp_path) == Timeline()
    assert timeline_html(Timeline()) == ""
    records = story_of(5, 300)
    write_segments(tmp_path, records)
    assert timeline_of(tmp_path) == timeline(records)
    page = FORMATS["html"](report_of(tmp_path, generated_at=1.0))
    assert '<svg class="t"' in page
    assert page.count("<rect") >= len(state_of(records).rows)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>", '" onload="x', "</title><image href=//x>",
        "\x1b]0;x\x07", "\u202ereversed", "]]><svg/onload=1>", "javascript:x",
    ],
)  # fmt: skip
def test_hostile_names_add_no_tag(name: str) -> None:
    def tags(key: str) -> list[tuple[str, tuple[str, ...]]]:
        row = RowId("audit", key)
        made = Timeline(
            rows={row: [Stretch(Status.RUNNING, 0, 5), Stretch(Status.DONE, 5, 9)]},
            readings={(key, key): [Reading(0, 5, 9), Reading(4, 7, None)]},
            lives=[0.0, 3.0],
            length=9.0,
        )
        parser = Tags()
        page = timeline_html(made)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page)
        parser.feed(page)
        return parser.found

    assert tags(name) == tags("plain")


def test_of_very_many_rows_those_that_say_most_are_drawn() -> None:
    rows = {
        RowId("p", f"{n:05}"): [
            Stretch(Status.QUEUED, 0, 1),
            Stretch(Status.THROTTLED if n == 777 else Status.RUNNING, 1, 2),
            Stretch(Status.MISSING if n == 4_321 else Status.DONE, 2, 9),
        ]
        for n in range(5_000)
    }
    page = timeline_html(Timeline(rows=rows, lives=[0.0], length=9.0))
    assert f"{LANES_MAX} of 5,000 rows are drawn" in page
    drawn = set(re.findall(r"p/(\d{5}): ", page))
    assert len(drawn) == LANES_MAX
    assert {"00777", "04321"} <= drawn


def test_stretches_too_narrow_to_see_do_not_swell_the_page() -> None:
    flicker = [
        Stretch((Status.RUNNING, Status.QUEUED)[n % 2], n * 0.01, (n + 1) * 0.01)
        for n in range(20_000)
    ]
    rows = {RowId("p", "k"): [*flicker, Stretch(Status.DONE, 200, 900)]}
    page = timeline_html(Timeline(rows=rows, lives=[0.0], length=900.0))
    assert page.count("<rect") < 20
