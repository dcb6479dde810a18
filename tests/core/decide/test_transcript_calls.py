"""The calls of a row, with what a support case asks for."""

from fanout.decide.transcript import transcript
from fanout.words.events import (
    CallAbandoned,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Record,
)
from fanout.words.model import Need, RowId, Usage

ROW = RowId("audit", "a")


def test_each_call_tells_its_id_its_tokens_and_its_end() -> None:
    need = Need(input=9_000, output=400, worst_output=8_192)
    events = [
        CallAdmitted(row=ROW, call=7, turn=1, pool="p", need=need),
        CallRefused(
            row=ROW, call=7, cause="429 limit", status=429, message="slow",
            until=None, request_id="req_1", wasted=Usage(5, 0),
        ),
        CallAdmitted(row=ROW, call=8, turn=1, pool="p", need=need),
        CallAnswered(
            row=ROW, call=8, usage=Usage(8_140, 412, 61_800, 20), stop_reason="end_turn",
            answer=[{"type": "text", "text": "so"}], request_id="req_2", seconds=6.12,
        ),
        CallAbandoned(row=ROW, call=9, reason="stopped"),
        CallRefused(
            row=ROW, call=9, cause="network", status=None, message="cut", until=None,
        ),
    ]  # fmt: skip
    records = [Record(n, 1, float(n), event) for n, event in enumerate(events, 1)]
    calls = [said.text for said in transcript(records, ROW) if said.kind == "call"]
    assert calls == [
        "call 7 of turn 1 sent, expects 9,000 in, 400 out",
        "call 7 refused  req_1  429  429 limit  5 tokens lost at most",
        "call 8 of turn 1 sent, expects 9,000 in, 400 out",
        "call 8 answered  req_2  8,160 in + 61,800 cached  412 out  6.1 s  end_turn",
        "call 9 given up: stopped",
        "call 9 refused  no request id  no response  network",
    ]
