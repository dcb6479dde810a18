"""The views, on plain values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.words.model import Cause, Status
from fanout.words.snapshot import Gate, Live
from fanout_tui.scenes.rows import NOW, START, row
from fanout_tui.scenes.states import SCENES, running
from fanout_tui.text import clock_time, time_of_day
from fanout_tui.view.ask import ceiling_answer
from fanout_tui.view.banner import banner_lines
from fanout_tui.view.columns import columns
from fanout_tui.view.forecast import bottleneck, ceiling_forecast, eta
from fanout_tui.view.gauges import bar
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.history import History
from fanout_tui.view.look import Look
from fanout_tui.view.order import Listing, Sort, listed, matcher
from fanout_tui.view.picking import Picking
from fanout_tui.view.reason import doing
from fanout_tui.view.rows import Picked, header_line, row_line
from fanout_tui.view.sentence import sentence
from fanout_tui.view.spans import Span, fit, line_width, spread, text_of
from fanout_tui.view.top import bar_line, shared_out, top_line


def look(scene: str = "running", width: int = 80, height: int = 24) -> Look:
    return Look(SCENES[scene](), NOW, width, height, UNICODE)


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        ("running", ("bottleneck input tokens/min: 3 throttled, 47 queued wait; "
         "next start in 1s; needs 42k, 12k free")),
        ("starting", "starting: the script is being loaded"),
        ("empty", "no partitions yet: the script has not asked for any"),
        ("learning", "limits are unknown yet: 38 queued wait for the first answer"),
        ("paused", "paused: 14 in flight go on, 50 wait; nothing new is sent"),
        ("overloaded", "529, the service is overloaded: 3 throttled, 47 queued"),
        ("budget", "budget: 3 throttled, 47 queued wait; $9.87 of $10.00"),
        ("ceiling", "limited by the ceiling 14/14 (yours; A gives it back)"),
        ("gathering", "gathers for a batch: 40 queued wait; next start in 2s; 40 so"),
        ("batched", ("14 rows in 1 batch; batch 0/14, polled 8s ago · "
         "msgbatch_01hkcyfwx2qzvge2nmk4t1bs; a batch may take a day: q leaves it")),
        ("draining", "stopping: 14 calls in flight finish, nothing new is sent"),
        ("finished", "6 of 100 partitions are missing"),
        ("raised", "the script raised KeyError"),
    ],
)  # fmt: skip
def test_the_sentence(scene: str, said: str) -> None:
    """Cause, who waits, until when, what would help."""
    assert sentence(look(scene)).startswith(said)


@pytest.mark.parametrize(
    ("scene", "status", "said"),
    [
        ("gathering", Status.QUEUED, "gathers for a batch 2s · 40 so far"),
        (
            "batched",
            Status.RUNNING,
            "batch 0/14, polled 8s ago · msgbatch_01hkcyfwx2qzvge2nmk4t1bs",
        ),
    ],
)
def test_a_row_of_the_batch_lane_says_what_it_waits_for(
    scene: str, status: Status, said: str
) -> None:
    view = look(scene)
    rows = [r for r in view.snapshot.rows.values() if r.status is status]
    assert {doing(view, r).text for r in rows} == {said}


@pytest.mark.parametrize(
    ("scene", "word"),
    [
        ("running", ""),
        ("paused", "PAUSED"),
        ("overloaded", "OVERLOADED"),
        ("budget", "BUDGET"),
        ("finished", "INCOMPLETE"),
        ("complete", "COMPLETE"),
        ("raised", "THE SCRIPT RAISED"),
        ("crashed", "CRASHED"),
    ],
)
def test_the_banner(scene: str, word: str) -> None:
    lines = banner_lines(look(scene))
    assert bool(lines) == bool(word)
    assert not word or text_of(lines[0]).strip().startswith(word)


@given(st.integers(40, 250))
def test_lines_are_as_wide_as_the_screen(width: int) -> None:
    """At every width, not only at those of the pictures."""
    for scene in ("running", "finished", "learning"):
        seen = look(scene, width)
        assert line_width(top_line(seen)) == width
        assert line_width(bar_line(seen)) <= width
        cols = columns(width)
        header = header_line(seen, cols, Sort.TIME, reverse=True)
        assert line_width(header) == width
        for found in list(seen.snapshot.rows.values())[::9]:
            assert line_width(row_line(seen, cols, found, Picked())) == width


@given(st.integers(40, 249))
def test_a_narrower_table_shows_nothing_a_wider_one_does_not(width: int) -> None:
    narrow, wide = columns(width), columns(width + 1)
    for name in ("tries", "tokens_in", "tokens_out", "cached", "time", "age"):
        assert getattr(narrow, name) <= getattr(wide, name)


def test_simulated_is_said_at_every_width() -> None:
    for width in (40, 60, 80, 140):
        assert "simulated" in text_of(top_line(look(width=width)))


@given(st.lists(st.integers(0, 50_000), min_size=5, max_size=5), st.integers(5, 200))
def test_the_bar_is_full_and_forgets_nobody(parts: list[int], cells: int) -> None:
    shares = shared_out(parts, cells)
    if any(parts):
        assert sum(shares) == cells
        assert all(share > 0 for part, share in zip(parts, shares, strict=True) if part)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_gauge_is_as_wide_as_its_room(spent: int, held: int, forecast: int) -> None:
    bucket = running().pools[0].buckets[1]
    bucket = replace(bucket, spent=spent, held=held, forecast=forecast)
    assert line_width(bar(look(), bucket, 30)) == 30


def test_the_bottleneck_is_the_fullest_bucket() -> None:
    found = bottleneck(running().pools[0])
    assert found is not None
    assert found.dimension.value == "input tokens"
    assert bottleneck(SCENES["ceiling"]().pools[0]) is None


def test_eta_needs_rows_that_have_ended() -> None:
    assert eta(SCENES["learning"](), NOW) is None
    seconds = eta(running(), NOW)
    assert seconds is not None
    assert 60 < seconds < 600
    assert eta(SCENES["complete"](), NOW) == 0.0


def test_forecast_of_a_higher_ceiling() -> None:
    """It says how many calls would only wait, before it is done."""
    seen = ceiling_forecast(running(), 24)
    assert seen is not None
    assert seen.waiting > 0
    held = replace(running(), ceiling=replace(running().ceiling, limit=14))
    assert "would only wait" in ceiling_answer(held, 5)
    assert "14 calls in flight, it holds nothing up now" in ceiling_answer(running(), 5)
    assert "auto" in ceiling_answer(running(), None)
    one = replace(running(), ceiling=replace(running().ceiling, limit=1))
    assert "p pauses" in ceiling_answer(one, -1)


def test_attention_first() -> None:
    """Throttled, running, missing, queued, done; afterwards missing first."""
    rows = running().rows
    order = [rows[r].status for r in listed(rows, Listing(), NOW, over=False)]
    assert list(dict.fromkeys(order)) == [
        Status.THROTTLED, Status.RUNNING, Status.MISSING, Status.QUEUED, Status.DONE
    ]  # fmt: skip
    order = [rows[r].status for r in listed(rows, Listing(), NOW, over=True)]
    assert order[0] is Status.MISSING


@pytest.mark.parametrize("sort", Sort)
def test_every_sort_lists_every_row_once(sort: Sort) -> None:
    rows = running().rows
    for reverse in (False, True):
        ids = listed(rows, Listing(sort, reverse), NOW, over=False)
        assert sorted(ids) == sorted(rows)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 100), ("src/auth", 17), ("!src/auth", 83), ("missing", 2), ("throttled", 3),
     ("phase:audit", 100), ("phase:x", 0), ("why:rejected", 1), ("AUTH users", 3),
     ("try>1", 10), ("why:429", 3)],
)  # fmt: skip
def test_filters(text: str, count: int) -> None:
    fits = matcher(text)
    assert sum(map(fits, running().rows.values())) == count


def test_status_keys_narrow_and_widen() -> None:
    listing = Listing()
    one = replace(listing, statuses=listing.toggled(Status.DONE))
    assert one.statuses == {Status.DONE}
    two = replace(one, statuses=one.toggled(Status.MISSING))
    assert two.statuses == {Status.DONE, Status.MISSING}
    assert replace(two, statuses=two.toggled(Status.DONE)).statuses == {Status.MISSING}


def test_the_picked_row_holds_still() -> None:
    """Over a hundred re-sorts, with every row changing its status."""
    rows = {r.id: r for r in (row(n, Status.QUEUED) for n in range(60))}
    picking = Picking()
    picking.reorder(rows, NOW, over=False)
    picking.move(20)
    cursor, index = picking.cursor, picking.index
    statuses = list(Status)
    for step in range(100):
        changed = {n: statuses[(n + step) % 5] for n in range(60)}
        rows = {r.id: r for r in (row(n, s) for n, s in changed.items())}
        picking.reorder(rows, NOW, over=False)
        assert (picking.cursor, picking.index) == (cursor, index)
        assert sorted(picking.order) == sorted(rows)


def test_follow_goes_with_the_row() -> None:
    rows = {r.id: r for r in (row(n, Status.QUEUED) for n in range(9))}
    picking = Picking()
    picking.reorder(rows, NOW, over=False)
    picking.go(5)
    picking.follow = True
    cursor = picking.cursor
    changed = {**rows, cursor: row(5, Status.THROTTLED)}
    picking.reorder(changed, NOW, over=False)
    assert (picking.cursor, picking.index) == (cursor, 0)


def test_untouched_the_cursor_stays_on_top() -> None:
    rows = {r.id: r for r in (row(n, Status.QUEUED) for n in range(9))}
    picking = Picking()
    picking.reorder(rows, NOW, over=False)
    rows = {**rows, row(7, Status.THROTTLED).id: row(7, Status.THROTTLED)}
    picking.reorder(rows, NOW, over=False)
    assert picking.cursor == picking.order[0] == row(7, Status.QUEUED).id


def test_a_silent_row_is_said_to_be() -> None:
    seen = look()
    silent = next(r for r in seen.snapshot.rows.values() if r.status is Status.RUNNING)
    quiet = replace(seen.snapshot, live={})
    later = replace(seen, snapshot=quiet, now=NOW + 100)
    assert doing(later, silent).text.startswith("no activity 1")


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (Live(cause=Cause.TOOLS, note="grep", active_at=NOW), "grep · for 1m"),
        (
            Live(cause=Cause.SENT, active_at=NOW, grown_at=NOW, silence_max=310.0),
            "no answer yet, silent 1m",
        ),
        (
            Live(
                cause=Cause.STREAMING,
                output_tokens=900,
                active_at=NOW,
                grown_at=NOW,
                silence_max=120.0,
            ),
            "answering, silent 1m",
        ),
        (
            Live(
                cause=Cause.STREAMING,
                output_tokens=900,
                active_at=NOW + 99.0,
                grown_at=NOW,
                silence_max=120.0,
            ),
            "answering · 900 out, only pings for 1m",
        ),
    ],
)
def test_a_tool_a_wait_a_slow_stream_and_a_dead_one_differ(
    live: Live, said: str
) -> None:
    seen = look()
    one = next(r for r in seen.snapshot.rows.values() if r.status is Status.RUNNING)
    one = replace(one, since=NOW - 5)
    snapshot = replace(seen.snapshot, live={one.id: live})
    text = doing(replace(seen, snapshot=snapshot, now=NOW + 100), one).text
    assert text.startswith(said)
    assert ("cut at" in text) == ("silent" in text)


def test_being_offline_is_no_overload() -> None:
    """The sentence and the banner say what keeps from connecting, and when it asks."""
    seen = look(width=120)
    gate = Gate(
        pool="p",
        waiting=tuple(seen.snapshot.rows),
        cause=Cause.OFFLINE,
        until=NOW + 6,
        detail="no connection: api.example:443 refuses connections",
    )
    offline = replace(seen, snapshot=replace(seen.snapshot, gates={"p": gate}))
    when = time_of_day(NOW + 6)
    assert sentence(offline).startswith("offline: ")
    assert f", next try at {when}; it goes on by itself; no connection: api.ex" in (
        sentence(offline)
    )
    assert eta(offline.snapshot, NOW) is None
    (line,) = banner_lines(offline)
    assert text_of(line).startswith(" OFFLINE  api.example:443 refuses connections")
    assert "529" not in sentence(offline) + text_of(line)
    asking = replace(gate, until=None)
    now = replace(seen, snapshot=replace(seen.snapshot, gates={"p": asking}))
    assert "trying now" in sentence(now)


def test_a_disk_that_refuses_is_on_the_screen() -> None:
    seen = look(width=120)
    full = replace(seen.snapshot, disk="No space left on device")
    (line,) = banner_lines(replace(seen, snapshot=full))
    assert text_of(line).startswith(
        " DISK  No space left on device; nothing new is sent"
    )


def test_hostile_names_are_shown_inert() -> None:
    """Escapes and markup in keys and reasons are text."""
    bad = "a\x1b[31m\u202e[/red][@click=app.quit]x"
    hostile = replace(
        row(1, Status.QUEUED), id=row(1, Status.QUEUED).id._replace(key=bad)
    )
    snapshot = replace(running(), rows={hostile.id: hostile})
    seen = replace(look(), snapshot=snapshot)
    text = text_of(row_line(seen, columns(240), hostile, Picked()))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "␛" in text


def test_history_is_a_minute_long() -> None:
    history = History()
    for second in range(200):
        history.take(replace(running(), at=START + second))
    pool = running().pools[0]
    dimension = pool.buckets[1].dimension
    assert history.spark(pool.name, dimension, 80, "01").count("1") == 60
    assert history.spark("none", dimension, 5, "01") == "     "


def test_spans() -> None:
    line = (Span("abc", "x"), Span("defgh", "y"))
    assert text_of(fit(line, 5)) == "abcd…"
    assert text_of(fit(line, 3)) == "ab…"
    assert text_of(fit(line, 8)) == "abcdefgh"
    assert text_of(spread(line, (Span("R"),), 12)) == "abcdefgh   R"


def test_when_a_batch_ends_is_said_with_its_most_or_not_at_all() -> None:
    batched = SCENES["batched"]()
    assert eta(replace(batched, left=None), NOW) is None
    assert eta(batched, NOW) == 1_500
    top = top_line(replace(look("batched", width=140), eta=1_500.0))
    assert "ETA 25:00, at most 22:46:40" in text_of(top)
    assert eta(SCENES["running"](), NOW) is not None


@pytest.mark.parametrize("scene", ["paused", "running", "crashed", "finished"])
@pytest.mark.parametrize("name", ["a", "audit", "audit6", "many-rows-of-a-long-name"])
@pytest.mark.parametrize("seconds", [14.0, 779.0, 40_000.0])
def test_the_clock_is_never_cut_for_figures(
    scene: str, name: str, seconds: float
) -> None:
    """It stays whole at every width; what matters less goes first."""
    snapshot = SCENES[scene]()
    run = replace(snapshot.run, name=name)
    seen = Look(replace(snapshot, run=run), run.started_at + seconds, 80, 24, UNICODE)
    for cells in range(40, 170):
        text = text_of(top_line(seen.sized(cells)))
        assert f" {clock_time(seconds)} " in text, (cells, text)
        assert len(text) == cells
