"""From the log and the report to the agents, and back to where one was."""

from dataclasses import replace

import pytest

from fanout.words.budgets import Budget, BudgetView, Raised
from fanout.words.hiding import forget, hide
from fanout.words.model import Cause, MissingKind, RowId, Status
from fanout.words.snapshot import LogLine, Snapshot
from fanout_tui.scenes.rows import NOW, missing, row
from fanout_tui.screens.agent import AgentScreen
from fanout_tui.screens.log import LogScreen
from fanout_tui.screens.main import MainScreen
from fanout_tui.screens.report import ReportScreen
from fanout_tui.view.agent import LIVE_MAX
from fanout_tui.view.report import CAUSES_MAX, EXAMPLES
from tui.stage import Stage, staged


def told(count: int, first: int = 1, about: RowId | None = None) -> tuple[LogLine, ...]:
    """So many log lines with numbers of their own."""
    return tuple(
        LogLine(number=n, at=NOW - 5, level="info", text=f"line {n}!", row=about)
        for n in range(first, first + count)
    )


async def show(stage: Stage, **changes: object) -> Snapshot:
    """Have the next frame be of a changed snapshot."""
    stage.handle.snapshot = replace(stage.handle.snapshot, **changes)
    stage.app._next_slow = 0.0
    for _ in range(2):  # as it comes ten times a second
        stage.app.tick()
        await stage.settle()
    return stage.handle.snapshot


def under_cursor(stage: Stage) -> str:
    (line,) = [line for line in stage.grid() if line.startswith("▌")]
    return line


@pytest.mark.anyio
async def test_the_log_shows_the_picked_line_whole() -> None:
    """What is cut in the list stands below it."""
    async with staged("running", keys=("l", "k", "k")) as stage:
        assert "must be an …" not in under_cursor(stage)
        await stage.press("k", "k", "k", "k", "k")
        assert "sent, about 18k" in under_cursor(stage)
        await stage.press("j")
        assert "retry-after 7…" in under_cursor(stage)
        assert "429 input tokens per minute, retry-after 7 s" in stage.text()


@pytest.mark.anyio
async def test_from_the_log_to_an_agent_and_back() -> None:
    async with staged("running", keys=("l", "k", "k", "k", "enter")) as stage:
        assert isinstance(stage.app.screen, AgentScreen)
        assert "audit/src/jobs/users_011" in stage.grid()[1]
        await stage.press("escape")
        assert isinstance(stage.app.screen, LogScreen)
        assert "call 62 sent" in under_cursor(stage)
        await stage.press("k", "enter")
        assert "this line is about no agent" in stage.grid()[-1]
        await stage.press("escape")
        assert isinstance(stage.app.screen, MainScreen)


@pytest.mark.anyio
async def test_a_row_that_the_filter_hides_is_opened_all_the_same() -> None:
    keys = ("5", "l", "k", "k", "k", "enter")
    async with staged("running", keys=keys) as stage:
        assert "audit/src/jobs/users_011" in stage.grid()[1]
        keys = ("escape", "escape", "4", "l", "k", "k", "k", "enter")
        await stage.press(*keys)
        assert "audit/src/jobs/users_011" in stage.grid()[1]


@pytest.mark.anyio
async def test_the_picked_line_stays_where_it_is_while_the_log_moves_on() -> None:
    """New lines come below, old ones drop out above."""
    async with staged("running", keys=("l",)) as stage:
        await show(stage, log=told(200))
        await stage.press("pageup", "k")
        before = stage.grid()
        place = next(y for y, line in enumerate(before) if line.startswith("▌"))
        await show(stage, log=told(200, first=31))
        after = stage.grid()
        # The last cell is the scrollbar's.
        assert after[place][:-1] == before[place][:-1]
        assert after[place - 1][:-1] == before[place - 1][:-1]
        await stage.press("G")
        assert "line 230!" in stage.text()
        await show(stage, log=told(200, first=41))
        assert "line 240!" in stage.text()


@pytest.mark.anyio
async def test_a_picked_line_that_dropped_out_gives_way_to_the_oldest() -> None:
    async with staged("running", keys=("l",)) as stage:
        await show(stage, log=told(200))
        await stage.press("g")
        assert "line 1!" in under_cursor(stage)
        await show(stage, log=told(200, first=51))
        assert "line 51!" in under_cursor(stage)


@pytest.mark.anyio
async def test_enter_in_a_log_that_is_followed_picks_first() -> None:
    async with staged("running", keys=("l", "enter")) as stage:
        assert "done: no findings" in under_cursor(stage)
        await stage.press("enter")
        assert isinstance(stage.app.screen, AgentScreen)


@pytest.mark.anyio
async def test_from_the_report_to_an_agent_and_back() -> None:
    async with staged("running", keys=("e", "j", "enter")) as stage:
        assert "audit/src/ui/forms/export_052" in stage.grid()[1]
        await stage.press("escape")
        assert isinstance(stage.app.screen, ReportScreen)
        assert "src/ui/forms/export_052" in under_cursor(stage)


@pytest.mark.anyio
async def test_more_rows_than_are_named_are_listed_by_their_cause() -> None:
    async with staged("running") as stage:
        rows = dict(stage.handle.snapshot.rows)
        done = [r for r in rows.values() if r.status is Status.DONE][:7]
        for one in done:
            rows[one.id] = missing(one, MissingKind.TRUNCATED, "answer cut")
        await show(stage, rows=rows)
        await stage.press("e")
        assert "and 4 more: enter lists them" in stage.text()
        await stage.press(*["j"] * EXAMPLES, "enter")
        assert isinstance(stage.app.screen, MainScreen)
        assert set(stage.app.picking.order) == {one.id for one in done}
        assert "esc shows all rows" in stage.grid()[-1]
        await stage.press("escape")
        assert len(stage.app.picking.order) == 100


@pytest.mark.anyio
async def test_more_causes_than_are_named_lead_to_all_that_is_missing() -> None:
    async with staged("running", (100, 80)) as stage:
        rows = {
            one.id: missing(one, MissingKind.REJECTED, f"reason {n}")
            for n, one in enumerate(row(n, Status.MISSING) for n in range(20))
        }
        await show(stage, rows=rows)
        await stage.press("e")
        assert f"and {20 - CAUSES_MAX} more causes" in stage.text()
        await stage.press(*["j"] * 40, "enter")
        assert len(stage.app.picking.order) == 20


@pytest.mark.anyio
async def test_a_report_with_nothing_to_open_scrolls_and_says_so() -> None:
    async with staged("complete", (80, 16), keys=("e",)) as stage:
        assert "Nothing is missing" in stage.text()
        assert "so far" not in stage.text()
        first = stage.grid()[3]
        await stage.press("j")
        assert stage.grid()[3] != first
        await stage.press("enter")
        assert "there is nothing to open here" in stage.grid()[-1]


@pytest.mark.anyio
async def test_what_finishes_the_run_is_never_cut() -> None:
    async with staged("finished", (60, 50)) as stage:
        end = stage.handle.snapshot.end
        command = "fanout-tui resume 20270115-audit-7f3a --max-usd 12.50 --yes --allow"
        await show(stage, end=replace(end, finish=command))
        await stage.press("e")
        shown = " ".join(line.strip() for line in stage.grid())
        assert command in " ".join(shown.split())


@pytest.mark.anyio
async def test_a_budget_that_was_raised_is_in_the_report() -> None:
    async with staged("running", (90, 60)) as stage:
        before, after = Budget(dollars=5.0), Budget(dollars=10.0)
        raised = Raised(phase="", life=1, seconds=71.0, before=before, after=after)
        view = BudgetView(
            budget=after, tokens=2_210_000, dollars=9.87, raised=(raised,)
        )
        await show(stage, budget=view, phase_budgets={"audit": view})
        await stage.press("e")
        shown = " ".join(" ".join(stage.grid()).split())
        assert "budget: $10.00; 2,210,000 tokens, $9.87, spent; raised on the" in shown
        assert "after 1:11, from $5.00 to $10.00" in shown
        assert "budget of audit: $10.00;" in shown


@pytest.mark.anyio
async def test_words_are_found_in_a_transcript() -> None:
    keys = ("enter", "slash", *"grep", "enter")
    async with staged("running", (100, 30), keys=keys) as stage:
        assert "grep 'open(' src/auth" in stage.text()
        assert "list_files" not in stage.text()
        assert "with grep" in stage.text()
        await stage.press("escape")
        assert "list_files" in stage.text()
        await stage.press("escape")
        assert isinstance(stage.app.screen, MainScreen)


@pytest.mark.anyio
async def test_an_answer_is_shown_while_it_is_written() -> None:
    """Its end, without secrets; once it is whole, what the journal has of it."""
    async with staged("running", (100, 30), keys=("1", "enter")) as stage:
        (screen,) = [s for s in stage.app.screen_stack if isinstance(s, AgentScreen)]
        made = stage.handle.snapshot
        flying = made.live[screen._of]
        hide("sk-this-is-a-secret")
        try:
            said = "x" * LIVE_MAX + " and sk-this-is-a-secret is the key"
            live = replace(flying, cause=Cause.STREAMING, said=said)
            await show(stage, live={**made.live, screen._of: live})
            assert "and [secret] is the key" in stage.text()
            assert "sk-this" not in stage.text()
        finally:
            forget()
        # The call has ended, its transcript has not been read again yet.
        await show(stage, live={**made.live, screen._of: replace(live, said="")})
        assert "is the key" in stage.text()
        screen._take(screen._of, stage.handle.transcript(screen._of))
        await stage.settle()
        assert "is the key" not in stage.text()


@pytest.mark.anyio
async def test_a_filter_by_reason_finds_what_is_shown() -> None:
    """Those that stand behind others in line, too: only the line knows that."""
    async with staged("running", (100, 30), keys=("slash", *"why:input")) as stage:
        waiting = stage.handle.snapshot.gates["claude-sonnet-5"].waiting
        assert set(waiting) <= set(stage.app.picking.order)
        await stage.press("escape", "slash", *"why:checking")
        statuses = {
            stage.handle.snapshot.rows[one].status for one in stage.app.picking.order
        }
        assert statuses == {Status.RUNNING}


@pytest.mark.anyio
async def test_an_agent_that_was_opened_stays_the_one_that_is_shown() -> None:
    """Also where the cursor had never been moved and another row comes to the top."""
    async with staged("running", keys=("enter",)) as stage:
        name = stage.grid()[1].split()[0]
        rows = dict(stage.handle.snapshot.rows)
        first = stage.app.picking.cursor
        rows[first] = replace(rows[first], status=Status.DONE, wait=None)
        await show(stage, rows=rows)
        assert stage.grid()[1].split()[0] == name
        await stage.press("escape")
        assert stage.app.picking.cursor == first


@pytest.mark.anyio
async def test_marks_are_counted_where_they_cannot_be_seen() -> None:
    async with staged("running", keys=("G", "space")) as stage:
        assert "1 marked" in stage.text()
        await stage.press("r")
        assert "1 row marked, none missing; U unmarks" in stage.grid()[-1]
        await stage.press("U", "4")
        assert "marked" not in stage.text()


@pytest.mark.anyio
async def test_a_row_that_ends_while_it_is_about_to_be_cancelled() -> None:
    """The question stays and says so; its key neither cancels nor copies."""
    async with staged("running", keys=("1", "x")) as stage:
        rows = dict(stage.handle.snapshot.rows)
        row_id = stage.app.picking.cursor
        rows[row_id] = missing(rows[row_id], MissingKind.NO_OUTPUT, "nothing")
        await show(stage, rows=rows)
        assert "It is settled meanwhile" in stage.text()
        await stage.press("y")
        assert stage.handle.sent == []
        assert stage.app.clipboard == ""
        assert "cancel this row?" not in stage.text()
