"""Outputs: names, whole writes, and what counts as one."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from fanout.errors import FanoutError, UsageError
from fanout.files import outputs, safefile
from fanout.files.outputs import OutputFolder, Problem, Verified, digest

BAD_NAMES = [
    "", "/", "/abs.md", "~/x", "..", "../x", "a/../../b", "a/..", "a/", "a/.", ".", "./",
    "a\0b", "a\nb", "a\\b", "x" * 300, "a/" * 600 + "b", "\ud800", "con", "NUL.json",
    "a/com1", ".fanout/x", ".FANOUT/x", ".fanout-1.tmp", "\x1b[2J", "\x7f",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> OutputFolder:
    return OutputFolder(tmp_path / "made" / "out")


@pytest.mark.parametrize("name", BAD_NAMES, ids=range(len(BAD_NAMES)))
def test_bad_names_are_refused_everywhere(folder: OutputFolder, name: str) -> None:
    for use in (folder.verify, lambda n: folder.write(n, b"x")):
        with pytest.raises(UsageError) as caught:
            use(name)
        assert caught.value.hint
    assert list(Path(folder.path).iterdir()) == []


def test_good_names_have_one_spelling(folder: OutputFolder) -> None:
    for name, spelt in {
        "a//b/./c.json": "a/b/c.json",
        "./report.md": "report.md",
        "übersicht/…/x y.md": "übersicht/…/x y.md",
        ".env": ".env",
    }.items():
        assert folder.write(name, b"{}").path == f"{folder.path}/{spelt}"


def test_what_is_written_is_verified(folder: OutputFolder) -> None:
    data = b'{"findings": [1]}'
    written = folder.write("findings/a.json", data)
    assert Path(written.path).read_bytes() == data
    assert (written.size, written.sha256) == (17, hashlib.sha256(data).hexdigest())
    found = folder.verify("findings/a.json")
    assert found == Verified(written.path, written.sha256, written.size, data.decode())
    assert digest(written.path) == written.sha256
    folder.write("findings/a.json", b"[]")
    assert folder.verify("findings/a.json").value == "[]"
    assert [p.name for p in Path(written.path).parent.iterdir()] == ["a.json"]


def problem(folder: OutputFolder, name: str, validator=None) -> str:
    found = folder.verify(name, validator)
    assert isinstance(found, Problem), found
    assert found.text
    return found.kind


def test_what_does_not_count(folder: OutputFolder, tmp_path: Path, monkeypatch) -> None:
    root = Path(folder.path)
    (tmp_path / "outside.json").write_text("{}")
    (root / "link.json").symlink_to(tmp_path / "outside.json")
    (root / "folder.json").mkdir()
    (root / "door").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.json")
    (root / "empty.json").touch()
    (root / "blank.md").write_text(" \n\n")
    (root / "cut.json").write_text('{"a": [1, 2')
    (root / "nan.json").write_text('{"a": NaN}')
    (root / "latin.json").write_bytes(b'"\xfc"')
    (root / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (root / "cut.jsonl").write_text('{"a": 1}\n{"a": ')
    (root / "big.md").write_text("x" * 2000)
    assert problem(folder, "absent.json") == "absent"
    assert problem(folder, "no/folder.json") == "absent"
    for name in ("link.json", "folder.json", "pipe.json", "door/outside.json"):
        assert problem(folder, name) == "unsafe"
    assert problem(folder, "empty.json") == "empty"
    assert problem(folder, "blank.md") == "empty"
    (root / "deeper.json").write_text("[" * 300 + "]" * 300)
    (root / "twice.json").write_text('{"a": 1, "b": [{"c": 1, "c": 2}]}')
    os.link(root / "cut.jsonl", root / "second.md")
    (root / "unseen.md").write_text("\u200b \ufeff\u2060\n")
    (root / "zero.md").write_bytes(b"text\0")
    for name in ("cut.json", "nan.json", "deep.json", "deeper.json", "twice.json"):
        assert problem(folder, name) == "not json"
    for name in ("latin.json", "zero.md"):
        assert problem(folder, name) == "not text"
    assert problem(folder, "unseen.md") == "empty"
    assert problem(folder, "second.md") == "unsafe"
    (root / "second.md").unlink()
    assert problem(folder, "cut.jsonl") == "not json"
    monkeypatch.setattr(outputs, "MAX_OUTPUT_BYTES", 1000)
    assert problem(folder, "big.md") == "too large"


def test_a_validator_decides_and_gives_the_value(folder: OutputFolder) -> None:
    def even(data: bytes) -> int:
        if int(data) % 2:
            raise ValueError("odd")
        return int(data)

    folder.write("a.txt", b"4")
    folder.write("b.txt", b"5")
    assert folder.verify("a.txt", even).value == 4
    assert problem(folder, "b.txt", even) == "misfit"
    folder.write("c.jsonl", b'1\n\n{"a": 2}\n')
    assert folder.verify("c.jsonl").value == '1\n\n{"a": 2}\n'
    folder.write("d.md", b"# text")
    assert folder.verify("d.md").value == "# text"


def test_a_write_never_goes_through_a_link(
    folder: OutputFolder, tmp_path: Path
) -> None:
    root = Path(folder.path)
    (tmp_path / "target").mkdir()
    (tmp_path / "file").write_text("kept")
    (root / "door").symlink_to(tmp_path / "target")
    (root / "a.md").symlink_to(tmp_path / "file")
    os.link(tmp_path / "file", root / "hard.md")
    for name in ("door/x.md", "a.md", "hard.md"):
        with pytest.raises(FanoutError):
            folder.write(name, b"x")
    assert (tmp_path / "file").read_text() == "kept"
    assert list((tmp_path / "target").iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_rest(
    folder: OutputFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.md", b"old")

    def full(_opened: int, _data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safefile.os, "write", full)
    with pytest.raises(FanoutError, match="No space left"):
        folder.write("a.md", b"new")
    monkeypatch.undo()
    root = Path(folder.path)
    assert {p.name: p.read_bytes() for p in root.iterdir()} == {"a.md": b"old"}


def test_a_reader_sees_the_old_or_the_new(folder: OutputFolder) -> None:
    versions = [bytes([n]) * 200_000 for n in (65, 66)]
    folder.write("a.bin", versions[0])
    seen, over = set(), threading.Event()

    def write() -> None:
        for number in range(40):
            folder.write("a.bin", versions[number % 2])
        over.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not over.is_set():
        found = folder.verify("a.bin")
        assert isinstance(found, Verified)
        seen.add(found.sha256)
    thread.join()
    assert seen <= {hashlib.sha256(version).hexdigest() for version in versions}


def test_the_digest_of_no_plain_file_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent", "", "a\0b"):
        assert digest(str(tmp_path / name)) is None


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        OutputFolder(tmp_path / "file" / "out")
