"""What the file tools answer, and what they say when they cut or refuse."""

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fanout.errors import UsageError
from fanout.files import read as reading
from fanout.files import specs
from fanout.files.tools import read_tools, write_output, write_tools
from fanout.words.tools import ToolResult

Run = Callable[..., ToolResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    tools = {tool.name: tool for tool in write_tools(tmp_path)}

    def call(tool: str, **arguments: object) -> ToolResult:
        return tools[tool].call(arguments)

    return call


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_root_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "missing", tmp_path / "file", "bad\0name"):
        with pytest.raises(UsageError) as caught:
            read_tools(root)
        assert caught.value.hint


def test_a_relative_root_is_resolved_when_the_tools_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("here\n")
    monkeypatch.chdir(tmp_path)
    read = read_tools(".")[0]
    monkeypatch.chdir("/")
    assert "here" in str(read.call({"file_path": "a.txt"}).content)


def test_read_numbers_lines_and_records_the_digest(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n\n\ty = 2\n")
    result = run("read", file_path="a.py")
    assert result.content == "     1\tx = 1\n     2\t\n     3\t\ty = 2"
    assert result.files_read == {str(path.resolve()): digest(path)}
    part = run("read", file_path="a.py", view_range=[2, 2])
    assert part.content == "     2\t\n[lines 2-2 of 3]"
    assert part.files_read == result.files_read
    assert run("read", file_path="a.py", view_range=[3, -1]).content.endswith("y = 2")


def test_read_cuts_by_lines_and_says_how_to_go_on(tmp_path: Path, run: Run) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    seen: list[str] = []
    start = 1
    while True:
        content = run(
            "read", file_path="long.txt", view_range=[start, -1]
        ).content.splitlines()
        numbered = [line for line in content if not line.startswith("[")]
        seen += [line.split("\t")[1] for line in numbered]
        if "go on" not in content[-1]:
            break
        start = int(content[-1].split("view_range=[")[1].split(",")[0])
    assert seen == [str(n) for n in range(1, 5001)]
    first = run("read", file_path="long.txt").content
    assert first.endswith("[lines 1-2000 of 5000; go on with view_range=[2001, -1]]")


def test_read_cuts_by_bytes_and_shortens_long_lines(tmp_path: Path, run: Run) -> None:
    (tmp_path / "wide.txt").write_text(("é" * 1900 + "\n") * 500)
    content = str(run("read", file_path="wide.txt").content)
    assert len(content.encode()) <= reading.MAX_BYTES + 100
    assert "go on with view_range=" in content
    (tmp_path / "one.txt").write_text("z" * 1_000_000)
    content = str(run("read", file_path="one.txt").content)
    assert len(content) < 2200
    assert content.endswith("[1,000,000 characters, shortened]")


@pytest.mark.parametrize("bad", [[1], [1, 2, 3], "1-2", [5, 2], [9, 12], [1, "2"]])
def test_read_refuses_a_bad_range(tmp_path: Path, run: Run, bad: object) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n4\n5\n6\n")
    assert run("read", file_path="a", view_range=bad).is_error


def test_read_says_what_is_no_text(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "latin").write_bytes("grün".encode("latin-1"))
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfhello\r\nyou\r\n")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(9 * 1024 * 1024)
    assert run("read", file_path="empty").content == "[the file is empty]"
    assert "binary" in run("read", file_path="binary").content
    assert "not UTF-8 (byte 0xfc at offset 2)" in run("read", file_path="latin").content
    assert run("read", file_path="bom").content == "     1\thello\n     2\tyou"
    assert "9,437,184 bytes" in run("read", file_path="huge").content
    for name in ("binary", "latin", "huge", "absent", ".", "bom/x"):
        assert run("read", file_path=name).is_error
    for path in (None, 3, ["a"]):
        assert run("read", file_path=path).is_error


def test_a_fifo_is_refused_at_once(tmp_path: Path, run: Run) -> None:
    os.mkfifo(tmp_path / "pipe")
    over = threading.Event()

    def everything() -> None:
        assert run("read", file_path="pipe").is_error
        assert run("write", file_path="pipe", content="x").is_error
        assert run("edit", file_path="pipe", old_string="a", new_string="b").is_error
        assert run("grep", pattern="x").content == "no matches"
        assert run("grep", pattern="x", path="pipe").is_error
        over.set()

    threading.Thread(target=everything, daemon=True).start()
    assert over.wait(5)


def test_glob_lists_sorted_and_leaves_out_what_nobody_asked_for(
    tmp_path: Path, run: Run
) -> None:
    for name in (
        "b.py", "a.py", "c.txt", "src/d.py", "src/deep/e.py", "src/f.tsx", "x/g.ts",
        "node_modules/m/i.py", ".github/w.yml", "__pycache__/a.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    def listed(pattern: str, path: str | None = None) -> list[str]:
        return str(run("glob", pattern=pattern, path=path).content).split()

    assert listed("**/*.py") == ["a.py", "b.py", "src/d.py", "src/deep/e.py"]
    assert listed("*.py") == ["a.py", "b.py"]
    assert listed("**/*.{ts,tsx}") == ["src/f.tsx", "x/g.ts"]
    assert listed("src/**") == ["src/d.py", "src/deep/e.py", "src/f.tsx"]
    assert listed("*.py", "src") == ["src/d.py"]
    assert listed("**/e.py") == ["src/deep/e.py"]
    assert listed("[ab].py") == ["a.py", "b.py"]
    assert listed(".github/**") == [".github/w.yml"]
    assert listed("node_modules/**/*.py") == ["node_modules/m/i.py"]
    assert listed("**/**/**/**/**/**/*.nothing") == ["no", "matches"]


def test_glob_says_when_there_are_more(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}").touch()
    monkeypatch.setattr(reading, "MAX_LISTED", 10)
    lines = run("glob", pattern="*").content.splitlines()
    assert lines[-1] == "[10 of 12 files; narrow the pattern]"
    assert len(lines) == 11


def test_write_is_whole_keeps_the_mode_and_makes_folders(
    tmp_path: Path, run: Run
) -> None:
    result = run("write", file_path="new/deep/a.sh", content="echo é\n")
    path = tmp_path / "new/deep/a.sh"
    assert path.read_text() == "echo é\n"
    assert result.files_written == {str(path.resolve()): digest(path)}
    path.chmod(0o750)
    run("write", file_path="new/deep/a.sh", content="echo 2\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.sh"]
    assert run("write", file_path="new/deep", content="x").is_error
    assert run("write", file_path="a.sh/", content="x").is_error
    assert run("write", file_path="bad", content="\ud800").is_error
    assert run("write", file_path="big", content="x" * (8 * 1024**2 + 1)).is_error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new"]


def test_edit_replaces_what_is_unique(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two two\n")
    before = digest(path)
    result = run("edit", file_path="a.txt", old_string="one", new_string="1")
    assert path.read_text() == "1 two two\n"
    assert result.files_read == {str(path.resolve()): before}
    assert result.files_written == {str(path.resolve()): digest(path)}
    twice = run("edit", file_path="a.txt", old_string="two", new_string="2")
    assert "occurs 2 times" in twice.content
    both = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    assert not run("edit", **both, replace_all=True).is_error
    assert path.read_text() == "1 2 2\n"
    for old in ("absent", ""):
        assert run("edit", file_path="a.txt", old_string=old, new_string="x").is_error


def test_edit_keeps_the_line_ends_of_the_file(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "dos.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edited = run(
        "edit", file_path="dos.txt", old_string="one\ntwo", new_string="1\n2\n2b"
    )
    assert not edited.is_error
    assert path.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


def test_edits_of_one_file_at_once_all_survive(tmp_path: Path, run: Run) -> None:
    (tmp_path / "shared").write_text("".join(f"<{n}>\n" for n in range(20)))

    def change(number: int) -> None:
        run("edit", file_path="shared", old_string=f"<{number}>", new_string="ok")

    threads = [threading.Thread(target=change, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "shared").read_text() == "ok\n" * 20


@pytest.mark.anyio
async def test_run_goes_through_the_given_thread_runner(tmp_path: Path) -> None:
    calls = []

    async def inline(function: Callable[..., object], *arguments: object) -> object:
        calls.append(function)
        return function(*arguments)

    (tmp_path / "a").write_text("x\n")
    for made in read_tools(tmp_path)[:1]:
        tool = replace(made, to_thread=inline)
        assert (await tool.run({"file_path": "a"})).content == "     1\tx"
    (plain,) = read_tools(tmp_path)[:1]
    assert (await plain.run({"file_path": "a"})).content == "     1\tx"
    assert len(calls) == 1


@pytest.mark.anyio
async def test_write_output_needs_an_agent_and_reports_what_was_written() -> None:
    assert (await write_output.run({"content": "x"})).is_error
    kept = []

    async def write(content: str) -> tuple[str, str]:
        if content == "bad":
            raise OSError("the disk is full")
        kept.append(content)
        return "/out/a.md", "d" * 64

    bound = write_output.bind(write)
    assert (bound.name, bound.input_schema) == (
        "write_output",
        specs.SCHEMAS["write_output"],
    )
    result = await bound.run({"content": "all of it"})
    assert kept == ["all of it"]
    assert result.files_written == {"/out/a.md": "d" * 64}
    assert "disk is full" in (await bound.run({"content": "bad"})).content
    for arguments in ({}, {"content": ""}, {"content": 3}):
        assert (await bound.run(arguments)).is_error
