"""Reuse: by content, in any order, never twice, and never across accounts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.disk.journals import write_segments
from fanout.decide.again import USED_UP
from fanout.decide.forecast.outlook import Name
from fanout.decide.forecast.sample import Use
from fanout.disk.checkpoints.checkpointing import write_checkpoint
from fanout.disk.journal import Journal
from fanout.disk.reuse import Reuse, find_reusable
from fanout.disk.rundir import create_run
from fanout.words.events import (
    AnswerSentBack,
    CallAdmitted,
    CallAnswered,
    CallRefused,
    Event,
    LifeStarted,
    Record,
    RowDone,
    RowMissing,
    RowRequeued,
    RowScheduled,
    ToolsRan,
    TurnsKept,
)
from fanout.words.model import MissingKind, Need, RowId, RowSpec, Usage

PAID = Usage(10, 20, 30, 40)


class Told:
    """Writes a run's journal from facts."""

    def __init__(self, runs: Path, token: str, **changes: Any) -> None:
        fresh = changes.pop("fresh", False)
        self.said: dict[str, Any] = {
            "script": "/w/audit.py",
            "endpoint": "https://api",
            "simulated": False,
            **changes,
        }
        numbers = {"aaaa": 1.0, "bbbb": 2.0, "cccc": 3.0}
        self.folder = create_run(
            runs,
            arguments=(),
            version="0",
            now=numbers[token],
            token=lambda: token,
            **self.said,
        )
        self.said["fresh"] = fresh
        self.records: list[Record] = []
        self.lives = 0
        self.calls = 0
        self.life()
        self.said["fresh"] = False

    @property
    def run(self) -> str:
        return self.folder.name

    def tell(self, *events: Event) -> "Told":
        for event in events:
            self.records.append(Record(len(self.records) + 1, self.lives, 1.0, event))
        write_segments(self.folder, self.records)
        return self

    def life(self) -> "Told":
        self.lives += 1
        return self.tell(
            LifeStarted(
                run=self.run,
                life=self.lives,
                arguments=(),
                model="m",
                version="0",
                pid=1,
                **self.said,
            )
        )

    def ask(self, key: str, mark: str = "1:f", phase: str = "audit") -> RowId:
        row = RowId(phase, key)
        spec = RowSpec(
            kind="agent",
            model="m",
            pool="p",
            fingerprint=mark,
            max_tokens=9,
            max_turns=9,
            estimate=9,
        )
        self.tell(RowScheduled(row=row, spec=spec, opening={}))
        return row

    def turn(self, row: RowId, text: str, **files: dict[str, str]) -> "Told":
        self.calls += 1
        need = Need(1, 1, 1)
        self.tell(
            CallAdmitted(row=row, call=self.calls, turn=1, pool="p", need=need),
            CallAnswered(
                row=row,
                call=self.calls,
                usage=PAID,
                stop_reason="tool_use",
                answer=[text],
            ),
        )
        return self.tell(ToolsRan(row=row, turn=1, results=[f"ran {text}"], **files))

    def done(
        self,
        key: str,
        value: object,
        mark: str = "1:f",
        phase: str = "audit",
        **more: Any,
    ) -> "Told":
        row = self.ask(key, mark, phase)
        return self.tell(RowDone(row=row, value=value, **more))


@pytest.fixture
def index(tmp_path: Path) -> Callable[..., Reuse]:
    def find(current: Told | None = None, **changes: Any) -> Reuse:
        said = {
            "script": "/w/audit.py",
            "endpoint": "https://api",
            "simulated": False,
            **changes,
        }
        return find_reusable(
            tmp_path, current=None if current is None else current.folder, **said
        )

    return find


def test_a_run_that_has_only_begun_serves_no_row_of_its_own(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    Told(tmp_path, "aaaa").done("a", 1, "1:a")
    begun = Told(tmp_path, "bbbb").done("b", 2, "1:b")
    reuse = index(begun=begun.folder)
    assert reuse.results == 1
    assert values(reuse, ("1:a", "a"), ("1:b", "b")) == [1, None]


def values(reuse: Reuse, *asked: tuple[str, str]) -> list[object]:
    taken = (reuse.take(mark, key) for mark, key in asked)
    return [None if one is None else one.load_value() for one in taken]


def answer(text: str) -> dict[str, object]:
    return {
        "kind": "answer",
        "content": [text],
        "stop_reason": "tool_use",
        "usage": PAID.as_dict(),
    }


def results(text: str) -> dict[str, object]:
    return {"kind": "results", "content": [f"ran {text}"]}


def test_a_result_is_found_by_content_in_any_order(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = (
        Told(tmp_path, "aaaa")
        .done("a", 1, "1:a")
        .done("b", 2, "1:b", output="b.json", sha256="00", size=3)
    )
    reuse = index()
    assert (reuse.results, reuse.runs) == (2, (told.run,))
    found = reuse.take("1:b", "b")
    assert found is not None
    assert (found.run, found.output, found.sha256, found.size) == (
        told.run,
        "b.json",
        "00",
        3,
    )
    assert values(reuse, ("1:a", "renamed"), ("1:a", "a"), ("1:x", "a")) == [
        1,
        None,
        None,
    ]


def test_one_result_serves_one_row(tmp_path: Path, index: Callable[..., Reuse]) -> None:
    """Best of three stays three, and each key gets its own back."""
    told = Told(tmp_path, "aaaa")
    for key in ("draft/1", "draft/2", "draft/3"):
        told.done(key, key)
    asked = [("1:f", "draft/3"), ("1:f", "draft/1"), ("1:f", "new"), ("1:f", "draft/9")]
    assert values(index(), *asked) == ["draft/3", "draft/1", "draft/2", None]


def test_without_the_key_the_nth_takes_the_nth_as_they_were_asked_for(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    rows = [told.ask(f"call-{n}") for n in range(3)]
    for row in reversed(rows):
        told.tell(RowDone(row=row, value=row.key))
    asked = [("1:f", f"other-{n}") for n in range(3)]
    assert values(index(), *asked) == ["call-0", "call-1", "call-2"]


def test_this_runs_results_come_first_then_the_newest(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    current = Told(tmp_path, "aaaa").done("a", "current")
    Told(tmp_path, "bbbb").done("a", "older")
    Told(tmp_path, "cccc").done("a", "newest")
    assert values(index(current), *[("1:f", "a")] * 4) == [
        "current",
        "newest",
        "older",
        None,
    ]


def test_what_was_done_afresh_is_the_one_taken(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa").done("a", "old").life().done("a", "fresh")
    assert values(index(told), ("1:f", "a")) == ["fresh"]


@pytest.mark.parametrize(
    "change",
    [{"script": "/w/other.py"}, {"endpoint": "https://x"}, {"simulated": True}],
    ids=str,
)
def test_nothing_crosses_scripts_or_accounts(
    tmp_path: Path, index: Callable[..., Reuse], change: dict[str, Any]
) -> None:
    Told(tmp_path, "aaaa").done("a", 1)
    assert index(**change).results == 0


def test_a_result_taken_over_is_no_second_one(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    first = Told(tmp_path, "aaaa").done("a", "paid")
    Told(tmp_path, "bbbb").done("a", "paid", reused_from=first.run).life().done(
        "a", "paid", reused_from=first.run
    )
    Told(tmp_path, "cccc").done("a", "paid", reused_from=first.run)
    assert index().results == 1
    for path in (
        first.folder / "manifest.json",
        first.folder / "journal" / "00001.jsonl",
    ):
        path.unlink()
    reuse = index()
    found = reuse.take("1:f", "a")
    assert found is not None
    assert (found.run, found.load_value()) == (first.run, "paid")


def test_a_result_of_this_runs_earlier_life_counts_once(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa").done("a", 1).life()
    told.done("a", 1, reused_from=told.run)
    assert index(told).results == 1


def test_a_stale_result_is_not_reused(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa").done("sum", "from a hole")
    told.tell(
        RowMissing(
            row=RowId("audit", "sum"), kind=MissingKind.STALE, reason="made without a"
        )
    )
    assert index().results == 0


def test_a_key_with_other_content_has_changed(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    Told(tmp_path, "aaaa").done("a", 1, "1:old").done("b", 1, "1:b")
    reuse = index()
    assert reuse.take("1:new", "a") is None
    again = reuse.again(RowId("audit", "a"), "1:new", {"prompt": "p"})
    assert again == "the files or tools it is given changed"
    assert reuse.take("1:b", "b") is not None
    assert reuse.take("1:b", "b") is None
    assert reuse.again(RowId("audit", "b"), "1:b", {}) == USED_UP
    assert not reuse.again(RowId("audit", "never"), "1:x", {})
    # A key is a label within its phase: another phase's row is another row.
    assert not reuse.again(RowId("other", "a"), "1:new", {})


def test_a_conversation_is_kept_from_its_first_entry_to_its_last(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "one", files_read={"/src/a": "11"}).turn(
        row, "two", files_written={"/src/b": "22"}
    )
    told.tell(
        AnswerSentBack(row=row, problem="no such field"),
        CallAdmitted(row=row, call=9, turn=3, pool="p", need=Need(1, 1, 1)),
        CallRefused(
            row=row, call=9, cause="429 limit", status=429, message="", until=None
        ),
    )
    reuse = index()
    kept = reuse.partial("1:f", "a")
    assert kept is not None
    correction = {"kind": "correction", "problem": "no such field"}
    assert kept.entries == (
        answer("one"),
        results("one"),
        answer("two"),
        results("two"),
        correction,
    )
    assert (kept.run, kept.files_read, kept.files_written) == (
        told.run,
        {"/src/a": "11"},
        {"/src/b": "22"},
    )
    assert kept.usage == PAID + PAID
    assert reuse.partial("1:f", "a") is None
    assert index().partial("1:f", "b") is None
    assert index().partial("1:g", "a") is None


def test_a_life_killed_before_it_went_on_loses_no_turn(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    told.turn(told.ask("a"), "one").life().ask("a")
    told.life().ask("a")
    kept = index(told).partial("1:f", "a")
    assert kept is not None
    assert kept.entries == (answer("one"), results("one"))


def test_turns_that_were_gone_on_with_are_one_conversation(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "one", files_read={"/src/a": "11"}).life().ask("a")
    told.tell(
        TurnsKept(row=row, source=told.run, entries=(answer("one"), results("one")))
    ).turn(row, "two")
    later = Told(tmp_path, "bbbb")
    later.ask("a")
    entries = (answer("one"), results("one"), answer("two"), results("two"))
    later.tell(TurnsKept(row=row, source=told.run, entries=entries)).turn(row, "three")
    reuse = index()
    kept = reuse.partial("1:f", "a")
    assert kept is not None
    assert kept.entries == (*entries, answer("three"), results("three"))
    assert kept.files_read == {"/src/a": "11"}
    assert kept.usage == PAID
    assert reuse.partial("1:f", "a") is None


@pytest.mark.parametrize("checkpoints", [False, True])
def test_what_another_runs_turns_have_seen_is_seen_through_all_lives(
    tmp_path: Path, index: Callable[..., Reuse], *, checkpoints: bool
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "one", files_read={"/src/a": "11"})
    later = Told(tmp_path, "bbbb")
    later.ask("a")
    entries = (answer("one"), results("one"))
    later.tell(TurnsKept(row=row, source=told.run, entries=entries))
    later.turn(row, "two", files_written={"/src/b": "22"}).life().ask("a")
    entries += (answer("two"), results("two"))
    later.tell(TurnsKept(row=row, source=later.run, entries=entries))
    if checkpoints:
        for one in (told, later):
            assert write_checkpoint(one.folder, records_min=1)
    kept = index().partial("1:f", "a")
    assert kept is not None
    assert (kept.run, kept.entries) == (later.run, entries)
    assert (kept.files_read, kept.files_written) == ({"/src/a": "11"}, {"/src/b": "22"})
    assert kept.usage == PAID


def test_a_fresh_requeue_forgets_the_turns(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "one").tell(RowMissing(row=row, kind=MissingKind.INVALID, reason=""))
    assert index().partials == 1
    told.tell(RowRequeued(row=row, fresh=True))
    assert index().partials == 0


def test_a_done_row_leaves_no_conversation(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "one").tell(RowDone(row=row, value=1))
    reuse = index()
    assert (reuse.results, reuse.partials) == (1, 0)
    found = reuse.take("1:f", "a")
    assert found is not None
    assert found.usage == PAID


def test_a_payload_that_was_damaged_is_not_reused_and_said(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    journal = Journal(told.folder, life=1, last_seq=1)
    journal.start()
    spec = RowSpec(
        kind="agent",
        model="m",
        pool="p",
        fingerprint="1:f",
        max_tokens=9,
        max_turns=9,
        estimate=9,
    )
    for key in ("a", "b"):
        row = RowId("audit", key)
        journal.append(RowScheduled(row=row, spec=spec, opening={}), 1.0)
        journal.append(RowDone(row=row, value=key * 70_000), 1.0)
    journal.close()
    assert values(index(), ("1:f", "b")) == ["b" * 70_000]
    for blob in (told.folder / "blobs").glob("*/*"):
        blob.write_bytes(b"x")
    reuse = index()
    assert values(reuse, ("1:f", "b")) == [None]
    assert len(reuse.notes) == 2
    assert "audit/b cannot be reused: payload" in reuse.notes[0]


def test_a_damaged_journal_is_said(tmp_path: Path, index: Callable[..., Reuse]) -> None:
    told = (
        Told(tmp_path, "aaaa")
        .done("a", 1, "1:a")
        .done("b", 2, "1:b")
        .done("c", 3, "1:c")
    )
    path = told.folder / "journal" / "00001.jsonl"
    data = path.read_bytes().replace(b'["audit","b"]', b'["audit","B"]', 1)
    path.write_bytes(data)
    reuse = index()
    assert reuse.results == 1
    assert "is damaged" in reuse.notes[0]


def test_why_a_row_runs_again_is_said_by_what_it_was_last(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    old = Told(tmp_path, "aaaa").done("a", 1, "1:a").done("b", 1, "1:b")
    row = old.ask("c", "1:c")
    old.tell(RowMissing(row=row, kind=MissingKind.TRUNCATED, reason="cut"))
    old.ask("d", "1:d")
    now = Told(tmp_path, "bbbb")
    now.ask("new", "1:new")
    reuse = index(now)

    def why(key: str, mark: str) -> str:
        return reuse.again(RowId("audit", key), mark, {})

    assert why("c", "1:c") == "it was missing: truncated"
    assert why("d", "1:d") == "it was missing: interrupted"
    # What this life has just asked for is no earlier work.
    assert why("new", "1:new") == ""
    now.life()
    assert index(now).again(RowId("audit", "new"), "1:new", {}).endswith("interrupted")


def test_what_of_an_opening_changed_is_named_also_from_beside_the_journal(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    large = {"prompt": "p", "inputs": "x" * 200_000}
    for token, opening in (("aaaa", large), ("bbbb", {"prompt": "p", "inputs": "x"})):
        told = Told(tmp_path, token)
        row = told.ask(token, f"1:{token}")
        scheduled = told.records.pop()
        assert isinstance(scheduled.event, RowScheduled)
        told.tell(replace(scheduled.event, opening=opening))
        told.tell(RowDone(row=row, value=1))
    reuse = index()
    for key in ("aaaa", "bbbb"):
        other = {"prompt": "p", "inputs": "y"}
        assert reuse.again(RowId("audit", key), "1:z", other) == "its inputs changed"


def test_earlier_runs_teach_what_agents_use(
    tmp_path: Path, index: Callable[..., Reuse]
) -> None:
    told = Told(tmp_path, "aaaa")
    row = told.ask("a")
    told.turn(row, "t").tell(RowDone(row=row, value=1))
    sample = index().experience.samples[Name("audit", "m")]
    assert (sample.count, sample.sums[Use.CACHE_READ]) == (1, 30)
