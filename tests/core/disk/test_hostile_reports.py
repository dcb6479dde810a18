"""Thousands of hostile texts in every file that a run leaves: inert in all of them."""

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fanout.disk.codec import encode
from fanout.disk.reports.as_csv import cell
from fanout.disk.reports.as_html import POLICY
from fanout.disk.reports.report import Report
from fanout.disk.reports.writing import FORMATS, report_of
from fanout.disk.results import results
from fanout.disk.rundir import create_run
from fanout.words.clean import clean
from fanout.words.events import (
    CallRefused,
    LifeStarted,
    Noted,
    Record,
    RowDone,
    RowMissing,
    RowScheduled,
    RunEnded,
    ToolsRan,
)
from fanout.words.model import MissingKind, RowId, RowSpec
from figures import record_figure
from hostile import Poison, huge, payloads, risky

LEADS = ("\t", "\r", "\n", "\0", "\ufeff")
FORMULA = re.compile(r"""[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20]""")


def folder_of(folder: Path, texts: tuple[str, ...]) -> Path:
    """A run on disk, made of payloads."""
    made = create_run(
        folder,
        script=texts[40 % len(texts)],
        arguments=texts[41:60],
        endpoint=texts[61 % len(texts)],
        simulated=False,
        version="0",
        now=1_796_080_500.0,
    )
    (made / "journal").mkdir(exist_ok=True)
    lines = b"".join(map(encode, story(texts)))
    (made / "journal" / "00001.jsonl").write_bytes(lines)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("runs"), payloads())


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    """Every text in it is a payload, also where a run would never put one."""
    poison = Poison(payloads())
    made: Report = poison(report_of(folder, generated_at=2_000.0))
    assert poison.used > 4 * len(payloads())
    return replace(made, notes=payloads()[:300])


def test_the_payloads_are_many_and_harmful() -> None:
    texts = payloads()
    assert len(texts) == len(set(texts)) >= 2_000
    assert sum(bool(risky(text)) for text in texts) > 1_200
    assert all(map(risky, ("\x1b", "\x9b", "\u202e")))
    assert not risky(clean("".join(texts)))


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_steers_a_terminal(report: Report, form: str) -> None:
    """Printed by `report`, or by `cat`."""
    text = FORMATS[form](report)
    assert risky(text, kept="\r\n" if form == "csv" else "\n") == []
    text.encode()


def cells(text: str, delimiter: str) -> Iterator[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        yield from row


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_no_cell_is_a_formula(report: Report, delimiter: str) -> None:
    """OWASP's rule, whatever the program that opens the file splits at."""
    csv.field_size_limit(1_000_000)
    text = FORMATS["csv"](report)
    found = [cell for cell in cells(text, delimiter) if FORMULA.match(cell)]
    # A program that splits at `|` sees text behind it: no spreadsheet does so
    # unasked, and an apostrophe stands in front of the whole cell.
    if delimiter != "|":
        assert found == []
    if delimiter == ",":
        assert [cell for cell in cells(text, delimiter) if cell[:1] in LEADS] == []
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == len(report.partitions) + 1


@given(
    st.lists(
        st.sampled_from(
            [*"=+-@\t\r\n\0 \"';,|%a1", "\uff1d", "\u200b", "\ufeff", "\x1b"]
        ),
        max_size=8,
    ).map("".join)
)
def test_no_text_makes_a_formula(text: str) -> None:
    """OWASP's rule as a property: whatever is in a cell, it begins as text."""
    made = cell(text)
    row = io.StringIO(newline="")
    csv.writer(row, lineterminator="\r\n").writerow([made, "next"])
    (back,) = csv.reader(io.StringIO(row.getvalue(), newline=""))
    assert back == [made, "next"]
    assert not FORMULA.match(made)
    assert made[:1] not in LEADS
    assert risky(made, kept="") == []


class Page(HTMLParser):
    """What a browser would make of the page."""

    TAGS = frozenset(
        {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p"}
        | {"table", "tr", "th", "td", "bdi", "code", "ul", "li", "div"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.strange: list[str] = []
        self.metas: list[dict[str, str | None]] = []
        self.texts: set[str] = set()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "meta":
            self.metas.append(dict(attrs))
        elif tag not in self.TAGS or any(
            name not in {"class", "lang"} for name, _ in attrs
        ):
            self.strange.append(f"{tag} {attrs}")

    def handle_data(self, data: str) -> None:
        self.texts.add(data)

    def handle_comment(self, data: str) -> None:
        self.strange.append(data)

    def unknown_decl(self, data: str) -> None:
        self.strange.append(data)

    def handle_pi(self, data: str) -> None:
        self.strange.append(data)


def test_the_page_runs_and_loads_nothing(report: Report) -> None:
    page = Page()
    page.feed(FORMATS["html"](report))
    page.close()
    assert page.strange == []
    policy = [m["content"] for m in page.metas if m.get("http-equiv")]
    assert policy == [POLICY]
    assert POLICY.startswith("default-src 'none'")
    assert not re.search("unsafe|http", POLICY)
    # The policy stands before anything that it is to hold for.
    assert page.tags.index("meta") < page.tags.index("title")
    shown = {text for text in map(clean, payloads()) if 0 < len(text) < 4_000}
    shown = {text for text in shown if text.strip()}
    assert shown <= page.texts


def test_the_markdown_is_tables_of_code(report: Report) -> None:
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    parser.disable("linkify", ignoreInvalid=True)
    tokens = parser.parse(FORMATS["md"](report))
    inline = [t for token in tokens for t in token.children or ()]
    assert {t.type for t in inline} <= {"text", "code_inline", "softbreak"}
    blocks = {
        token.type.removesuffix("_open").removesuffix("_close") for token in tokens
    }
    assert blocks <= {
        *(
            "heading",
            "inline",
            "paragraph",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        ),
        *("bullet_list", "list_item", "code_block"),
    }
    codes = {t.content for t in inline if t.type == "code_inline"}
    assert len(codes) > 1_500
    rows, width = 0, 0
    for token in tokens:
        if token.type == "tr_open":
            rows, width = rows + 1, 0
        width += token.type in {"td_open", "th_open"}
        if token.type == "tr_close":
            assert width in {4, 5, 6}
    assert rows > 2 * len(report.partitions)


def story(texts: tuple[str, ...]) -> Iterator[Record]:
    """A run whose every fact has payloads in its texts."""

    def record(event: object) -> Record:
        nonlocal number
        number += 1
        return Record(number, 1, 1000.0 + number, event)  # type: ignore[arg-type]

    number = 0
    yield record(
        LifeStarted(
            run=texts[0],
            life=1,
            script=texts[1],
            arguments=(texts[2],),
            endpoint=texts[3],
            simulated=False,
            model=texts[4],
            version=texts[5],
            pid=1,
        )
    )
    for n, text in enumerate(texts):
        row = RowId(f"phase {text}", f"{text}{n}")
        spec = RowSpec(
            kind="agent",
            model=text,
            pool=text,
            fingerprint="1:ab",
            output=text,
            max_tokens=1,
            max_turns=1,
            estimate=1,
        )
        yield record(RowScheduled(row=row, spec=spec, opening={"prompt": text}))
        yield record(Noted(source="script", text=text, row=row))
        yield record(
            CallRefused(
                row=row,
                call=n + 1,
                cause="rejected",
                status=400,
                message=text,
                until=None,
                request_id=text,
            )
        )
        block = {"type": "tool_result", "tool_use_id": text, "content": text}
        yield record(
            ToolsRan(
                row=row,
                turn=1,
                results=(block,),
                files_read={text: "00"},
                files_written={text: "00"},
            )
        )
        if n % 2:
            yield record(RowDone(row=row, value={text: [text]}, output=text))
        else:
            yield record(
                RowMissing(row=row, kind=MissingKind.REJECTED, reason=text, kept=text)
            )
    yield record(RunEnded(exit_code=3, complete=False, accepted=False))


def test_every_file_of_a_run_can_be_shown(folder: Path) -> None:
    """Journal, manifest, results: nothing in them steers a terminal, nothing is lost."""
    texts = payloads()
    (folder / "results.jsonl").write_text("\n".join(results(folder)))
    seen = 0
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode()
            assert risky(text) == [], path
            seen += len(text)
    assert seen > 1_000_000
    lines = (folder / "results.jsonl").read_text().splitlines()
    values = [json.loads(line)["value"] for line in lines]
    there = [value for value in values if value is not None]
    sane = [
        text for text in texts[1::2] if text.encode(errors="replace").decode() == text
    ]
    assert [next(iter(v)) for v in there if next(iter(v)) in set(sane)] == sane
    made = report_of(folder, generated_at=2_000.0)
    assert len(made.partitions) == len(texts)
    for form in FORMATS:
        assert risky(FORMATS[form](made), kept="\r\n") == []
    record_figure(
        "hostile texts in every file of a run",
        "≥ 2,000 in each; 0 controls, formulas, scripts",
        f"{len(texts):,} in each of {len(FORMATS) + 3}, 0 obeyed",
    )


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("form", FORMATS)
def test_ten_megabytes_in_one_field(report: Report, form: str) -> None:
    one = replace(report, partitions=report.partitions[:1], phases=(), notes=())
    for text in huge():
        begun = time.monotonic()
        out = FORMATS[form](replace(one, reason=text))
        assert time.monotonic() - begun < 30
        assert risky(out, kept="\r\n") == []
