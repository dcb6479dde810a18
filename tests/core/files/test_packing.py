"""Packing: everything once, within the bound, and stable when one file changes."""

import hashlib
import re
import string
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.decide.parts import tokens
from fanout.decide.parts.packing import Partition, Piece, pack
from fanout.decide.parts.slices import count_lines, slices
from fanout.decide.parts.tokens import estimate_tokens, kind_of

LIMIT = 1000

names = st.sampled_from(["a", "b", "c", "A", "a-b", "é", "x y", ".h", "__init__.py"])
paths = st.lists(names | st.text(string.ascii_lowercase, min_size=1, max_size=3), min_size=1, max_size=4)  # fmt: skip
sizes = st.integers(1, LIMIT) | st.integers(1, 30) | st.just(LIMIT)


def files_of(made: Iterable[tuple[list[str], int]]) -> dict[str, int]:
    """Paths to tokens, without one that is a folder of another."""
    files = {"/".join(path): size for path, size in made}
    return {
        path: size
        for path, size in files.items()
        if not any(other.startswith(f"{path}/") for other in files)
    }


trees = st.lists(st.tuples(paths, sizes), min_size=1, max_size=60).map(files_of)


def piece(path: str, size: int) -> Piece:
    return Piece(
        path=path,
        start_line=1,
        end_line=1,
        whole=True,
        bytes=size * 3,
        tokens=size,
        digest=hashlib.sha256(f"{path} {size}".encode()).hexdigest(),
    )


def packed(files: dict[str, int]) -> list[Partition]:
    pieces = [piece(path, size) for path, size in files.items()]
    return pack(pieces, root="/r", max_tokens=LIMIT)


def shares(parts: list[Partition]) -> set[tuple[str, ...]]:
    """What each partition is but its key: its files and their content."""
    return {tuple(sorted(p.digest for p in part.pieces)) for part in parts}


def check(files: dict[str, int], parts: list[Partition]) -> None:
    assert sorted(p.path for part in parts for p in part.pieces) == sorted(files)
    assert all(part.tokens <= LIMIT for part in parts)
    assert all(part.tokens == sum(p.tokens for p in part.pieces) for part in parts)
    keys = [part.key for part in parts]
    assert len({key.casefold() for key in keys}) == len(keys)
    for key in keys:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,110}", key), key
    assert parts == sorted(parts, key=lambda part: part.pieces[0].path)


@given(trees)
def test_every_file_is_in_one_partition_of_the_right_size(
    files: dict[str, int],
) -> None:
    check(files, packed(files))


@given(trees, st.randoms(use_true_random=False))
def test_the_order_of_the_files_does_not_matter(files, random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)
    assert packed(dict(shuffled)) == packed(files)


@given(trees, st.data())
@settings(max_examples=300)
def test_one_edit_touches_one_partition_or_what_that_falls_into(files, data) -> None:
    """One side of the change is a single partition, whatever the edit.

    Growing: the one that held the file stays or falls into several. Shrinking:
    several become one at most. So never more than one old partition is redone
    for a growing file, nor more than one new one made for a shrinking file.
    """
    path = data.draw(st.sampled_from(sorted(files)))
    size = data.draw(sizes)
    before, after = shares(packed(files)), shares(packed(files | {path: size}))
    gone, new = before - after, after - before
    if size == files[path]:
        assert not gone
        assert not new
    elif size > files[path]:
        assert len(gone) == 1
        assert sum(_tokens_in(files | {path: size}, new)) <= LIMIT + size
    else:
        assert len(new) == 1
        assert sum(_tokens_in(files, gone)) <= LIMIT + files[path]


def _tokens_in(files: dict[str, int], parts: set[tuple[str, ...]]) -> list[int]:
    by_digest = {piece(path, size).digest: size for path, size in files.items()}
    return [sum(by_digest[digest] for digest in part) for part in parts]


@given(trees, paths, sizes)
@settings(max_examples=300)
def test_one_added_file_touches_one_partition_at_most(files, path, size) -> None:
    more = files_of([(known.split("/"), held) for known, held in files.items()] + [(path, size)])  # fmt: skip
    if len(more) != len(files) + 1:
        return
    before, after = shares(packed(files)), shares(packed(more))
    assert len(before - after) <= 1
    fewer = {known: held for known, held in more.items() if known != "/".join(path)}
    assert shares(packed(fewer)) == before


@given(trees, st.data())
def test_an_edit_of_the_same_size_changes_one_digest_and_no_key(files, data) -> None:
    path = data.draw(st.sampled_from(sorted(files)))
    pieces = [piece(known, size) for known, size in files.items()]
    edited = [replace(p, digest="f" * 64) if p.path == path else p for p in pieces]
    before = pack(pieces, root="/r", max_tokens=LIMIT)
    after = pack(edited, root="/elsewhere", max_tokens=LIMIT)
    assert [part.key for part in before] == [part.key for part in after]
    changed = [a for a, b in zip(before, after, strict=True) if a.digest != b.digest]
    assert len(changed) == 1


def test_neighbours_share_a_partition_and_keys_tell_where_they_are() -> None:
    files = {
        f"{top}/{sub}/{n}.py": 90 for top in "pq" for sub in "xy" for n in range(6)
    }
    parts = packed(files)
    assert {part.key for part in parts} == {"p-x", "p-y", "q-x", "q-y"}
    one = packed({"README.md": 10})
    assert [part.key for part in one] == ["README.md"]
    assert [part.key for part in packed({"a.py": 10, "b.py": 10})] == ["all"]


def test_keys_that_would_clash_get_a_hash_each() -> None:
    files = {"a-b/c": 900, "a-b/d": 900, "a/b-C": 900, "a/x": 900, "ü": 900, "ö": 900}
    parts = packed(files)
    check(files, parts)
    hashed = {
        part.pieces[0].path
        for part in parts
        if re.search(r"(^|-)[0-9a-f]{8}$", part.key)
    }
    assert hashed == {"a-b/c", "a/b-C", "ü", "ö"}
    (long,) = packed({"x" * 200 + "/" + "y" * 50: 5})
    assert len(long.key) <= 110


@given(
    st.lists(st.sampled_from([b"x = 1", b"", b"def f():", b"    y", b"\r", b"# head", b"@d"])),
    st.integers(5, 60),
    st.booleans(),
)  # fmt: skip
def test_slices_are_the_file_in_whole_lines(lines, room, ended) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    cut = list(slices(data, room))
    assert b"".join(part.data for part in cut) == data
    at = 0
    for part in cut:
        assert part.start_line == at + 1
        at = part.end_line
        assert count_lines(part.data) == part.end_line - part.start_line + 1
        assert len(part.data) <= room or part.start_line == part.end_line
    assert at == count_lines(data)


def test_slices_begin_where_something_begins() -> None:
    body = "".join(f"    line_{n} = {n}\n" for n in range(12))
    text = "".join(f"@mark\ndef f{n}():\n{body}\n" for n in range(30)).encode()
    cut = list(slices(text, 2000))
    assert len(cut) > 3
    for part in cut:
        assert part.data.startswith(b"@mark\n")
        assert len(part.data) <= 2000


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.py", "code"), ("src/B.TSX", "code"), ("Makefile", "code"), ("a.md", "prose"),
        ("x/data.json", "json"), ("x.csv", "json"), ("LICENSE", "other"), ("a.b/c", "other"),
    ],
)  # fmt: skip
def test_the_kind_comes_from_the_name(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@given(st.text(max_size=200), st.sampled_from(sorted(tokens.BYTES_PER_TEN_TOKENS)))
def test_estimates_count_bytes_and_never_fall_with_more(text, kind) -> None:
    data = text.encode()
    assert estimate_tokens(text, kind) == estimate_tokens(data, kind)
    assert estimate_tokens(len(data), kind) == estimate_tokens(data, kind)
    assert (estimate_tokens(data, kind) == 0) == (not data)
    assert estimate_tokens(data + b"x", kind) >= estimate_tokens(data, kind)
    room = tokens.bytes_within(len(data) + 1, kind)
    assert (
        estimate_tokens(room, kind) <= len(data) + 1 < estimate_tokens(room + 1, kind)
    )
    assert estimate_tokens(3300, "code") == 1000


@pytest.mark.parametrize(
    ("file", "line", "named"),
    [
        ("a.py", "# that a program can't change them in a pass", ""),
        ("a.py", "    type that a program cannot change", ""),
        ("a.py", "    class of things, see below", ""),
        ("a.py", "    def name says", ""),
        ("a.py", "class Parser(Base):", "Parser"),
        ("a.py", "    class Inner:", "Inner"),
        ("a.pyi", "    async def read[T](self) -> T: ...", "read"),
        ("a.py", "type Pair[T] = tuple[T, T]", "Pair"),
        ("a.c", "# include <stdio.h>", ""),
        ("a.go", "type Reader interface {", "Reader"),
        ("a.rs", "pub fn read<T>() {", "read"),
        ("a.md", "## How it reads", "How-it-reads"),
        ("NOTES.TXT", "# Read me", "Read-me"),
    ],
)
def test_what_names_a_slice_is_a_definition_or_a_heading(
    file: str, line: str, named: str
) -> None:
    """And not what a comment or a docstring says."""
    # The second slice begins at this line: it stands alone after a blank one.
    text = "x\n" * 30 + "\n" + line + "\n" + "y\n" * 25
    cut = list(slices(text.encode(), 90, file))
    assert {part.name for part in cut} - {"start", ""} == ({named} if named else set())
