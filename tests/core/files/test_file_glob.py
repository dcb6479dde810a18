"""Patterns against paths, and walks through trees that do not end."""

import os
import time
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.files import glob as globbing
from fanout.files.glob import Glob, Walk
from fanout.files.safepath import Refused, Root
from fanout.files.tools import read_tools


def walked(root: Path, pattern: str) -> tuple[list[str], dict[str, str]]:
    skipped: dict[str, str] = {}
    walk = Walk(Glob(pattern), enter=lambda _: None, skip=skipped.__setitem__)
    return [found.path for found in walk.files(Root(root))], skipped


@pytest.mark.parametrize(
    ("pattern", "named", "others"),
    [
        ("**/*.py", ["a.py", "x/a.py", "x/y/a.py"], ["a.pyc", "x/py"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/x/y/test_a.py"], ["test_a.py"]),
        ("**", ["a", "a/b/c"], []),
        ("a/**", ["a/b", "a/b/c"], ["a", "b"]),
        ("**/x/**", ["x/a", "a/x/b/c"], ["a/b"]),
        ("./a//b", ["a/b"], ["a"]),
        ("{a,b}/{c,d}.py", ["a/c.py", "b/d.py"], ["a/b.py"]),
        ("[!a]?", ["bc"], ["ab", "b"]),
        ("*.{py,md}", ["a.py", "a.md"], ["x/a.py"]),
    ],
)
def test_what_patterns_name(pattern: str, named: list[str], others: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in named if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


names = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name.strip("."))


@given(
    st.lists(
        st.sampled_from(["a", "b", "*", "?", "a*", "*.b"]), min_size=1, max_size=3
    ),
    st.lists(names, min_size=1, max_size=3),
)
def test_without_stars_of_stars_it_is_what_pathlib_does(segments, path) -> None:
    whole = len(segments) == len(path)
    expected = whole and PurePosixPath("/".join(path)).match("/".join(segments))
    assert Glob("/".join(segments)).matches("/".join(path)) == expected


def test_no_pattern_takes_long() -> None:
    begun = time.monotonic()
    assert not Glob("*a" * 60 + "b").matches("a" * 250)
    assert not Glob("**/a/" * 80 + "b").matches("/".join(["a"] * 400))
    with pytest.raises(Refused):
        Glob("{a,b}" * 20)
    assert time.monotonic() - begun < 1


def test_a_walk_ends_in_a_tree_that_is_too_deep_or_too_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "deep"
    (deep / "/".join("d" * 70)).mkdir(parents=True)
    (deep / "/".join("d" * 70) / "x").touch()
    (deep / "d" / "y").touch()
    before = len(os.listdir("/dev/fd")) if Path("/dev/fd").exists() else 0  # noqa: PTH208
    paths, skipped = walked(deep, "**/*")
    assert paths == ["d/y"]
    assert list(skipped.values()) == ["more than 64 folders deep"]
    assert before in {0, len(os.listdir("/dev/fd"))}  # noqa: PTH208
    for number in range(20):
        (tmp_path / f"{number:02}").touch()
    monkeypatch.setattr(globbing, "MAX_ENTRIES", 10)
    walk = Walk(Glob("*"), enter=lambda _: None)
    assert len(list(walk.files(Root(tmp_path)))) == 10
    assert walk.cut
    listed = read_tools(tmp_path)[1].call({"pattern": "*"}).content
    assert "narrow the pattern]" in listed


def test_a_name_that_is_no_unicode_is_not_handed_out(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"bad-\xff.py")).touch()
    except OSError:
        pytest.skip("this disk takes no such names")
    (tmp_path / "good\u00e9.py").touch()
    paths, skipped = walked(tmp_path, "*.py")
    assert paths == ["good\u00e9.py"]
    assert skipped == {"bad-\ufffd.py": "no UTF-8 name"}
