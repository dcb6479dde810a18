"""Tables that are not as they should be: what is no row is said, and costs no other."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fanout.errors import UsageError
from fanout.script.parts.partition import Partitions, partition

LIMIT = 500
HEADER = "id,name,text\n"


def rows(count: int, strays: set[int], more: str = "text") -> str:
    return HEADER + "".join(
        f"{n},{chr(34) if n in strays else ''}name {n},{more}\n" for n in range(count)
    )


def lines_of(parts: Partitions, path: Path) -> Iterator[str]:
    data = path.read_bytes()
    for part in parts:
        for piece in part.pieces[1:]:
            yield from data[piece.offset :][: piece.bytes].decode().splitlines()


@pytest.mark.parametrize(
    ("strays", "more"),
    [
        ({10}, "text"),
        ({999}, "text"),
        ({0, 999}, "text"),
        ({10, 500}, "text"),
        ({10, 11, 12, 500}, "text"),
        ({10}, "text " * 100),
        ({7, 300}, '"quoted, and ""more"""'),
    ],
)
def test_a_quote_that_stands_alone_costs_its_own_row(
    tmp_path: Path, strays: set[int], more: str
) -> None:
    path = tmp_path / "t.csv"
    text = rows(1000, strays, more)
    path.write_text(text)
    parts = partition(path, max_tokens=LIMIT)
    assert {s.path for s in parts.skipped} == {f"{path}:{n + 2}" for n in strays}
    assert all("a quote in this row stands alone" in s.reason for s in parts.skipped)
    good = [row for n, row in enumerate(text.splitlines()[1:]) if n not in strays]
    assert list(lines_of(parts, path)) == good


def test_cells_over_lines_stay_whole_behind_a_bad_row(tmp_path: Path) -> None:
    chance = Random(5)
    path = tmp_path / "t.csv"
    made = io.StringIO()
    for n in range(300):
        cell = "\n".join(["one", 'with "quotes"', "", "more"][: chance.randrange(1, 5)])
        if n % 50 == 7:
            made.write(f'{n},"open\n')
        csv.writer(made, quoting=csv.QUOTE_ALL).writerow([n, cell])
    path.write_text(HEADER + made.getvalue(), newline="")
    parts = partition(path, max_tokens=LIMIT, key="id")
    assert len(parts.skipped) == 6
    read = "".join(
        path.read_bytes()[p.offset : p.offset + p.bytes].decode()
        for part in parts
        for p in part.pieces[1:]
    )
    assert [row[0] for row in csv.reader(io.StringIO(read))] == [
        str(n) for n in range(300)
    ]


def test_what_stands_behind_a_closing_quote_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,name\n1,"5"" pipe"x\n2,5" pipe\n3,"a" b\n')
    parts = partition(path, max_tokens=LIMIT)
    assert parts.skipped == ()
    assert len(list(lines_of(parts, path))) == 3


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'"id,name\n1,a\n2,b\n', "a quote in this row stands alone"),
        (b"id,name\r1,a\r2,b\r", "lines end in CR alone"),
        ("id,n\u00e4me\n1,a\n".encode("latin-1"), "not UTF-8 (byte 0xe4)"),
        (b"x" * 2_000_000 + b",id\n1,2\n", "field limit"),
        ("id,name\n1,a\n".encode("utf-16"), "is UTF-16"),
    ],
)
def test_a_table_without_a_header_that_can_be_read_is_an_error(
    tmp_path: Path, data: bytes, said: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        partition(path, max_tokens=LIMIT)
    assert said in str(caught.value)
    assert caught.value.hint


def test_json_lines_of_another_encoding_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": 1}\n{"id": 2}\n', "utf-16")
    with pytest.raises(UsageError, match="is UTF-16"):
        partition(path, max_tokens=LIMIT)
