"""A reused row is done by what the disk holds, and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import INFO, Bench, order
from fanout.disk.reuse import Reuse
from fanout.files.safefile import sha256
from fanout.testing.memory_journal import MemoryJournal, harvest_of
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.commands import Requeue
from fanout.words.events import Noted, RowDone
from fanout.words.model import MissingKind, RowId
from fanout.world import messages as said

A = RowId("main", "a")
TEXT = order("a", output="o/a.txt")


def fits(data: bytes) -> Any:
    value = json.loads(data)
    if not isinstance(value, dict) or "colour" not in value:
        raise ValueError("colour: missing")
    return value


SCHEMA = order("a", output="o/a.json", schema={"type": "object"}, validate=fits)


def done_before(asked: Any, answer: str, out: Path) -> Bench:
    first = Bench(ScriptedApi(lambda *_: answered(answer)), out)
    first.schedule(asked)
    first.returns()
    assert first.run() == 0
    return first


def resumed(first: Bench, asked: Any, out: Path) -> Bench:
    """The next life of the same run."""
    records = [*first.earlier, *first.journal.records()]
    reuse, life = Reuse(), first.life + 1
    reuse.add([harvest_of(INFO.id, records)])
    second = Bench(
        ScriptedApi(lambda *_: answered()),
        out,
        earlier=reuse,
        state=first.state,
        journal=MemoryJournal(life=life, last_seq=first.state.seq),
    )
    second.life, second.earlier = life, records
    second.schedule(asked)
    second.returns()
    return second


def test_an_edited_one_that_counts_is_what_the_row_is_done_with(tmp_path: Path) -> None:
    first = done_before(SCHEMA, '{"colour": "red"}', tmp_path)
    edited = b'{"colour": "green", "by": "hand"}'
    (tmp_path / "o/a.json").write_bytes(edited)
    second = resumed(first, SCHEMA, tmp_path)
    assert second.run() == 0
    (outcome,) = second.ended[A]
    assert outcome.value == {"colour": "green", "by": "hand"}
    assert (tmp_path / "o/a.json").read_bytes() == edited
    end = second.state.rows[A].end
    assert end is not None
    assert (end.sha256, end.size) == (sha256(edited), len(edited))
    facts = [record.event for record in second.journal.records()]
    (done,) = [fact for fact in facts if isinstance(fact, RowDone)]
    assert done.value == {"colour": "green", "by": "hand"}
    notes = [fact.text for fact in facts if isinstance(fact, Noted)]
    assert any("taken for what it holds now" in text for text in notes)


@pytest.mark.parametrize(
    ("asked", "content", "kind"),
    [
        (TEXT, b"", MissingKind.NO_OUTPUT),
        (TEXT, b" \n\t", MissingKind.NO_OUTPUT),
        (TEXT, b"\xff\x00", MissingKind.NO_OUTPUT),
        (TEXT, b"API Error: 529 overloaded", MissingKind.INVALID),
        (SCHEMA, b"", MissingKind.NO_OUTPUT),
        (SCHEMA, b"garbage", MissingKind.INVALID),
        (SCHEMA, b"{}", MissingKind.INVALID),
    ],
)
def test_one_that_does_not_count_is_missing_and_left_alone(
    asked: Any, content: bytes, kind: MissingKind, tmp_path: Path
) -> None:
    first = done_before(asked, '{"colour": "red"}', tmp_path)
    path, useful = tmp_path / asked.output, first.state.totals.useful
    before = path.read_bytes()
    path.write_bytes(content)
    second = resumed(first, asked, tmp_path)
    assert second.run() == 3
    (outcome,) = second.ended[A]
    assert (outcome.done, outcome.kind) == (False, kind)
    assert "delete it and resume" in outcome.reason
    assert path.read_bytes() == content
    assert second.api.bodies == []
    path.unlink()
    third = resumed(second, asked, tmp_path)
    assert third.run() == 0
    assert third.api.bodies == []
    assert path.read_bytes() == before
    # It counts as useful again: nothing of it was paid for twice.
    assert third.state.totals.useful == useful
    assert third.state.totals.wasted.total == 0


def test_a_requeue_looks_again(tmp_path: Path) -> None:
    first = done_before(TEXT, "red", tmp_path)
    path = tmp_path / "o/a.txt"
    path.write_bytes(b"")
    second = resumed(first, TEXT, tmp_path)
    second.engine._linger = True

    def prepare() -> None:
        second.at(5.0, path.unlink)
        second.at(6.0, lambda: second.core.post(Requeue()))
        second.at(9.0, lambda: second.core.post(said.Close()))

    assert second.run(prepare) == 0
    assert [o.done for o in second.ended[A]] == [False, True]
    assert path.read_text() == "red"


def test_what_is_no_plain_file_is_not_written_over(tmp_path: Path) -> None:
    first = done_before(TEXT, "red", tmp_path)
    path = tmp_path / "o/a.txt"
    path.rename(tmp_path / "kept.txt")
    path.symlink_to(tmp_path / "kept.txt")
    second = resumed(first, TEXT, tmp_path)
    assert second.run() == 3
    assert path.is_symlink()


def test_a_reused_row_keeps_the_turns_it_was_done_in(tmp_path: Path) -> None:
    """Else each of its attempts would look like one that failed."""
    first = done_before(TEXT, "red", tmp_path)
    for _ in range(2):
        first = resumed(first, TEXT, tmp_path)
        assert first.run() == 0
        tally = first.state.rows[A].tally
        assert (tally.turns, tally.attempts) == (1, 1)
