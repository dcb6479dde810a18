"""Agents that say they are done, and what the disk says: none of them gets through.

Each lie goes through a whole engine over real files. The reverse goes through it,
too: an agent that failed after it had written a good output has done its work.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.engine.bench import Bench, order
from fanout.files.tools import FileTool, write_output, write_tools
from fanout.script.schemas import prepare
from fanout.testing.scripted_api import (
    ScriptedApi,
    answered,
    broken,
    refused,
    tool_use,
)
from fanout.testing.virtual_loop import inline
from fanout.words.events import Noted
from fanout.words.model import MissingKind, RowId, Status
from fanout.words.outcome import Outcome
from fanout.words.tools import ToolResult
from figures import record_figure


def inline_tools(root: Path) -> list[FileTool]:
    """File tools without threads, which virtual time does not wait for."""
    return [replace(tool, to_thread=inline) for tool in write_tools(root)]


ROW = RowId("main", "a")
GOOD = "# Findings\n\nThe loader opens every path it is given.\n"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}

Act = Callable[[Path], None]
Reply = Callable[[Mapping[str, Any], int], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """What an agent answers, and what is done behind its back."""

    reply: Reply
    kind: MissingKind
    says: str = ""
    output: str = "report.md"
    schema: Mapping[str, Any] | None = None
    writes: bool = False
    behind: Act | None = None
    """Done to the output folder by a tool, before the agent's last words."""
    before: Act | None = None
    """What the folder holds when the run begins."""
    after: Mapping[str, str] = field(default_factory=dict)
    """Files that are in the folder at the end, as they were."""


def always(*texts: str, **more: Any) -> Reply:
    texts = texts or ("",)
    return lambda _, n: answered(texts[min(n, len(texts) - 1)], **more)


def writes_then(last: Outcome, content: str = GOOD, *, act: bool = True) -> Reply:
    """`write_output`, then a tool of the script's own, then the last words."""
    steps = [tool_use("write_output", {"content": content})]
    steps += [tool_use("act", {}, 2)] if act else []

    def reply(body: Mapping[str, Any], _: int) -> Outcome:
        done = sum(m["role"] == "assistant" for m in body["messages"])
        return steps[done] if done < len(steps) else last

    return reply


DONE = answered("All done, the report is written.")
BAD, NONE = MissingKind.INVALID, MissingKind.NO_OUTPUT


def put(text: str | bytes, name: str = "report.md") -> Act:
    def act(out: Path) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        (out / name).write_bytes(data)

    return act


def instead(make: Callable[[Path, Path], None]) -> Act:
    """Something else stands where the output was; given it and a stranger's file."""

    def act(out: Path) -> None:
        (out / "report.md").unlink(missing_ok=True)
        (out.parent / "others.md").write_text(GOOD)
        make(out / "report.md", out.parent / "others.md")

    return act


def behind(act: Act, kind: MissingKind = NONE, **more: Any) -> Lie:
    return Lie(reply=writes_then(DONE), kind=kind, writes=True, behind=act, **more)


def door(out: Path) -> None:
    """The output's folder becomes a link that leads outside."""
    (out.parent / "elsewhere").mkdir()
    (out / "sub").symlink_to(out.parent / "elsewhere")


LIES: dict[str, Lie] = {
    "no answer": Lie(reply=always(""), kind=NONE),
    "no content at all": Lie(reply=always(content=[]), kind=NONE),
    "thought only": Lie(
        reply=always(content=[{"type": "thinking", "thinking": GOOD}]), kind=NONE
    ),
    "whitespace": Lie(reply=always(" \n\t\u3000\xa0"), kind=NONE),
    "invisible characters": Lie(reply=always("\u200b\u2060\ufeff"), kind=NONE),
    "says it wrote the file": Lie(
        reply=always("I have written the full report to report.md."),
        kind=BAD,
        says="none was",
    ),
    "says so, given the tool": Lie(
        reply=always("Done! The report has been saved to the file."),
        kind=BAD,
        writes=True,
        says="none was",
    ),
    "a stale file of before": Lie(
        reply=always("I've saved the results in report.md"),
        kind=BAD,
        before=put("# Old findings"),
        after={"report.md": "# Old findings"},
    ),
    "nothing, over a stale file": Lie(
        reply=always(""),
        kind=NONE,
        before=put("# Old findings"),
        after={"report.md": "# Old findings"},
    ),
    "another schema": Lie(
        reply=always('{"findings": []}'), kind=BAD, output="a.json", schema=SCHEMA
    ),
    "another type": Lie(
        reply=always('{"n": "three"}'), kind=BAD, output="a.json", schema=SCHEMA
    ),
    "prose for JSON": Lie(
        reply=always("Here you go: n is 3."), kind=BAD, output="a.json", schema=SCHEMA
    ),
    "truncated JSON": Lie(
        reply=always('{"n": 3, "more": [1, 2'), kind=BAD, output="a.json", schema=SCHEMA
    ),
    "truncated JSON, no schema": Lie(
        reply=always('{"n": [1, 2'), kind=BAD, output="a.json"
    ),
    "a half line of JSON lines": Lie(
        reply=always('{"n": 1}\n{"n": '), kind=BAD, output="a.jsonl"
    ),
    "one name twice": Lie(
        reply=always('{"n": 1, "n": 2}'), kind=BAD, output="a.json", says="twice"
    ),
    "JSON without a bottom": Lie(
        reply=always("[" * 5000 + "]" * 5000), kind=BAD, output="a.json"
    ),
    "the API's error as its answer": Lie(
        reply=always(
            json.dumps({"type": "error", "error": {"type": "overloaded_error"}})
        ),
        kind=BAD,
        says="error message",
    ),
    "a wrapper's error as its answer": Lie(
        reply=always('API Error: 529 {"type":"overloaded_error"}'),
        kind=BAD,
        says="error message",
    ),
    "an error page": Lie(
        reply=always("<html><head><title>502 Bad Gateway</title></head></html>"),
        kind=BAD,
        says="error message",
    ),
    "an error written as the output": Lie(
        reply=writes_then(DONE, "rate_limit_error: slow down", act=False),
        kind=BAD,
        writes=True,
        says="error message",
    ),
    "cut at the limit": Lie(
        reply=always(GOOD, stop_reason="max_tokens"), kind=MissingKind.TRUNCATED
    ),
    "a full context": Lie(
        reply=always(GOOD, stop_reason="model_context_window_exceeded"),
        kind=MissingKind.TRUNCATED,
    ),
    "refused": Lie(reply=always(GOOD, stop_reason="refusal"), kind=MissingKind.REFUSED),
    "wrote nothing": Lie(reply=writes_then(answered(""), ""), kind=NONE, writes=True),
    "wrote whitespace": Lie(reply=writes_then(DONE, " \n"), kind=NONE, writes=True),
    "changed after": behind(put("# Something else"), says="another hand"),
    "emptied after": behind(put("")),
    "truncated after": behind(put(GOOD[:9]), says="another hand"),
    "binary after": behind(put(b"\x89PNG\xff\xfe"), says="not"),
    "not UTF-8 after": behind(put("gr\xfcn".encode("latin-1")), says="not UTF-8"),
    "huge after": behind(
        lambda out: os.truncate(out / "report.md", 200 * 1024 * 1024), says="bytes"
    ),
    "a link to another's file": behind(
        instead(lambda path, other: path.symlink_to(other)), says="link"
    ),
    "a hard link to another's file": behind(
        instead(lambda path, other: os.link(other, path)), says="hard links"
    ),
    "a link to itself": behind(instead(lambda path, _: path.symlink_to(path))),
    "a dangling link": behind(
        instead(lambda path, _: path.symlink_to(path.parent.parent / "nowhere"))
    ),
    "a FIFO": behind(instead(lambda path, _: os.mkfifo(path)), says="regular"),
    "a device": behind(
        instead(lambda path, _: path.symlink_to("/dev/zero")), says="link"
    ),
    "a folder": behind(instead(lambda path, _: path.mkdir()), says="regular"),
    "outside, through a door": Lie(
        reply=always(GOOD), kind=NONE, output="sub/report.md", before=door
    ),
}


class ActTool:
    """Another hand in the output folder."""

    name = "act"
    description = "does something"
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    version = "1"

    def __init__(self, act: Act, out: Path) -> None:
        self._act, self._out = act, out

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        self._act(self._out)
        return ToolResult(content="fine")


def lived(lie: Lie, out: Path) -> tuple[Bench, int]:
    out.mkdir()
    if lie.before is not None:
        lie.before(out)
    bench = Bench(ScriptedApi(lie.reply), out)
    schema = prepare(lie.schema) if lie.schema is not None else None
    tools: list[Any] = [write_output] if lie.writes else []
    tools.append(ActTool(lie.behind or (lambda _: None), out))
    bench.schedule(
        order(
            "a",
            output=lie.output,
            schema=schema.wire if schema else None,
            validate=schema.validate if schema else None,
            tools=tuple(tools),
        )
    )
    bench.returns()
    return bench, bench.run()


@pytest.mark.parametrize("name", LIES)
def test_no_lie_is_taken_for_done(tmp_path: Path, name: str) -> None:
    lie = LIES[name]
    out = tmp_path / "out"
    bench, code = lived(lie, out)
    row = bench.state.rows[ROW]
    assert row.status is Status.MISSING
    assert row.end is not None
    assert row.end.kind is lie.kind, row.end.reason
    assert lie.says in row.end.reason
    assert row.end.reason
    assert (code, bench.state.counts.done) == (3, 0)
    assert not bench.ended[ROW][0].done
    for path, text in lie.after.items():
        assert (out / path).read_text() == text
    elsewhere = tmp_path / "elsewhere"
    assert not elsewhere.exists() or not any(elsewhere.iterdir())


def test_how_many_kinds_of_lies_there_are() -> None:
    assert len(LIES) >= 12
    record_figure(
        "lying agents",
        "≥ 12 kinds, all caught",
        len(LIES),
        unit="kinds, 0 taken for done",
    )


# -- the reverse: failed, and done nevertheless -----------------------------------

FAILURES: dict[str, Outcome] = {
    "rejected": refused(400, "invalid_request_error"),
    "not permitted": refused(403, "permission_error"),
    "no account": refused(401, "authentication_error"),
    "refused": answered("I will not say.", stop_reason="refusal"),
    "cut, twice": answered("And in the end", stop_reason="max_tokens"),
    "a full context": answered("And", stop_reason="model_context_window_exceeded"),
    "no last words": answered(""),
    "a claim": DONE,
    "an error": answered("API Error: 500"),
    "never again reachable": broken("connect"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_after_a_good_output_is_no_hole(tmp_path: Path, name: str) -> None:
    lie = Lie(reply=writes_then(FAILURES[name]), kind=NONE, writes=True)
    bench, _ = lived(lie, tmp_path / "out")
    row = bench.state.rows[ROW]
    assert row.status is Status.DONE, row.end
    assert bench.ended[ROW][0].value == GOOD
    assert (tmp_path / "out" / "report.md").read_text() == GOOD
    noted = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    failed = any("failed after its output was written" in text for text in noted)
    assert failed == (name not in {"no last words", "a claim", "an error"})


@pytest.mark.parametrize(
    "act",
    [put("# Other"), instead(lambda path, _: path.mkdir())],
    ids=["text", "folder"],
)
def test_an_error_after_a_bad_output_is_a_hole_with_its_own_reason(
    tmp_path: Path, act: Act
) -> None:
    failing = writes_then(refused(400, "invalid_request_error", "prompt is bad"))
    lie = Lie(reply=failing, kind=NONE, writes=True, behind=act)
    bench, code = lived(lie, tmp_path / "out")
    end = bench.state.rows[ROW].end
    assert end is not None
    assert (end.kind, code) == (MissingKind.REJECTED, 3)
    assert "prompt is bad" in end.reason


def test_an_output_that_is_gone_is_written_again(tmp_path: Path) -> None:
    """The conversation has it: nothing is asked for twice."""
    gone = behind(lambda out: (out / "report.md").unlink())
    bench, code = lived(gone, tmp_path / "out")
    assert code == 0
    assert (tmp_path / "out" / "report.md").read_text() == GOOD
    assert len(bench.api.bodies) == 3


def test_an_agent_may_change_its_own_output(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    steps = [
        tool_use("write_output", {"content": GOOD}),
        tool_use(
            "edit",
            {"file_path": "report.md", "old_string": "every", "new_string": "any"},
            2,
        ),
        DONE,
    ]
    bench = Bench(ScriptedApi(lambda _, n: steps[n]), out)
    bench.schedule(
        order(
            "a",
            output="report.md",
            tools=(write_output, *inline_tools(out)),
        )
    )
    bench.returns()
    assert bench.run() == 0
    assert bench.ended[ROW][0].value == GOOD.replace("every", "any")


def test_one_agent_cannot_make_anothers_output_its_own(tmp_path: Path) -> None:
    """A writes; B, whose tools reach the folder, writes over it before A ends."""
    out = tmp_path / "out"
    out.mkdir()
    over = {"file_path": "a.md", "content": "mine now"}

    def reply(body: Mapping[str, Any], _: int) -> Outcome:
        first = str(body["messages"][0]["content"][-1]["text"])
        turn = sum(m["role"] == "assistant" for m in body["messages"])
        if first == "do a":
            steps = [tool_use("write_output", {"content": GOOD})]
            steps += [tool_use("act", {}, n) for n in range(2, 6)]
        else:
            steps = [tool_use("act", {}), tool_use("write", over, 2)]
        return steps[turn] if turn < len(steps) else answered("that is all there is")

    bench = Bench(ScriptedApi(reply), out)
    idle = ActTool(lambda _: None, out)
    bench.schedule(
        order("a", output="a.md", tools=(write_output, idle)),
        order("b", output="b.md", tools=(idle, *inline_tools(out))),
    )
    bench.returns()
    assert bench.run() == 3
    assert bench.status() == {"main/a": "missing", "main/b": "done"}
    end = bench.state.rows[ROW].end
    assert end is not None
    assert "another hand" in end.reason


def test_a_lie_that_is_taken_back_is_no_lie(tmp_path: Path) -> None:
    """Sent back once, it gives the text itself."""
    lie = Lie(reply=always("I wrote the report to report.md.", GOOD), kind=NONE)
    bench, code = lived(lie, tmp_path / "out")
    assert code == 0
    assert (tmp_path / "out" / "report.md").read_text() == GOOD
    last = bench.api.bodies[-1]["messages"][-1]["content"][-1]["text"]
    assert "none was" in last


ODD = (
    "42",
    "Yes.",
    (
        "The file format was created in 1987 by a committee; its header has 12 bytes. "
        "Every reader since has had to cope with two byte orders, which is why the "
        "loader checks them first and refuses what it does not know. A second version "
        "followed, with checksums, and a third that nobody uses."
    ),
    "Error handling in this module is uneven: three callers ignore what it raises.",
    "errors.py: 404 lines, no findings.",
    "# API errors\n\n429 and 529 are retried.",
    '{"type": "error", "count": 3}',
    "Done.",
    "Nothing was written to disk by any of these functions.",
    "Traceback handling is fine.",
)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_results_are_results(tmp_path: Path, text: str) -> None:
    lie = Lie(reply=always(text), kind=NONE)
    bench, code = lived(lie, tmp_path / "out")
    assert code == 0, bench.state.rows[ROW].end
    assert bench.ended[ROW][0].value == text
