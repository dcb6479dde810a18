"""Files of records and ready-made lists into partitions, and narrowing."""

import csv
import io
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fanout.errors import FanoutError, UsageError
from fanout.script.inputs import render as render_inputs
from fanout.script.parts.partition import Partitions, partition, render

LIMIT = 400


def rows(count: int) -> list[dict[str, object]]:
    chance = Random(3)
    return [
        {"id": f"c{n:04}", "text": "word " * chance.randrange(1, 40)}
        for n in range(count)
    ]


def jsonl(path: Path, made: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in made), "utf-8")
    return path


def shown(parts: Partitions) -> str:
    return "".join(
        line + "\n"
        for part in parts
        for line in render(part, inline=True).splitlines()
        if not line.startswith(("<file", "</file"))
    )


def test_json_lines_are_packed_in_order_and_whole(tmp_path: Path) -> None:
    made = rows(200)
    path = jsonl(tmp_path / "rows.jsonl", made)
    parts = partition(path, max_tokens=LIMIT)
    assert len(parts) > 5
    assert all(part.tokens <= LIMIT for part in parts)
    assert shown(parts) == path.read_text("utf-8")
    assert len({part.key for part in parts}) == len(parts)
    assert all(part.key.startswith("rows.jsonl-") for part in parts)
    assert parts.skipped == ()
    assert list(partition(str(path), max_tokens=LIMIT)) == list(parts)


def test_a_key_names_records_and_keeps_boundaries(tmp_path: Path) -> None:
    made = rows(300)
    path = jsonl(tmp_path / "rows.jsonl", made)
    before = partition(path, max_tokens=LIMIT, key="id")
    assert before[0].key == "rows.jsonl-c0000"
    by_function = partition(path, max_tokens=LIMIT, key=lambda row: row["id"])
    assert list(by_function) == list(before)
    made[150]["text"] = str(made[150]["text"])[:-5] + "other"
    after = partition(jsonl(path, made), max_tokens=LIMIT, key="id")
    assert [part.key for part in after] == [part.key for part in before]
    assert sum(a.digest != b.digest for a, b in zip(after, before, strict=True)) == 1


def test_an_added_record_changes_few_partitions(tmp_path: Path) -> None:
    made = rows(2_000)
    before = {p.digest for p in partition(jsonl(tmp_path / "a.jsonl", made), max_tokens=2_000)}  # fmt: skip
    chance = Random(9)
    changed = []
    for _ in range(25):
        more = made[:]
        more.insert(chance.randrange(len(more)), {"id": "new", "text": "word " * 20})
        after = {p.digest for p in partition(jsonl(tmp_path / "a.jsonl", more), max_tokens=2_000)}  # fmt: skip
        changed.append(len(after - before))
    assert statistics.median(changed) <= 2
    assert sum(count <= 2 for count in changed) >= 20
    assert max(changed) <= 4


def test_lines_that_are_no_records_are_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_bytes(b'{"a": 1}\n\nnot json\n{"b": "\xff"}\n[2]\n{"c": 3}')
    parts = partition(path, max_tokens=LIMIT)
    assert shown(parts) == '{"a": 1}\n[2]\n{"c": 3}\n'
    assert [skipped.path for skipped in parts.skipped] == [f"{path}:3", f"{path}:4"]
    assert "not JSON" in parts.skipped[0].reason
    path.write_text("x\n" * 500)
    with pytest.raises(UsageError, match="nothing to partition") as caught:
        partition(path, max_tokens=LIMIT)
    assert caught.value.hint is not None
    assert "101 skipped" in caught.value.hint


def test_a_table_keeps_its_header_and_rows_over_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["name", "note"])
    notes = [f"line one of {n}\nline two, with a comma" for n in range(120)]
    writer.writerows([f"n{n}", note] for n, note in enumerate(notes))
    path.write_text(text.getvalue(), "utf-8", newline="")
    parts = partition(path, max_tokens=LIMIT, key="name")
    assert len(parts) > 4
    found: list[list[str]] = []
    for part in parts:
        assert part.tokens <= LIMIT
        assert (part.pieces[0].start_line, part.pieces[0].end_line) == (1, 1)
        blocks = render(part, inline=True).split("</file>")
        inner = [block.split(">\n", 1)[1] for block in blocks if ">\n" in block]
        read = list(csv.reader(io.StringIO("".join(inner), newline="")))
        assert read[0] == ["name", "note"]
        assert part.key == f"table.csv-{read[1][0]}"
        found += read[1:]
    assert [row[1] for row in found] == notes


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_other_separators_are_noticed(tmp_path: Path, mark: str) -> None:
    path = tmp_path / ("t.tsv" if mark == "\t" else "t.csv")
    lines = [mark.join(["id", "b"]), *(mark.join([f"k{n}", "x"]) for n in range(5))]
    path.write_text("\ufeff" + "\n".join(lines), "utf-8")
    (part,) = partition(path, max_tokens=LIMIT, key="id")
    assert part.key == f"{path.name}-k0"


def test_narrowing_leaves_out_and_says_how_much(tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"f{n:02}.py").write_text(f"x = {n}\n# open(path)\n" if n % 3 == 0 else "y\n")  # fmt: skip
    parts = partition(tmp_path, "*.py", max_tokens=1000, containing=r"\bopen\(")
    assert sorted(p.path for part in parts for p in part.pieces) == [
        f"f{n:02}.py" for n in range(0, 30, 3)
    ]
    assert "10 of 30 files contain `\\bopen\\(`" in parts.plan
    with pytest.raises(UsageError) as caught:
        partition(tmp_path, "*.py", max_tokens=1000, containing=["nowhere", "^z"])
    assert caught.value.hint == "0 of 30 files contain `nowhere` or `^z`"
    path = jsonl(tmp_path / "r.jsonl", rows(60))
    some = partition(path, max_tokens=LIMIT, containing="c00[13]5")
    assert shown(some).count("\n") == 4 - 2
    assert "2 of 60 records contain `c00[13]5`" in some.plan
    assert len(some[0].pieces) == 2


@pytest.mark.parametrize("wrong", ["(", "", [""], [3], 7])
def test_a_pattern_that_is_none_is_an_error(tmp_path: Path, wrong) -> None:
    (tmp_path / "a.py").write_text("x")
    with pytest.raises(UsageError, match=r"pattern|expression") as caught:
        partition(tmp_path, "*.py", max_tokens=1000, containing=wrong)
    assert caught.value.hint


class Document(BaseModel):
    name: str
    body: str


@dataclass
class Ticket:
    number: int


def test_a_list_of_anything_keeps_its_items() -> None:
    items = [Document(name=f"d{n}", body="word " * 30) for n in range(40)]
    parts = partition(items, max_tokens=LIMIT, key=lambda item: item.name)
    assert [item for part in parts for item in part.items] == items
    assert all(part.tokens <= LIMIT for part in parts)
    assert parts[0].key == "items-d0"
    text = render_inputs(parts[0]).text
    assert '<item key="d0">\n{"name": "d0"' in text
    assert f"{len(parts)} partitions of 40 items" in repr(parts)
    mixed = ["text", {"a": 1}, Ticket(3), 5, None, ["x"]]
    (part,) = partition(iter(mixed), max_tokens=LIMIT)
    assert part.items == tuple(mixed)
    assert '{"number": 3}' in part.text


def test_what_is_no_list_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for source, pattern in [
        ({"a": 1}, None), (b"bytes", None), (7, None), (["a"], "*.py"), ([], None),
        (tmp_path / "x", None), (tmp_path / "nothing.csv", None), ("no such", None),
        ([b"x"], None), ([object()], None),
    ]:  # fmt: skip
        with pytest.raises(UsageError) as caught:
            partition(source, pattern, max_tokens=LIMIT)
        assert caught.value.hint
    with pytest.raises(UsageError, match="key="):
        partition(["a"], max_tokens=LIMIT, key="name")
    with pytest.raises(UsageError, match="key="):
        partition(tmp_path, "*", max_tokens=LIMIT, key="name")


def test_a_plain_file_is_cut_like_one_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text("".join(f"{n} something happened\n" for n in range(400)))
    parts = partition(path, max_tokens=LIMIT)
    assert shown(parts) == path.read_text()
    link = tmp_path / "link.log"
    link.symlink_to(path)
    assert [p.digest for p in partition(link, max_tokens=LIMIT)] == [p.digest for p in parts]  # fmt: skip


def test_a_record_that_changed_is_noticed(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", rows(100))
    parts = partition(path, max_tokens=LIMIT)
    data = bytearray(path.read_bytes())
    data[parts[2].pieces[0].offset + 9] ^= 1
    path.write_bytes(data)
    render(parts[0], inline=True)
    with pytest.raises(FanoutError, match="changed after it was partitioned"):
        render(parts[2], inline=True)


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=1, max_size=4),
        max_size=30,
    )
)  # fmt: skip
def test_any_table_comes_back_as_it_was(tmp_path_factory, table) -> None:
    folder = tmp_path_factory.mktemp("table")
    path = folder / "any.csv"
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *table])
    path.write_text(text.getvalue(), "utf-8", newline="")
    if not table:
        return
    parts = partition(path, max_tokens=150)
    data = path.read_bytes()
    whole = b"".join(
        data[piece.offset : piece.offset + piece.bytes]
        for part in parts
        for piece in part.pieces[1:]
    )
    assert data.startswith(b'"a","b"\r\n')
    assert data == b'"a","b"\r\n' + whole
