"""Reports: true at any time, by contract, and inert whatever strangers wrote."""

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import fanout.disk.reports
from core.disk.journals import state_of, story_of, write_segments
from fanout.decide.ended import ended as end_of
from fanout.decide.fold.run_state import RUN
from fanout.decide.money.spent import budgets_of
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.codec import encode
from fanout.disk.files import DISK
from fanout.disk.lock import RunLock
from fanout.disk.reports.as_csv import cell
from fanout.disk.reports.as_html import POLICY
from fanout.disk.reports.as_json import as_dict
from fanout.disk.reports.as_md import span
from fanout.disk.reports.report import Report, from_snapshot, from_state
from fanout.disk.reports.writing import FORMATS, report_of, run_info, write_report
from fanout.disk.results import write_results
from fanout.disk.rundir import create_run
from fanout.errors import UsageError
from fanout.testing.stories import Story
from fanout.words.clean import clean
from fanout.words.events import (
    BudgetSet,
    CallAdmitted,
    LifeStarted,
    PhaseEntered,
    Record,
    RowDone,
    RowMissing,
    RowScheduled,
    RunEnded,
    ScriptEnded,
    StopAsked,
)
from fanout.words.model import MissingKind, Need, RowId, RowSpec, Status
from fanout.words.snapshot import Snapshot

NOW = 1_796_080_500.0
SCHEMA = json.loads(
    (Path(fanout.disk.reports.__file__).parent / "report.schema.json").read_text()
)
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def assert_plain(value: Any, schema: dict[str, Any], at: str) -> None:
    if "const" in schema:
        assert value == schema["const"], at
    if "enum" in schema:
        assert value in schema["enum"], f"{at}: {value}"
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        types = tuple(t for name in names for t in TYPES[name])
        assert isinstance(value, types), f"{at}: {value!r} is not {names}"
        assert not isinstance(value, bool) or "boolean" in names, at
    if "minimum" in schema and value is not None:
        assert value >= schema["minimum"], at


def assert_valid(value: Any, schema: dict[str, Any], at: str = "$") -> None:
    """The little of JSON schema that ours uses."""
    if "$ref" in schema:
        assert_valid(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    assert_plain(value, schema, at)
    if value is None:
        return
    for name in schema.get("required", ()):
        assert name in value, f"{at}.{name}"
    for name, inner in schema.get("properties", {}).items():
        assert_valid(value[name], inner, f"{at}.{name}")
    for n, item in enumerate(value if "items" in schema else ()):
        assert_valid(item, schema["items"], f"{at}[{n}]")


def folder_of(tmp_path: Path, records: list[Record], **changes: Any) -> Path:
    said = {
        "script": "/work/audit.py",
        "endpoint": "simulated:demo",
        "simulated": True,
        **changes,
    }
    folder = create_run(
        tmp_path, arguments=(), version="0", now=NOW, token=lambda: "aaaa", **said
    )
    write_segments(folder, records)
    return folder


def ended(seed: int = 3, *, stop: bool = False, accepted: bool = False) -> list[Record]:
    """A story told to its end: every row done or missing, then the last fact."""
    story = Story(seed)
    records = list(story.tell(200))
    life = LifeStarted(
        run="r-1",
        life=99,
        script="/work/audit.py",
        arguments=(),
        endpoint="simulated:demo",
        simulated=True,
        model="m",
        version="0",
        pid=1,
    )
    records.append(story.record(life))
    spec = RowSpec(
        kind="agent",
        model="m",
        pool="p",
        fingerprint="1:f",
        max_tokens=9,
        max_turns=9,
        estimate=9,
    )
    for n, row in enumerate(list(story.state.rows)):
        records.append(story.record(RowScheduled(row=row, spec=spec, opening={})))
        done = RowDone(row=row, value={"n": n}, output=f"{n}.json", sha256="00", size=7)
        missing = RowMissing(
            row=row,
            kind=MissingKind.REJECTED,
            reason="400 invalid_request_error",
            kept="half",
        )
        records.append(story.record(missing if n in {2, 5} else done))
    if stop:
        records.append(
            story.record(
                StopAsked(mode="drain", cause="budget", reason="the budget is spent")
            )
        )
    records.append(story.record(ScriptEnded(outcome="returned", value="ok")))
    records.append(
        story.record(
            RunEnded(exit_code=4 if stop else 3, complete=False, accepted=accepted)
        )
    )
    return records


@pytest.mark.parametrize("seed", range(12))
def test_the_json_of_any_run_keeps_the_contract(tmp_path: Path, seed: int) -> None:
    report = report_of(folder_of(tmp_path, story_of(seed, 150)), generated_at=NOW)
    said = json.loads(FORMATS["json"](report))
    assert_valid(said, SCHEMA)
    statuses = Counter(p["status"] for p in said["partitions"])
    assert set(statuses) <= {"done", "missing"}
    assert (said["expected"], said["done"], said["missing"]) == (
        len(said["partitions"]),
        statuses["done"],
        statuses["missing"],
    )
    ended = said["complete"], said["exit_code"], said["state"]
    assert ended == (False, None, "killed")
    assert report.standing.endswith(": killed. Exit code: none, for it was killed.")
    assert (
        sum(p["in_doubt"]["output_tokens"] for p in said["partitions"])
        <= said["usage"]["in_doubt"]["output_tokens"]
    )


def test_the_schema_names_every_field_of_the_contract() -> None:
    kinds = SCHEMA["$defs"]["partition"]["properties"]["kind"]["enum"]
    assert kinds == [*(k.value for k in MissingKind), None]
    assert set(SCHEMA["$defs"]["partition"]["properties"]["status"]["enum"]) == {
        s.value for s in Status
    }
    report = from_state(
        state_of(ended()),
        run_info(Path("/x"), state_of(ended())),
        "finished",
        generated_at=NOW,
    )
    said = as_dict(report)
    assert set(SCHEMA["properties"]) == set(said)
    assert set(SCHEMA["$defs"]["partition"]["properties"]) == set(said["partitions"][0])


def test_a_finished_run_with_holes_says_how_to_finish(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ended())
    report = report_of(folder, generated_at=NOW)
    assert [p.kind for p in report.missing] == ["rejected", "rejected"]
    assert (report.state, report.exit_code, report.complete) == ("finished", 3, False)
    assert report.finish == f"fanout-tui resume {folder}"
    assert (
        report.headline
        == f"{report.counts.done} of {report.counts.expected} done, 2 missing: incomplete"
    )
    text = FORMATS["md"](report)
    assert text.index("## Missing: 2") < text.index("## Partitions")
    assert report.finish in text
    assert "### rejected: 2" in text


def test_a_run_in_the_usual_folder_is_finished_by_its_id(tmp_path: Path) -> None:
    (tmp_path / ".fanout").mkdir()
    folder = folder_of(tmp_path / ".fanout", ended(accepted=True))
    report = report_of(folder, generated_at=NOW)
    assert report.finish == "fanout-tui resume r-1"
    assert (report.accepted, report.verdict) == (True, "incomplete, accepted")


def test_a_stopped_run_says_why(tmp_path: Path) -> None:
    report = report_of(folder_of(tmp_path, ended(stop=True)), generated_at=NOW)
    assert (report.exit_code, report.reason) == (4, "the budget is spent")


def test_complete_is_only_what_the_rows_bear_out(tmp_path: Path) -> None:
    """A last fact that claims more than the rows is not believed."""
    records = ended()
    last = records[-1]
    records[-1] = Record(
        last.seq,
        last.life,
        last.at,
        RunEnded(exit_code=0, complete=True, accepted=False),
    )
    assert not report_of(folder_of(tmp_path, records), generated_at=NOW).complete


def test_a_run_with_every_row_done_is_complete(tmp_path: Path) -> None:
    records = [r for r in ended() if not isinstance(r.event, RowMissing)][:-1]
    story = Story(1)
    story.record(ended()[0].event)
    done = [
        story.record(
            RowScheduled(
                row=RowId("p", "a"),
                spec=RowSpec(
                    kind="agent",
                    model="m",
                    pool="p",
                    fingerprint="f",
                    max_tokens=1,
                    max_turns=1,
                    estimate=1,
                ),
                opening={},
            )
        )
    ]
    done.append(story.record(RowDone(row=RowId("p", "a"), value=1)))
    done.append(story.record(RunEnded(exit_code=0, complete=True, accepted=False)))
    report = report_of(folder_of(tmp_path, [records[0], *done]), generated_at=NOW)
    assert (report.complete, report.finish, report.verdict, report.exit_code) == (
        True,
        "",
        "complete",
        0,
    )


def test_a_cost_is_said_where_the_prices_are_known(tmp_path: Path) -> None:
    report = report_of(folder_of(tmp_path, ended()), generated_at=NOW)
    for amount, said in ((1.25, "$1.25 for what"), (None, "not known, for a model")):
        known = replace(report, totals=replace(report.totals, dollars=amount))
        for form in ("md", "html"):
            assert f"Cost: {said}" in FORMATS[form](known)


def test_a_live_run_is_reported_as_it_stands(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, story_of(7, 60))
    with RunLock(folder, now=NOW):
        report = report_of(folder, generated_at=NOW)
    assert (report.exit_code, report.state in {"running", "paused"}) == (None, True)
    assert {p.status for p in report.partitions} & {"queued", "running", "throttled"}
    assert_valid(json.loads(FORMATS["json"](report)), SCHEMA)
    assert "Exit code: none yet" in FORMATS["md"](report)


def test_a_snapshot_makes_the_same_report(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ended())
    state = state_of(ended())
    info = run_info(folder, state)
    snapshot = Snapshot(
        at=NOW,
        run=info,
        state="finished",
        rows=state.copy_rows(),
        counts=state.counts,
        phases=tuple(state.phases),
        totals=state.totals,
        prices=state.prices,
        budget=budgets_of(state)[RUN],
        end=end_of(state, info),
    )
    one = from_snapshot(snapshot, generated_at=NOW)
    other = report_of(folder, generated_at=NOW)
    assert one == other
    assert as_dict(one) == as_dict(other)


def test_a_raised_budget_is_told_beside_what_was_spent(tmp_path: Path) -> None:
    """What it was, what it is, when and by whom; a checkpoint holds it, too."""
    story = Story(3)
    life = next(iter(Story(3).tell(1))).event
    assert isinstance(life, LifeStarted)
    records = [story.record(replace(life, budgets={"": [None, 5.0]}))]
    started = records[0].at
    sets = (
        (65.0, BudgetSet(tokens=None, dollars=15.0)),
        (125.5, BudgetSet(tokens=900_000, dollars=None, phase="a|b")),
        (130.0, BudgetSet(tokens=None, dollars=20.0)),
    )
    records.append(Record(2, 1, started, PhaseEntered(phase="a|b", tokens=4_000)))
    for number, (after, event) in enumerate(sets, 3):
        records.append(Record(number, 1, started + after, event))
    folder = folder_of(tmp_path, records)
    for _ in range(2):
        report = report_of(folder, generated_at=NOW)
        said = json.loads(FORMATS["json"](report))
        assert_valid(said, SCHEMA)
        raised = said["budget"]["raised"]
        assert [(r["seconds"], r["to"]["max_usd"]) for r in raised] == [
            (65.0, 15.0),
            (130.0, 20.0),
        ]
        assert raised[0]["from"] == {"max_tokens_total": None, "max_usd": 5.0}
        assert {r["by"] for r in raised} == {"the screen"}
        (phase,) = said["phases"]
        assert [r["to"]["max_tokens_total"] for r in phase["budget"]["raised"]] == [
            900_000
        ]
        write_checkpoint(folder)
    for form in ("md", "html"):
        text = FORMATS[form](report)
        assert (
            "Budget: $20.00; 0 tokens, $0.00, spent; "
            "raised on the screen after 1:05, from $5.00 to $15.00; "
            "raised on the screen after 2:10, from $15.00 to $20.00."
        ) in text
        assert (
            "900,000 tokens; 0 tokens, $0.00, spent; raised on the screen after 2:06, "
            "from 4,000 tokens to 900,000 tokens."
        ) in text


def test_an_empty_or_foreign_folder_has_a_report_too(tmp_path: Path) -> None:
    report = report_of(tmp_path, generated_at=NOW)
    assert (report.counts.expected, report.complete) == (0, False)
    for make in FORMATS.values():
        assert make(report)


def test_damage_is_in_the_report(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, story_of(3, 60))
    path = next((folder / "journal").iterdir())
    path.write_bytes(path.read_bytes()[:200] + b"!" + path.read_bytes()[200:])
    report = report_of(folder, generated_at=NOW)
    assert "is damaged" in report.notes[0]
    assert all("is damaged" in FORMATS[f](report) for f in ("json", "md", "html"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str) -> None:
    report = report_of(folder_of(tmp_path, ended()), generated_at=NOW)
    path = tmp_path / f"r.{suffix.upper()}"
    write_report(report, path)
    write_report(report, path)
    assert path.read_bytes().decode() == FORMATS[suffix](report)
    assert not list(tmp_path.glob(".*tmp"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("r.txt", "in which format"),
        ("r", "in which format"),
        ("no/r.md", "cannot be written"),
        ("d.md", "cannot be written"),
    ],
)
def test_a_report_that_cannot_be_written_says_why(
    tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "d.md").mkdir()
    report = report_of(tmp_path, generated_at=NOW)
    with pytest.raises(UsageError, match=said) as caught:
        write_report(report, tmp_path / name)
    assert caught.value.hint
    assert [p.name for p in tmp_path.iterdir()] == ["d.md"]


def test_results_have_a_line_for_every_row(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ended())
    lines = [
        json.loads(line) for line in write_results(folder).read_text().splitlines()
    ]
    report = report_of(folder, generated_at=NOW)
    assert [(r["phase"], r["key"], r["status"]) for r in lines] == [
        (p.phase, p.key, p.status) for p in report.partitions
    ]
    assert lines[0] == {
        "phase": lines[0]["phase"],
        "key": lines[0]["key"],
        "status": "done",
        "value": {"n": 0},
    }
    assert lines[2]["kept"] == "half"
    assert (lines[2]["kind"], lines[2]["value"]) == ("rejected", None)


def test_a_result_whose_payload_is_gone_says_so(tmp_path: Path) -> None:
    big = [
        RowDone(row=r.event.row, value="x" * 70_000)
        if isinstance(r.event, RowDone)
        else r.event
        for r in ended()
    ]
    records = [
        Record(r.seq, r.life, r.at, e) for r, e in zip(ended(), big, strict=True)
    ]
    folder = folder_of(tmp_path, ended())
    path = folder / "journal" / "00099.jsonl"
    path.unlink()
    path.write_bytes(
        b"".join(encode(r, lambda _data: "ab" * 32) for r in records if r.life == 99)
    )
    line = json.loads(write_results(folder).read_text().splitlines()[0])
    assert "cannot be read" in line["unreadable"]
    assert line["value"] is None


HOSTILE = [
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\u202etxt.exe",
    "a\u200bb\ufeffc",
    "\u2066x\u2069",
    "\x00\x08\x7f",
    "line\nbreak\r\n| x |",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "'=1",
    "\uff1d1+1",
    "a;=1",
    'a;"=1',
    '"',
    '","=1',
    "x\n=1",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</td></table><script src=//evil>",
    '"onmouseover="x',
    "javascript:alert(1)",
    "&lt;b&gt;&#60;",
    "<!-- x",
    "]]>",
    "</style><b>",
    "</title><b>",
    "![x](http://evil/x.png)",
    "[x](javascript:alert(1))",
    "http://evil.example/",
    "<http://evil>",
    "`",
    "``",
    "` | `",
    "a`b``c```d",
    "\\|",
    "\\\\|",
    "a|b|c",
    "|",
    "\\",
    "# x",
    "- [ ] x",
    "**b**",
    "~~~",
    "```\nx",
    "$x$",
    "&copy;",
    "@someone",
    "\ud800",
    "\U000e0041tag",
    "é\u0301 漢字 \U0001f600",
    "x" * 5_000,
    "   ",
    "",
    "[x]: http://evil",
    "| --- |",
    "\u2028\u2029",
    "\u0085",
    "[[x]]",
    "{{x}}",
    "www.evil.example",
]
FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def hostile_report(text: str) -> Report:
    story = Story(1)
    start = ended()[0].event
    assert isinstance(start, LifeStarted)
    row = RowId("phase" + text, text)
    spec = RowSpec(
        kind="agent",
        model=text,
        pool="p",
        fingerprint="f",
        output=text,
        max_tokens=1,
        max_turns=1,
        estimate=1,
    )
    story.record(start)
    story.record(RowScheduled(row=row, spec=spec, opening={}))
    story.record(RowMissing(row=row, kind=MissingKind.REJECTED, reason=text))
    done = RowId("p", "k" + text)
    story.record(RowScheduled(row=done, spec=spec, opening={}))
    story.record(RowDone(row=done, value=text, output=text, reused_from=text))
    info = run_info(Path("/x/y"), story.state)
    changed = {f: getattr(info, f) for f in type(info).__slots__} | {
        "name": text,
        "script": text,
        "endpoint": text,
        "id": text,
        "arguments": (text,),
    }
    return from_state(
        story.state, type(info)(**changed), "finished", generated_at=NOW, notes=[text]
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def tags_of(html: str) -> Tags:
    parser = Tags()
    parser.feed(html)
    parser.close()
    return parser


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("suffix", FORMATS)
def test_no_control_or_hidden_character_gets_through(text: str, suffix: str) -> None:
    written = FORMATS[suffix](hostile_report(text))
    body = written.replace("\r\n", "\n") if suffix == "csv" else written
    assert not FORBIDDEN.search(body)
    written.encode()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_html_has_our_tags_only(text: str) -> None:
    plain = tags_of(FORMATS["html"](hostile_report("x")))
    hostile = tags_of(FORMATS["html"](hostile_report(text)))
    assert hostile.tags == plain.tags
    assert hostile.attributes == plain.attributes
    assert not hostile.tags.keys() & {
        "script",
        "img",
        "a",
        "link",
        "iframe",
        "object",
        "svg",
        "base",
        "form",
    }
    assert "default-src 'none'" in POLICY
    assert POLICY in FORMATS["html"](hostile_report(text))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_markdown_has_tables_and_code_only(text: str) -> None:
    """Rendered by a CommonMark parser that lets HTML and links through."""
    render = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .render
    )
    plain = tags_of(render(FORMATS["md"](hostile_report("x"))))
    hostile = tags_of(render(FORMATS["md"](hostile_report(text))))
    assert hostile.tags - Counter(code=99) == plain.tags - Counter(code=99)
    assert hostile.tags["td"] == plain.tags["td"]
    shown = text if len(text) <= 300 else text[:299] + "…"
    if text.strip() and "\\" not in text:
        assert clean(shown).strip() in [c.strip() for c in hostile.cells]


def test_the_csv_says_what_each_row_has_cost(tmp_path: Path) -> None:
    """In its last column; nothing where a price is unknown."""
    report = report_of(folder_of(tmp_path, story_of(3, 400)), generated_at=NOW)
    one = report.partitions[0]
    priced, unpriced = replace(one, dollars=0.01234567), replace(one, dollars=None)
    text = FORMATS["csv"](replace(report, partitions=(priced, unpriced)))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[-1] == "dollars"
    assert [row["dollars"] for row in rows] == ["0.012346", ""]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_csv_cell_is_a_formula(text: str) -> None:
    written = FORMATS["csv"](hostile_report(text))
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert [len(row) for row in rows] == [len(rows[0])] * 3
    for row in rows[1:]:
        for value in row:
            assert (
                not re.match(r"""[\s"]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]""", value)
                or value.isdigit()
            )
    for line in written.split("\r\n"):
        for piece in line.split(";")[1:]:
            assert not re.match(r"""[\s"]*[=+\-@]""", piece)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        ("=1", "'=1"),
        (" -x", "' -x"),
        ("a-b", "a-b"),
        ("\n=1", "'␊=1"),
        ("a;=b", "a;'=b"),
        ("", ""),
    ],
)
def test_a_cell_keeps_harmless_text(text: str, safe: str) -> None:
    assert cell(text) == safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a", "`a`"),
        ("`", "`` ` ``"),
        ("a``b", "`a``b`"),
        ("a|b", "`a\\|b`"),
        ("\\|", "`\\\\\\|`"),
        ("x" * 400, f"`{'x' * 299}…`"),
    ],
)
def test_a_span_holds_any_text(text: str, shown: str) -> None:
    assert span(text) == shown


def test_clean_shows_what_is_hidden() -> None:
    assert clean("a\x1b[1m\tb\n") == "a␛[1m␉b␊"
    assert clean("a\tb\n", lines=True) == "a\tb\n"
    assert clean("\u202e\x9b\x7f") == "<U+202E><U+009B>␡"
    assert clean("é漢😀") == "é漢😀"
    assert clean("\ud83d\ude00\ud800") == "😀\ufffd"


def test_nothing_is_left_beside_a_report_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(DISK), "write", full)
    with pytest.raises(UsageError, match="No space left"):
        write_report(report_of(tmp_path, generated_at=NOW), tmp_path / "r.md")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "price"), [("claude-sonnet-5", 0.0824), ("claude-unknown-9", None)]
)
def test_what_a_kill_left_in_doubt_is_listed_with_its_worst_cost(
    tmp_path: Path, model: str, price: float | None
) -> None:
    """In tokens, and in dollars where the price is known; nothing for the others."""
    story = Story(1)
    life = LifeStarted(
        run="r-1",
        life=1,
        script="/work/audit.py",
        arguments=(),
        endpoint="simulated:demo",
        simulated=True,
        model=model,
        version="0",
        pid=1,
    )
    spec = RowSpec(
        kind="agent",
        model=model,
        pool="p",
        fingerprint="1:f",
        max_tokens=8_192,
        max_turns=9,
        estimate=9,
    )
    row, idle = RowId("audit", "a|b"), RowId("audit", "idle")
    need = Need(input=240, output=300, worst_output=8_192)
    records = [
        story.record(life),
        story.record(RowScheduled(row=row, spec=spec, opening={})),
        story.record(RowScheduled(row=idle, spec=spec, opening={})),
        story.record(CallAdmitted(row=row, call=1, turn=1, pool="p", need=need)),
    ]
    report = report_of(folder_of(tmp_path, records), generated_at=NOW)
    assert [(p.key, p.in_doubt) for p in report.doubtful] == [("a|b", need.worst)]
    told = {p["key"]: p for p in as_dict(report)["partitions"]}
    assert told["a|b"]["in_doubt_dollars"] == (price and pytest.approx(price, abs=1e-6))
    assert told["idle"]["in_doubt_dollars"] == 0.0
    assert ("$0.082" in told["a|b"]["reason"]) == (price is not None)
    shown = f"{price:.4f}" if price is not None else "unknown"
    for form in ("md", "html"):
        text = FORMATS[form](report)
        part = text[text.index("In doubt: 1") :]
        assert "8,192" in part
        assert shown in part
        spent = "Cost: $0.00 for what was useful and wasted; "
        doubt = "what is in doubt has no known price."
        assert spent + (doubt if price is None else "in doubt, at most $0.082") in text
    (line,) = [
        x
        for x in csv.DictReader(io.StringIO(FORMATS["csv"](report)))
        if x["key"] == "a|b"
    ]
    assert line["in_doubt_dollars"] == ("" if price is None else f"{price:.6f}")
