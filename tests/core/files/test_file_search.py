"""Searches: what they find, and that no pattern holds anything up."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from fanout.files import read as reading
from fanout.files.safefile import Content, sha256
from fanout.files.search import search
from fanout.files.tools import read_tools


def content(text: str) -> Content:
    return Content(text.encode(), sha256(text.encode()))


@pytest.fixture
def grep(tmp_path: Path):
    tools = {tool.name: tool for tool in read_tools(tmp_path)}
    return lambda **arguments: tools["grep"].call(arguments)


def test_matches_come_in_order_with_the_digests_of_their_files() -> None:
    files = [
        ("a", content("x\nyes\r\nyes 2")),
        ("b", content("no")),
        ("c", content("yes")),
    ]
    found = search("y.s", files, limit=10)
    assert [(m.path, m.line, m.text.strip()) for m in found.matches] == [
        ("a", 2, "yes"),
        ("a", 3, "yes 2"),
        ("c", 1, "yes"),
    ]
    assert found.digests == {name: kept.sha256 for name, kept in (files[0], files[2])}
    assert not found.full
    assert found.stopped_at is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", r"^(\w+\s?)*$"])
def test_a_runaway_pattern_is_stopped_and_the_file_is_named(pattern: str) -> None:
    files = [("good", content("aab\n")), ("bad", content("a" * 60 + "!"))]
    files += [(f"more-{n}", content("a\n" * 50_000)) for n in range(20)]
    begun = time.monotonic()
    found = search(pattern, files, limit=1000, seconds=0.5)
    assert time.monotonic() - begun < 2
    assert found.stopped_at == "bad"
    assert {match.path for match in found.matches} <= {"good"}


def test_a_search_ends_when_enough_was_found() -> None:
    files = ((f"f{n}", content("hit\n" * 1000)) for n in range(10_000))
    found = search("hit", files, limit=5)
    assert len(found.matches) == 5
    assert found.full


def test_a_bad_pattern_is_said() -> None:
    found = search("(", [("a", content("x"))], limit=5)
    assert found.bad_pattern is not None
    assert "unterminated" in found.bad_pattern


def test_a_pattern_that_eats_memory_ends() -> None:
    found = search("(?:x{0,4000}){0,4000}", [("a", content("x"))], limit=5, seconds=2)
    assert found.matches or found.stopped_at or found.bad_pattern


def test_grep_searches_a_folder_a_file_or_all(tmp_path: Path, grep) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import os\nos.remove(x)\n")
    (tmp_path / "b.py").write_text("os.remove(y)\n")
    (tmp_path / "binary").write_bytes(b"os.remove\0")
    everything = grep(pattern=r"os\.remove")
    assert everything.content.splitlines() == [
        "b.py:1:os.remove(y)",
        "src/a.py:2:os.remove(x)",
        "[not searched: 1 file, binary or too large]",
    ]
    assert set(everything.files_read) == {
        str(tmp_path.resolve() / "b.py"),
        str(tmp_path.resolve() / "src" / "a.py"),
    }
    assert grep(pattern="remove", path="src").content == "src/a.py:2:os.remove(x)"
    assert grep(pattern="remove", path="b.py").content == "b.py:1:os.remove(y)"
    assert grep(pattern="nothing", path="src").content == "no matches"
    for bad in ({"pattern": "("}, {"pattern": ""}, {"pattern": "x", "path": "absent"}):
        assert grep(**bad).is_error
    assert grep(pattern="x", path="binary").is_error


def test_grep_says_when_it_stopped(tmp_path: Path, grep, monkeypatch) -> None:
    (tmp_path / "a").write_text("hit\n" * 30)
    monkeypatch.setattr(reading, "MAX_MATCHES", 10)
    lines = grep(pattern="hit").content.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "[stopped after 10 matches; narrow the search]"


def test_the_standard_library_is_searched_in_seconds() -> None:
    root = Path(subprocess.__file__).parent
    tools = {tool.name: tool for tool in read_tools(root)}
    begun = time.monotonic()
    result = tools["grep"].call({"pattern": r"def check_output\("})
    assert "subprocess.py:" in str(result.content)
    assert time.monotonic() - begun < 6


def test_the_child_brings_nothing_of_ours() -> None:
    child = Path(reading.__file__).with_name("search_child.py")
    assert "fanout" not in child.read_text().replace("fanout-", "")
    code = "import json,os,re,resource,sys; print(len(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True
    )
    assert int(out.stdout) < 120
