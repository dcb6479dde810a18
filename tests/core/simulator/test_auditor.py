"""The scripted model: what it says is true of what it was shown."""

import hashlib
import json
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field

from fanout.simulator import audit, brain, validation
from fanout.simulator.answer import Answer
from fanout.simulator.call import Call
from fanout.simulator.profile import load
from fanout.simulator.sources import Line, inlined, manifest, reading

PROFILE = load("demo")
SOURCE = """import os

def f(path):
    handle = open(path)
    os.remove(path)
    with open(path) as kept:
        kept.read()
    try:
        pass
    except:
        pass
    eval("1")
"""
FINDINGS = {
    "type": "object",
    "properties": {"findings": {"type": "array", "items": {"$ref": "#/$defs/Finding"}}},
    "required": ["findings"],
    "$defs": {
        "Finding": {
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "line": {"type": "integer"},
                "problem": {"type": "string"},
            },
            "required": ["file", "line", "problem"],
            "additionalProperties": False,
        }
    },
}
TEXT = {"type": "string"}
RANGE = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}


def tool(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": name, "input_schema": schema}


READ = tool("read", ["file_path"], file_path=TEXT, view_range=RANGE)
GLOB = tool("glob", ["pattern"], pattern=TEXT, path=TEXT)
OFFSETS = tool(
    "read_file",
    ["path"],
    path=TEXT,
    offset={"type": "integer"},
    limit={"type": "integer"},
)
WRITE = tool("write_output", ["content"], content=TEXT)


def ask(messages: list[dict[str, Any]], **more: Any) -> Answer:
    body = {"model": "claude-opus-5-5", "max_tokens": 8_000, "messages": messages}
    body |= more
    digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    call = validation.check(
        body, version="2026-10-21", endpoint="messages", digest=digest, row=""
    )
    assert isinstance(call, Call), call
    return brain.answer(call, 0, PROFILE)


def said(prompt: str, **more: Any) -> str:
    answer = ask([{"role": "user", "content": prompt}], **more)
    return answer.parts[0].text if answer.parts else ""


def formed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


class Bench:
    """Runs the tools of an agent over files in memory, a few lines at a time."""

    def __init__(self, files: dict[str, str], lines_max: int, numbered: bool) -> None:
        self.files = files
        self.lines_max = lines_max
        self.numbered = numbered
        self.turns: list[list[tuple[str, dict[str, Any]]]] = []
        self.written = ""

    def run(self, prompt: str, **more: Any) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        for _ in range(30):
            answer = ask(messages, **more)
            if answer.stop_reason != "tool_use":
                return answer.parts[0].text
            calls = [
                {
                    "type": "tool_use",
                    "id": part.id,
                    "name": part.name,
                    "input": json.loads(part.text),
                }
                for part in answer.parts
                if part.kind == "tool_use"
            ]
            self.turns.append([(call["name"], call["input"]) for call in calls])
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": self._use(call["name"], call["input"]),
                }
                for call in calls
            ]
            messages += [
                {"role": "assistant", "content": calls},
                {"role": "user", "content": results},
            ]
        raise AssertionError("it never answered")

    def _use(self, name: str, given: dict[str, Any]) -> str:
        if name == "glob":
            return "\n".join(self.files)
        if name == "write_output":
            self.written = given["content"]
            return "written"
        path = given.get("file_path") or given["path"]
        lines = self.files[path].split("\n")[:-1]
        first, last = given.get("view_range") or (given.get("offset", 1), -1)
        if "limit" in given:
            last = first + given["limit"] - 1
        last = len(lines) if last < 0 else min(last, len(lines))
        end = min(last, first + self.lines_max - 1)
        shown = [
            f"{at:>6}\t{lines[at - 1]}" if self.numbered else lines[at - 1]
            for at in range(first, end + 1)
        ]
        if end < last:
            hint = f"view_range=[{end + 1}, -1]"
            if "path" in given:
                hint = f"offset={end + 1}"
            shown.append(f"[lines {first}-{end} of {len(lines)}; go on with {hint}]")
        return "\n".join(shown)


def test_lines_of_inlined_files_are_those_of_the_file() -> None:
    block = f'<file path="a&amp;b.py" lines="11-22">\n{SOURCE}</file>'
    found = json.loads(
        said(
            f"Report every unsafe file operation.\n{block}",
            output_config=formed(FINDINGS),
        )
    )["findings"]
    assert [(one["file"], one["line"]) for one in found] == [
        ("a&b.py", 14),
        ("a&b.py", 15),
    ]
    assert "os.remove(path)" in found[1]["problem"]


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("reader", [READ, OFFSETS], ids=["range", "offset"])
def test_it_lists_reads_on_where_it_was_cut_and_reports_true_lines(
    reader: dict[str, Any], numbered: bool
) -> None:
    files = {f"src/m{at}.py": SOURCE for at in range(6)}
    bench = Bench(files, lines_max=5, numbered=numbered)
    named = "\n".join(f"- {path} (lines 1-12, 4,321 bytes)" for path in files)
    answer = bench.run(
        f"Audit these files for every problem; read them with the tools:\n{named}",
        tools=[GLOB, reader],
        output_config=formed(FINDINGS),
    )
    found = {(one["file"], one["line"]) for one in json.loads(answer)["findings"]}
    assert found == {(path, line) for path in files for line in (4, 5, 10, 12)}
    assert bench.turns[0] == [("glob", {"pattern": "src/**/*"})]
    assert max(len(turn) for turn in bench.turns) == 4


def test_only_the_lines_of_a_manifest_count() -> None:
    bench = Bench({"a.py": SOURCE}, lines_max=100, numbered=True)
    answer = bench.run("Review.\n- a.py (lines 5-11, 90 bytes)", tools=[READ])
    assert bench.turns == [[("read", {"file_path": "a.py", "view_range": [5, 11]})]]
    assert "`a.py:5`" in answer
    assert "`a.py:10`" in answer
    assert "`a.py:4`" not in answer


def test_it_writes_its_output_when_told() -> None:
    bench = Bench({"a.py": SOURCE}, lines_max=100, numbered=True)
    answer = bench.run(
        "Audit, then call write_output.\n- a.py (lines 1-12, 90 bytes)",
        tools=[READ, WRITE],
    )
    assert bench.turns[-1][0][0] == "write_output"
    assert bench.written == answer


def test_it_says_what_it_could_not_read() -> None:
    call = ask([{"role": "user", "content": "Review gone.py"}], tools=[READ])
    part = next(part for part in call.parts if part.kind == "tool_use")
    use = {
        "type": "tool_use",
        "id": part.id,
        "name": "read",
        "input": {"file_path": "gone.py"},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": part.id,
        "content": "no such file",
        "is_error": True,
    }
    answer = ask(
        [
            {"role": "user", "content": "Review gone.py"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
        tools=[READ],
    )
    assert answer.stop_reason == "end_turn"
    assert "gone.py" in answer.parts[0].text


def test_every_finding_in_this_package_is_on_its_line() -> None:
    root = Path(audit.__file__).parent
    sources = {
        path.name: tuple(
            Line(number, text)
            for number, text in enumerate(path.read_text().split("\n"), 1)
        )
        for path in root.glob("*.py")
    }
    found = audit.audit(sources, audit.topics("audit everything"))
    assert found
    for one in found:
        assert sources[one.file][one.line - 1].text.strip() == one.code


RESULTS = """Write the report.

Results: 31 of 40 done; missing: core-07 (rejected), core-09.

## core-01
{"findings": [{"file": "a.py", "line": 3, "problem": "opens"}]}
## core-02
{"findings": []}
"""


def test_a_summary_repeats_what_is_missing_and_counts_by_key() -> None:
    report = said(RESULTS)
    assert "31 of 40 results are done" in report
    assert "- core-07 (rejected)\n- core-09" in report
    assert "| core-01 | 1 |" in report
    assert "| core-02 | 0 |" in report


def test_a_summary_in_a_schema() -> None:
    row = {"type": "object", "properties": {"key": TEXT, "count": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {
            "summary": TEXT,
            "total_findings": {"type": "integer"},
            "missing_keys": {"type": "array", "items": TEXT},
            "by_key": {"type": "array", "items": row},
            "complete": {"type": "boolean"},
        },
    }
    told = json.loads(said(RESULTS, output_config=formed(schema)))
    assert told["total_findings"] == 1
    assert told["missing_keys"] == ["core-07", "core-09"]
    assert told["by_key"] == [
        {"key": "core-01", "count": 1},
        {"key": "core-02", "count": 0},
    ]
    assert told["complete"] is False


def test_schemas_are_filled_by_the_names_of_their_properties() -> None:
    schema = {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["safe", "unsafe"]},
            "files": {"type": "array", "items": TEXT, "minItems": 3},
            "per_file": {"type": "object", "additionalProperties": {"type": "integer"}},
            "modules": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": TEXT,
                        "issues": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "lineNumber": {"type": ["integer", "null"]},
                                    "snippet": TEXT,
                                    "severity": {"enum": ["low", "high"]},
                                },
                            },
                        },
                    },
                },
            },
            "kind": {"const": "audit"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "functions": {"type": "array", "items": TEXT},
            "note": {"type": "string", "maxLength": 5},
            "issue_count": {"type": "integer"},
            "has_findings": {"type": "boolean"},
        },
    }
    block = f'<file path="a.py" lines="1-12">\n{SOURCE}</file>'
    told = json.loads(said(f"Audit this.\n{block}", output_config=formed(schema)))
    assert told["verdict"] == "unsafe"
    assert len(told["files"]) == 3
    assert told["per_file"] == {"a.py": 4}
    (module,) = told["modules"]
    assert module["path"] == "a.py"
    assert [one["lineNumber"] for one in module["issues"]] == [4, 5, 10, 12]
    assert module["issues"][0]["snippet"] == "handle = open(path)"
    assert module["issues"][3]["severity"] == "high"
    assert told["kind"] == "audit"
    assert 0 <= told["score"] <= 1
    assert told["functions"] == ["f"]
    assert len(told["note"]) <= 5
    assert (told["issue_count"], told["has_findings"]) == (4, True)


def test_directives_stage_behaviours() -> None:
    base = "Say something. "
    refused = ask([{"role": "user", "content": base + "[[sim: stop=refusal]]"}])
    assert refused.stop_reason == "refusal"
    assert refused.stop_details is not None
    long = ask([{"role": "user", "content": base + "[[sim: output=800]]"}])
    assert long.tokens == 800
    cut = ask([{"role": "user", "content": base + "[[sim: stop=max_tokens]]"}])
    assert cut.stop_reason == "max_tokens"
    assert said(base + "[[sim: empty=1]]") == ""
    bad = base + "[[sim: invalid_json=1 output=500]]"
    first = said(bad, output_config=formed(FINDINGS))
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(first)
    again = ask(
        [
            {"role": "user", "content": bad},
            {"role": "assistant", "content": first},
            {"role": "user", "content": "That was not JSON."},
        ],
        output_config=formed(FINDINGS),
    )
    assert json.loads(again.parts[0].text) == {"findings": []}
    assert again.tokens == 500


def test_ordered_tool_turns_call_what_is_offered() -> None:
    note = tool("take_note", ["text"], text=TEXT, tags={"type": "array", "items": TEXT})
    bench = Bench({}, 1, numbered=False)
    bench._use = lambda _name, _given: "noted"  # type: ignore[method-assign]
    bench.run("[[sim: turns=3 tool_tokens=200 parallel=2]]", tools=[note])
    assert [len(turn) for turn in bench.turns] == [2, 2, 2]
    name, given = bench.turns[0][0]
    assert name == "take_note"
    assert len(given["text"]) >= 700


def test_own_tools_are_called_once_where_the_profile_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They really run, so it is none unless somebody asked for it."""
    note = tool("take_note", ["text"], text=TEXT, urgency={"enum": ["low", "high"]})
    post = tool("post", ["count"], count={"type": "integer"})
    offered = [note, post, WRITE]
    for share, turns in ((0.0, 0), (1.0, 1)):
        table = {"generation": {"own_tools": share}}
        monkeypatch.setitem(globals(), "PROFILE", load("demo", table))
        bench = Bench({}, 1, numbered=False)
        bench._use = lambda _name, _given: "noted"  # type: ignore[method-assign]
        bench.run("Say hello.", tools=offered)
        assert len(bench.turns) == turns
    (calls,) = bench.turns
    assert [name for name, _ in calls] == ["take_note", "post"]
    for (_, given), form in zip(calls, offered, strict=False):
        jsonschema.validate(given, form["input_schema"])


def test_answers_are_cut_at_the_limit_and_at_stop_sequences() -> None:
    short = ask([{"role": "user", "content": "[[sim: output=100]]"}], max_tokens=10)
    assert (short.stop_reason, short.tokens) == ("max_tokens", 10)
    stopped = ask(
        [{"role": "user", "content": "[[sim: output=100]]"}],
        stop_sequences=["padding"],
    )
    assert stopped.stop_reason == "stop_sequence"
    assert "padding" not in stopped.parts[0].text


def test_thinking_comes_first_when_asked_for() -> None:
    answer = ask(
        [{"role": "user", "content": "[[sim: thinking=50]] hello"}],
        thinking={"type": "adaptive"},
    )
    assert [part.kind for part in answer.parts] == ["thinking", "text"]
    assert answer.thinking_tokens == 50


def test_a_forced_tool_is_called_with_fitting_arguments() -> None:
    submit = {"name": "submit", "input_schema": FINDINGS}
    block = f'<file path="a.py" lines="1-12">\n{SOURCE}</file>'
    answer = ask(
        [{"role": "user", "content": f"Audit.\n{block}"}],
        tools=[submit],
        tool_choice={"type": "tool", "name": "submit"},
    )
    part = answer.parts[-1]
    assert part.name == "submit"
    assert [one["line"] for one in json.loads(part.text)["findings"]] == [4, 5, 10, 12]


def test_sources_are_parsed_numbered_and_plain() -> None:
    told = reading("a header\n    7\tseven\n    8\teight", 1)
    assert told.lines == (Line(7, "seven"), Line(8, "eight"))
    assert told.go_on_at is None
    cut = reading("x = 1\ny = 2\n[truncated; 30 more lines, continue at offset 3]", 1)
    assert cut.lines == (Line(1, "x = 1"), Line(2, "y = 2"))
    assert cut.go_on_at == 3
    assert manifest("- a/b c.py (lines 3-1,0, 9 bytes)\n- x.py (lines 1-9, 1 bytes)")
    assert inlined('<file path="e.txt" lines="1-1">\n</file>') == {"e.txt": ()}


TAGGED = """<results>
<completeness>2 of 4 done; missing: audit/wind power, audit/b</completeness>
<result phase="audit" key="coal">
{"findings": [{"file": "a.py", "line": 3, "problem": "opens", "severity": "high"}]}
</result>
<result phase="audit" key="gas &amp; oil">
- `b.py:7` removes a file
- `b.py:9` removes a file
</result>
</results>

Write a report in Markdown from these findings."""


def test_tagged_results_are_read_too() -> None:
    report = said(TAGGED)
    assert "2 of 4 results are done; 3 findings in them." in report
    assert "- audit/wind power\n- audit/b\n" in report
    assert "| gas & oil | 2 |" in report
    assert "removes a file: 2 (`b.py:7`, `b.py:9`)" in report


class Severity(StrEnum):
    LOW = "low"
    HIGH = "high"


class Place(BaseModel):
    path: str = Field(min_length=3, max_length=200)
    line: int = Field(ge=1)
    column: int | None = None


class Issue(BaseModel):
    place: Place
    title: str
    severity: Severity
    confidence: float = Field(ge=0, le=1)
    kind: Literal["bug", "style"]
    tags: set[str]
    span: tuple[int, int]
    found_on: date
    seen_at: datetime
    id: UUID
    code: str = Field(pattern=r"^[A-Z]\d$")
    children: list["Issue"] = []


class Report(BaseModel):
    model_config = ConfigDict(extra="forbid")
    issues: list[Issue] = Field(min_length=2, max_length=50)
    best: Issue | None
    counts: dict[str, int]
    options: Place | str
    total: Annotated[int, Field(multiple_of=5)]
    even: bool


@pytest.mark.parametrize(
    "prompt",
    [
        f'Audit.\n<file path="abc.py" lines="1-12">\n{SOURCE}</file>',
        "Nothing to see here.",
        RESULTS,
        TAGGED,
    ],
    ids=["files", "text", "results", "tagged"],
)
def test_what_is_filled_in_fits_a_demanding_schema(prompt: str) -> None:
    text = said(prompt, output_config=formed(Report.model_json_schema()))
    Report.model_validate_json(text)


@pytest.mark.parametrize("rule", audit.RULES, ids=lambda rule: rule.name)
def test_no_rule_is_overlooked_for_want_of_a_needle(rule: audit.Rule) -> None:
    samples = [
        "pickle.loads(x)", "run(x, shell=True)", "eval(x)", "yaml.load(x)",
        "shutil.rmtree(x)", "tempfile.mktemp()", "a.extractall()", "os.chmod(p, 1)",
        "os.unlink(p)", "open(p)", "shutil.copy2(a, b)", "except:",
        "except Exception: pass", "subprocess.run(x)", "# " + "TO" + "DO",
    ]  # fmt: skip
    fitting = [text for text in samples if rule.pattern.search(text)]
    assert fitting
    assert all(audit.suspects([Line(1, text)]) for text in fitting)


def test_an_answer_that_does_not_fit_the_window_says_so() -> None:
    answer = ask(
        [{"role": "user", "content": "[[sim: output=5000]] " + "x " * 199_000}],
        model="claude-haiku-4-5",
    )
    assert answer.stop_reason == "model_context_window_exceeded"
    assert 500 < answer.tokens < 1_500
