"""Paths that a model could send to get out; none does, none hangs."""

import itertools
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanout.errors import FanoutError, UsageError
from fanout.files import read as reading
from fanout.files.outputs import OutputFolder, Verified
from fanout.files.safepath import _fences, fence_off
from fanout.files.search import Match, Searched
from fanout.files.tools import FileTool, write_tools
from fanout.script.naming import checked_output
from figures import record_figure

HEADS = [
    "..", "../..", "./..", "sub/..", "sub/../..", "sub/deep/../../..", "link-folder",
    "link-relative", "sub/up/..", "sub/up/link-folder", "./link-folder/.", "//..",
    "plain.txt/..", "link-loop", "link-inside/..", ".ssh", ".git", ".fanout", ".aws",
    ".GIT", "sub/./../..", "\u2025", "%2e%2e", "..%2f..", "...", "~", "~root",
]  # fmt: skip
TAILS = [
    "outside/secret.txt", "secret.txt", "sub/inner.py", "etc/passwd", "config",
    "root-twin/secret.txt", "../outside/secret.txt", "outside//secret.txt",
    "outside/./secret.txt", "outside/secret.txt/", "..\\outside\\secret.txt",
    "outside/secret.txt\0", "\0", "outside/secret.txt\n", "new/file.txt", "*",
    "a" * 300 + "/x", "sub/../../outside/secret.txt", "\ud800", "\udce9.txt",
]  # fmt: skip
SINGLE = [
    "credentials/service-account-prod.json", "store.kdbx", ".azure/x", "deploy.ppk",
    "", "/", "//", ".", "..", "../", "/etc/passwd", "/etc/shadow", "/proc/self/environ",
    "/proc/self/mem", "/proc/self/fd/0", "/dev/zero", "/dev/stdin", "/dev/tty",
    "/proc/self/root/etc/passwd", "link-file", "link-dangling", "link-loop", ".env",
    ".ENV", ".env.local", "server.pem", "SERVER.PEM", "id_rsa", "ID_ED25519", "x.key",
    ".\u200denv", ".git\u200c/config", ".git./config", ".git /config", "\uff0eenv",
    "sub/up/.env", "fifo", "socket", "twice-linked", "a/" * 3000, "x" * 5000, "\0",
    "file:///etc/passwd", "\\\\server\\share", "C:\\Windows\\win.ini", "con", "nul",
]  # fmt: skip


def hostile(root: Path) -> list[str]:
    joined = [f"{head}/{tail}" for head, tail in itertools.product(HEADS, TAILS)]
    absolute = [f"{root}/{path}" for path in joined[::7]]
    twins = [f"{root}-twin/secret.txt", f"{root}/../outside/secret.txt", f"{root}"]
    return [*joined, *absolute, *SINGLE, *twins]


@pytest.fixture
def tools(place) -> dict[str, FileTool]:
    os.mkfifo(place.root / "fifo")
    return {tool.name: tool for tool in write_tools(place.root)}


def test_no_path_reads_what_is_outside_or_secret(
    place,
    tools: dict[str, FileTool],
    searched_here: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place.root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        paths = hostile(place.root)
        assert len(paths) >= 500
        for path in paths:
            for result in (
                tools["read"].call({"file_path": path}),
                tools["grep"].call({"pattern": "canary", "path": path}),
                tools["glob"].call({"pattern": "*", "path": path}),
                tools["glob"].call({"pattern": path}),
            ):
                assert place.canary not in str(result.content), path
                for read in result.files_read:
                    assert read.startswith(f"{place.root}/"), path
            assert tools["read"].call({"file_path": path}).is_error, path


@pytest.fixture
def searched_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Searches without a child each: what is read is decided before it."""
    read: list[str] = []

    def search(pattern: str, files: Any, *, limit: int) -> Searched:
        matches = []
        for path, content in files:
            read.append(path)
            if pattern.encode() in content.data:
                matches.append(Match(path, 1, content.data.decode()))
        return Searched(
            matches=matches, digests={}, full=False, stopped_at=None, bad_pattern=None
        )

    monkeypatch.setattr(reading, "search", search)
    return read


def test_no_output_name_leaves_its_folder(place) -> None:
    """Names come from scripts, and scripts make them of what strangers wrote."""
    folder = OutputFolder(place.root)
    before = place.state_outside()
    beside = sorted(place.root.parent.iterdir())
    paths = hostile(place.root)
    written = 0
    for path in paths:
        try:
            made = folder.write(path, b"1")
        except FanoutError:
            continue
        written += 1
        assert Path(made.path).resolve().is_relative_to(place.root), path
        assert not Path(made.path).is_symlink(), path
        assert isinstance(folder.verify(path), Verified), path
    assert 0 < written < len(paths) / 3
    for path in paths:
        with suppress(UsageError):
            assert ".." not in str(checked_output(path)).split("/"), path
    assert place.state_outside() == before
    assert sorted(place.root.parent.iterdir()) == beside
    assert place.outside.joinpath("secret.txt").read_text() == place.canary


def test_no_path_writes_outside_or_over_what_is_not_a_plain_file(
    place, tools: dict[str, FileTool]
) -> None:
    os.link(place.outside / "secret.txt", place.root / "twice-linked")
    before = place.state_outside()
    beside = sorted(place.root.parent.iterdir())
    for path in hostile(place.root):
        written = tools["write"].call({"file_path": path, "content": "x"})
        edited = tools["edit"].call(
            {"file_path": path, "old_string": "canary", "new_string": "x"}
        )
        assert edited.is_error, path
        for name in written.files_written:
            assert name.startswith(f"{place.root}/"), path
            assert Path(name).resolve().is_relative_to(place.root), path
    assert place.state_outside() == before
    assert sorted(place.root.parent.iterdir()) == beside
    for name in (".env", "server.pem", "id_rsa", ".git/config", ".fanout/config"):
        assert (place.root / name).read_text() == place.canary
    assert (place.root / "link-file").is_symlink()
    assert list(place.root.rglob(".fanout-*")) == []
    count = len(hostile(place.root))
    record_figure("hostile paths", "≥ 500, 0 escapes", count, unit="paths, 0 escapes")


@pytest.mark.parametrize(
    "pattern",
    ["../*", "**/../*", "/etc/*", "", "/", "\0", "{a,{b,c}}/../*", "x" * 2000],
)
def test_patterns_that_leave_are_refused(
    tools: dict[str, FileTool], pattern: str
) -> None:
    assert tools["glob"].call({"pattern": pattern}).is_error


def test_listing_and_searching_pass_over_links_and_secrets(
    place, tools: dict[str, FileTool]
) -> None:
    listed = tools["glob"].call({"pattern": "**/*"}).content
    assert listed.splitlines() == ["plain.txt", "sub/inner.py"]
    for pattern in (".*", ".git/*", ".git/**", "link-folder/**", "**/secret.txt"):
        assert tools["glob"].call({"pattern": pattern}).content == "no matches"
    assert tools["grep"].call({"pattern": "canary"}).content == "no matches"


def test_an_absolute_path_inside_the_root_is_taken(
    place, tools: dict[str, FileTool]
) -> None:
    inside = f"{place.root}/sub/inner.py"
    assert not tools["read"].call({"file_path": inside}).is_error
    listed = tools["glob"].call({"pattern": f"{place.root}/**/*.py"})
    assert listed.content == "sub/inner.py"


def test_a_fenced_folder_is_out_of_reach_unless_it_is_the_root(place) -> None:
    run = place.root / "my-runs"
    run.mkdir()
    (run / "journal").write_text(place.canary)
    fence_off(run)
    fence_off(place.root / "missing")
    try:
        tools = {tool.name: tool for tool in write_tools(place.root)}
        assert tools["read"].call({"file_path": "my-runs/journal"}).is_error
        assert tools["grep"].call({"pattern": "canary"}).content == "no matches"
        assert tools["write"].call({"file_path": "my-runs/a", "content": "x"}).is_error
        own = {tool.name: tool for tool in write_tools(run)}
        assert place.canary in str(own["read"].call({"file_path": "journal"}).content)
    finally:
        _fences.clear()
