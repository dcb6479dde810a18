"""Plain lines, JSON lines, the summary: what a run says without a screen."""

import json
from dataclasses import replace

import pytest

from fanout.words.commands import KeepBudget, Stop
from fanout.words.model import Cause, Status, Wait
from fanout.words.snapshot import LogLine, Snapshot
from fanout_tui.command.asking import Asker
from fanout_tui.jsonlines import JsonLines
from fanout_tui.plain import PlainOutput, status_text
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes.rows import NOW, row
from fanout_tui.scenes.states import SCENES, running
from fanout_tui.summary import LINES_MAX, summary, summary_lines
from fanout_tui.text import dollars, tokens
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.look import Look, moment
from fanout_tui.view.spans import text_of
from fanout_tui.view.top import top_line


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def with_rows(snapshot: Snapshot, *rows) -> Snapshot:
    return replace(snapshot, rows={**snapshot.rows, **{r.id: r for r in rows}})


def said(*snapshots: Snapshot) -> list[str]:
    """The lines for what changed after the first snapshot."""
    lines: list[str] = []
    output = PlainOutput(lines.append, Clock())
    for number, snapshot in enumerate(snapshots):
        if number == 1:
            lines.clear()
        output.update(snapshot)
    return [line.split("] ", 1)[1] for line in lines]


def test_nothing_new_says_nothing() -> None:
    assert said(running(), running()) == [] or said(running(), running()) == []
    same = running()
    assert said(same, same) == []


def test_a_throttle_says_which_limit_and_how_long() -> None:
    before = running()
    assert said(before, with_rows(before, row(60, Status.THROTTLED))) == [
        "throttled audit/src/auth/login_060: 429 limit, input tokens, retry in 5s"
    ]


def test_a_second_refusal_of_a_throttled_row_is_said() -> None:
    before = running()
    first = next(r for r in before.rows.values() if r.status is Status.THROTTLED)
    tally = replace(first.tally, refusals_529=1)
    wait = Wait(Cause.OVERLOADED, NOW + 30)
    again = replace(first, tally=tally, wait=wait)
    (line,) = said(before, with_rows(before, again))
    assert line.endswith("529 overloaded, retry in 30s")


def test_many_alike_are_one_line() -> None:
    before = running()
    rows = [row(n, Status.THROTTLED) for n in range(60, 90)]
    (line,) = said(before, with_rows(before, *rows))
    assert line.startswith("throttled 30 rows: 429 limit")
    assert line.endswith("and 28 more)")


def test_a_missing_row_has_its_reason() -> None:
    before = running()
    assert said(before, with_rows(before, row(36, Status.MISSING))) == [
        "MISSING audit/src/auth/orders_036: no output: the agent ended without it"
    ]


def test_a_requeue_is_said() -> None:
    before = running()
    gone = next(r for r in before.rows.values() if r.status is Status.MISSING)
    (line,) = said(before, with_rows(before, row(gone.order, Status.QUEUED)))
    assert line == f"requeued {gone.id}"


def test_run_wide_changes_are_said_once() -> None:
    before = running()
    note = LogLine(number=99, at=NOW, level="info", text="hello \x1b[31mworld")
    fact = LogLine(number=100, at=NOW, level="info", text="paused", said=False)
    entered = LogLine(
        number=101,
        at=NOW,
        level="info",
        text="phase summary",
        said=False,
        phase="summary",
    )
    after = replace(
        before,
        phases=("audit", "summary"),
        state="paused",
        log=(*before.log, note, fact, entered),
        ceiling=replace(before.ceiling, user=5, limit=5),
    )
    assert said(before, after) == [
        "hello ␛[31mworld",
        "phase summary",
        "ceiling 5",
        "paused: nothing new is sent, what flies goes on",
    ]


def test_lines_that_are_no_longer_held_are_counted() -> None:
    scene = replace(running(), log=())
    line = LogLine(number=2_001, at=NOW, level="info", text="the next")
    lines = said(scene, replace(scene, log=(line,)))
    assert any("2,000 lines of the log came before these" in text for text in lines)
    more = replace(line, number=2_002, text="one more")
    news = said(replace(scene, log=(line,)), replace(scene, log=(line, more)))
    assert news == ["one more"]


def test_the_beginning_and_the_end() -> None:
    lines: list[str] = []
    output = PlainOutput(lines.append, Clock())
    output.update(running())
    assert "simulated:evaluation, kept in .fanout/20270115" in lines[0]
    assert any(
        "limits of claude-sonnet-5 per minute: 1.0k req" in line for line in lines
    )
    output.close(SCENES["finished"]())
    assert "exit code 3" in lines[-2]
    assert lines[-1].endswith(
        "of 100  3.85M tokens, $1.53 so far  requests 14%  input tokens 60%  "
        "output tokens 27%  in flight 0/24 auto"
    )


def test_a_status_line_every_ten_seconds() -> None:
    lines: list[str] = []
    clock = Clock()
    output = PlainOutput(lines.append, clock)
    same = running()
    output.update(same)
    lines.clear()
    for _ in range(100):
        clock.now += 0.25
        output.update(same)
    status = [line for line in lines if "done 34, running 14, throttled 3" in line]
    assert len(status) == 2
    # Wasted tokens are paid for as well.
    totals = same.totals
    used = tokens((totals.useful + totals.wasted).total)
    assert f" of 100  {used} tokens, {dollars(totals.dollars)} so far  " in status[0]
    unpriced = replace(same, totals=replace(totals, dollars=None))
    assert f"{used} tokens, $? so far" in status_text(unpriced)
    assert len(lines) == 4
    assert "bottleneck input tokens/min" in lines[1]


def test_every_wait() -> None:
    """SIGUSR1: each row that runs or is throttled, with its reason."""
    lines: list[str] = []
    PlainOutput(lines.append, Clock()).every_wait(running())
    assert len(lines) == 14 + 3 + 2
    assert any(
        "throttled audit/src/auth/cart_048: 429 limit, retry 1s" in x for x in lines
    )


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "gone")])
def test_a_closed_pipe_is_not_an_error(error: OSError) -> None:
    def write(_: str) -> None:
        raise error

    output = PlainOutput(write, Clock())
    output.update(running())
    output.close(SCENES["finished"]())


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_breaks_a_line(encoding: str) -> None:
    written: list[bytes] = []
    output = PlainOutput(lambda line: written.append(line.encode(encoding)), Clock())
    strange = row(70, Status.MISSING)
    strange = replace(strange, id=strange.id._replace(key="検索/ﬁle→\udce9"))
    output.update(with_rows(running(), strange))
    assert any(b"MISSING audit/" in line for line in written)
    assert summary(running(), encoding=encoding).encode(encoding)


def test_json_has_an_object_a_line() -> None:
    lines: list[str] = []
    output = JsonLines(lines.append, Clock())
    before = running()
    output.update(before)
    output.update(with_rows(before, row(60, Status.THROTTLED)))
    output.close(SCENES["finished"]())
    objects = [json.loads(line) for line in lines]
    assert all("\n" not in line and line.isascii() for line in lines)
    assert all(o["v"] == 1 and o["t"] > 0 and o["event"] for o in objects)
    assert objects[0]["event"] == "run"
    assert objects[0]["simulated"] is True
    assert objects[-1]["event"] == "end"
    assert objects[-1]["exit_code"] == 3
    assert objects[-2]["event"] == "status"
    throttled = [o for o in objects if o["event"] == "throttled"]
    assert throttled[-1]["key"] == "src/auth/login_060"
    assert throttled[-1]["cause"] == "429 limit"
    assert throttled[-1]["until"] > NOW
    missing = [o for o in objects if o["event"] == "missing"]
    assert {o["kind"] for o in missing} == {"rejected", "no output"}


def test_json_status_sums_up() -> None:
    lines: list[str] = []
    JsonLines(lines.append, Clock()).update(running())
    status = next(o for o in map(json.loads, lines) if o["event"] == "status")
    names = ("queued", "running", "throttled", "done", "missing")
    assert sum(status[name] for name in names) == status["expected"] == 100


@pytest.mark.parametrize("scene", SCENES)
def test_the_summary_is_short(scene: str) -> None:
    lines = summary_lines(SCENES[scene]())
    assert 3 <= len(lines) <= LINES_MAX


def test_the_summary_says_what_to_do_next() -> None:
    text = summary(SCENES["finished"](), ["runs/report.md"])
    assert "94 of 100 done, 6 missing" in text
    assert "(simulated)" in text
    assert "1 x rejected: 400 invalid_request_error" in text
    assert "finish     fanout-tui resume 20270115-audit-7f3a" in text
    assert "exit code  3" in text
    assert "runs/report.md" in text


@pytest.mark.parametrize(
    ("scene", "sent"),
    [
        ("phase_short", [KeepBudget("verify")]),
        ("both_short", [KeepBudget("verify"), Stop]),
        ("running", []),
    ],
)
def test_what_a_screen_had_asked_about_budgets_ends_without_it(
    scene: str, sent: list[object]
) -> None:
    handle = SceneHandle(SCENES[scene]())
    Asker(handle, 0).look(SCENES[scene]())
    assert len(handle.sent) == len(sent)
    for command, wanted in zip(handle.sent, sent, strict=True):
        if wanted is Stop:
            assert isinstance(command, Stop)
            assert (command.mode, command.cause) == ("drain", "budget")
        else:
            assert command == wanted


def at_once(snapshot: Snapshot) -> list[str]:
    """All that is told of a run to whoever looks at it now."""
    lines: list[str] = []
    output = PlainOutput(lines.append, Clock())
    output.update(snapshot)
    return lines


def test_lines_of_the_past_have_the_time_they_had() -> None:
    """As after leaving the screen, or watching a run late."""
    scene = running()
    start = scene.run.started_at
    log = (
        LogLine(number=1, at=start + 2, level="info", text="first"),
        LogLine(number=2, at=start + 95, level="info", text="second"),
    )
    gone = replace(row(36, Status.MISSING), since=start + 61)
    lines = at_once(replace(with_rows(scene, gone), log=log))
    assert lines[0].startswith("[  0:00] run ")
    assert "[  0:02] first" in lines
    assert "[  1:35] second" in lines
    assert any(line.startswith("[  1:01] MISSING ") for line in lines)
    cut = at_once(replace(with_rows(scene, gone), log=log[1:]))
    came = next(n for n, line in enumerate(cut) if "of the log came before" in line)
    assert "[  1:35] second" in cut[came:]
    stamps = [line[1:7] for line in lines]
    assert stamps == sorted(stamps)


def test_what_a_run_took_is_counted_to_its_own_end() -> None:
    """Not to its last row's: a script may go on for long after that."""
    scene = SCENES["complete"]()
    assert scene.end is not None
    end = replace(scene.end, at=scene.run.started_at + 3_723)
    late = replace(scene, end=end, at=scene.run.started_at + 9_999)
    assert summary_lines(late)[0].endswith(" 1:02:03")
    lines: list[str] = []
    PlainOutput(lines.append, Clock()).close(late)
    assert [line[:9] for line in lines[-2:]] == ["[1:02:03]"] * 2
    assert " 1:02:03 " in text_of(
        top_line(Look(late, moment(late, NOW), 100, 30, UNICODE))
    )
