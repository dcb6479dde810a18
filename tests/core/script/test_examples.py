import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fanout.examples
from core.script.ports import FakePort, done, missing
from fanout.script.loading import locate
from fanout.script.running import ScriptEnd, ScriptOptions, ScriptThread
from fanout.words.model import MissingKind
from fanout.words.orders import AgentOrder, ClientReply, RowOutcome

pytestmark = pytest.mark.usefixtures("interpreter")

FOLDER = Path(fanout.examples.__file__).parent


def run(name: str, port: FakePort, *arguments: str) -> ScriptEnd:
    ends: list[ScriptEnd] = []
    over = threading.Event()

    def ended(end: ScriptEnd) -> None:
        ends.append(end)
        over.set()

    script = locate(FOLDER / name, arguments)
    ScriptThread(script, port, ScriptOptions(), ended).start()
    assert over.wait(60)
    return ends[0]


def as_asked(order: AgentOrder) -> RowOutcome:
    if order.schema is None:
        return done(order.row, f"about {order.row}")
    finding = {"file": "a.py", "line": 1, "problem": "p", "severity": "low"}
    return done(order.row, {"findings": [finding]})


def test_the_audit_has_a_partition_for_each_of_its_agents(port: FakePort) -> None:
    port.answer = as_asked
    end = run("audit.py", port)
    assert end.outcome == "returned"
    audit, summary = port.batches
    found = f"{len(audit)} findings; the report of 2 words is report.md"
    assert end.value == found
    assert 40 <= len(audit) <= 55
    assert all(order.inputs.startswith('<files key="') for order in audit)
    assert len(max(audit, key=lambda order: len(order.inputs)).inputs) < 5_000
    assert f"{len(audit)} of {len(audit)} done" in summary[0].inputs


def test_a_gather_script_asks_through_rows(port: FakePort) -> None:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": "Because."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    port.reply = lambda order: ClientReply(status=200, message=message)
    end = run("gather.py", port, "Why?", "How?")
    assert end.value == "## Why?\nBecause.\n\n## How?\nBecause."
    assert len(port.calls) == 2


def test_two_phases_go_on_without_what_is_missing(port: FakePort) -> None:
    port.answer = lambda order: (
        missing(order.row, MissingKind.REFUSED)
        if order.row.key == "oil"
        else as_asked(order)
    )
    end = run("two_phases.py", port)
    assert end.outcome == "returned"
    assert end.value["missing"] == ["oil"]
    assert len(end.value["slides"]) == 9
    by_phase = Counter(row.phase for row in port.scheduled)
    assert by_phase == {
        "research": 10,
        "weigh": 1,
        "slides/draft": 9,
        "slides/shorten": 9,
    }
    assert ("log", "going on without oil: refused: 400") in port.notes
    assert ("research", "20%") in port.phases
    verdict = next(o for b in port.batches for o in b if o.row.phase == "weigh")
    assert "9 of 10 done; missing: research/oil" in verdict.inputs


def test_the_overnight_script_needs_no_tools_where_it_batches(port: FakePort) -> None:
    def answer(order: AgentOrder) -> RowOutcome:
        if order.schema is None:
            return done(order.row, "an index")
        one = {"file": "a.py", "purpose": "p", "names": ["n"]}
        return done(order.row, {"files": [one]})

    port.answer = answer
    end = run("overnight.py", port)
    assert end.outcome == "returned"
    described, index = port.batches
    assert {order.lane for order in described} == {"batch"}
    assert not any(order.tools for order in described)
    assert len(described) > 10
    assert [order.lane for order in index] == ["live"]
    assert f"{len(described)} of {len(described)} done" in index[0].inputs
