"""Real trees into partitions: what is taken, what is skipped, what it costs."""

import math
import os
import statistics
import tracemalloc
from pathlib import Path
from random import Random

import pytest

from fanout.decide.parts.packing import pack
from fanout.errors import FanoutError, UsageError
from fanout.script.parts.partition import partition, render

LIBRARY = Path(os.__file__).parent


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def taken(parts) -> list[str]:
    return sorted({piece.path for part in parts for piece in part.pieces})


def reasons(parts) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in parts.skipped}


def test_what_is_skipped_is_listed_with_its_reason(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (tmp_path / "outside").mkdir()
    write(tmp_path, {"outside/x.py": "x\n"})
    write(
        root,
        {
            "good.py": "x = 1\n", "empty.py": "", "binary.py": b"\0\1\2",
            "latin.py": b"# gr\xfcn\n", ".git/x.py": "x", ".venv/lib/x.py": "x",
            "node_modules/m/x.py": "x", "__pycache__/x.py": "x", ".hidden/x.py": "x",
            ".env/x.py": "x", "sub/good.py": "y\n", "note.txt": "not asked for",
        },
    )  # fmt: skip
    (root / "out.py").symlink_to(tmp_path / "outside" / "x.py")
    (root / "folder.py").symlink_to(tmp_path / "outside")
    (root / "in.py").symlink_to("good.py")
    (root / "dangling.py").symlink_to("nowhere.py")
    os.mkfifo(root / "pipe.py")
    parts = partition(root, "**/*.py", max_tokens=1000)
    assert taken(parts) == ["good.py", "sub/good.py"]
    why = reasons(parts)
    assert why["empty.py"] == "empty"
    assert "binary" in why["binary.py"]
    assert "not UTF-8 (byte 0xfc at offset 4)" in why["latin.py"]
    for name in ("out.py", "folder.py", "dangling.py"):
        assert "leaves the folder" in why[name]
    assert "under its own name" in why["in.py"]
    assert "FIFO" in why["pipe.py"]
    assert "out of reach" in why[".git"]
    assert "out of reach" in why[".env"]
    for name in (".venv", ".hidden", "node_modules", "__pycache__"):
        assert "name it in the pattern" in why[name]
    assert "note.txt" not in why
    assert taken(partition(root, ".hidden/*.py", max_tokens=1000)) == [".hidden/x.py"]
    assert "17 skipped" not in repr(parts)
    assert repr(parts).startswith("<1 partition of 2 files, 3 tokens, ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a\n", "b.py": "b\n"})
    (tmp_path / "b.py").chmod(0)
    assert "denied" in reasons(partition(tmp_path, "*.py", max_tokens=100))["b.py"]


def test_gitignore_is_honoured_as_git_does(tmp_path: Path) -> None:
    root = tmp_path / "repo" / "src"
    write(
        tmp_path / "repo",
        {
            ".git/HEAD": "ref", ".gitignore": "*.gen.py\n/src/top.py\n",
            "src/.gitignore": "build/\n*.log\n!keep.log\n[\n",
            "src/a.py": "a\n", "src/b.gen.py": "b\n", "src/top.py": "t\n",
            "src/build/c.py": "c\n", "src/x.log": "x\n", "src/keep.log": "k\n",
            "src/sub/.gitignore": "!x.log\nlocal.py\n", "src/sub/x.log": "x\n",
            "src/sub/local.py": "l\n", "src/sub/top.py": "t\n",
        },
    )  # fmt: skip
    parts = partition(root, "**/*", max_tokens=1000)
    assert taken(parts) == [
        ".gitignore", "a.py", "keep.log", "sub/.gitignore", "sub/top.py", "sub/x.log",
    ]  # fmt: skip
    why = reasons(parts)
    assert why["build"] == "ignored by `./.gitignore`"
    assert why["sub/local.py"] == "ignored by `sub/.gitignore`"
    assert why["b.gen.py"] == "ignored by a `.gitignore` above"
    build = partition(root / "build", "*.py", max_tokens=1000)
    assert taken(build) == ["c.py"]


def test_wrong_use_is_an_error_with_a_hint(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a\n", "empty.md": ""})
    for root, pattern, limit in [
        (tmp_path / "missing", "*.py", 1000),
        (tmp_path / "a.py", "*.py", 1000),
        (tmp_path, "*.rs", 1000),
        (tmp_path, "*.md", 1000),
        (tmp_path, "../*", 1000),
        (tmp_path, "/etc/*", 1000),
        (tmp_path, "", 1000),
        (tmp_path, "*.py", 99),
        (tmp_path, "*.py", "many"),
    ]:
        with pytest.raises(UsageError) as caught:
            partition(root, pattern, max_tokens=limit)
        assert caught.value.hint
    with pytest.raises(UsageError) as caught:
        partition(tmp_path, "*.md", max_tokens=1000)
    assert caught.value.hint == "1 skipped, the first is `empty.md`: empty"


def test_a_large_file_is_split_and_said(tmp_path: Path) -> None:
    body = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(300))
    write(tmp_path, {"big.py": body, "small.py": "x = 1\n", "min.js": "x" * 5000})
    parts = partition(tmp_path, "*", max_tokens=500)
    big = [part for part in parts if part.pieces[0].path == "big.py"]
    assert big[0].key == "big.py-start"
    for part in big[1:]:
        piece = part.pieces[0]
        name = body.splitlines()[piece.start_line - 1].removesuffix("():")
        assert part.key == f"big.py-{name.removeprefix('def ')}"
    assert all(part.tokens <= 500 for part in big)
    whole = "".join(
        render(part, inline=True).split("\n", 1)[1].removesuffix("</file>")
        for part in big
    )
    assert whole == body
    plan = "\n".join(parts.plan)
    assert f"split into {len(big)}" in plan
    assert "min.js: line 1 alone has 1,516 tokens" in plan
    assert [part.tokens for part in parts if part.key == "min.js"] == [1516]


def test_render_gives_content_or_a_manifest_and_notices_changes(tmp_path: Path) -> None:
    write(tmp_path, {'a "q".py': "x = 1\ny = 2", "b.py": "z\n"})
    (part,) = partition(tmp_path, "*.py", max_tokens=1000)
    assert render(part, inline=True) == (
        '<file path="a &quot;q&quot;.py" lines="1-2">\nx = 1\ny = 2\n</file>\n'
        '<file path="b.py" lines="1-1">\nz\n</file>'
    )
    lines = render(part, inline=False).splitlines()
    assert "read tools" in lines[0]
    assert lines[1:] == [
        '- a "q".py (lines 1-2, 11 bytes)',
        "- b.py (lines 1-1, 2 bytes)",
    ]
    write(tmp_path, {"b.py": "w\n"})
    with pytest.raises(FanoutError, match=r"`b\.py` changed"):
        render(part, inline=True)
    (tmp_path / "b.py").unlink()
    (tmp_path / "b.py").symlink_to('a "q".py')
    with pytest.raises(FanoutError, match="link"):
        render(part, inline=True)


def test_partitions_are_a_sequence(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}/a.py": "x" * 1000 for n in range(4)})
    parts = partition(tmp_path, "**/*.py", max_tokens=350)
    assert len(parts) == len(list(parts)) == 4
    assert parts[0] in parts
    assert parts[1:] == tuple(parts)[1:]
    assert parts[0].root == str(tmp_path.resolve())


def test_the_standard_library_packs_well_and_stays_put() -> None:
    """Real figures: half full or nearly, and an edit changes two at most, mostly."""
    limit = 30_000
    parts = partition(LIBRARY, "**/*.py", max_tokens=limit)
    again = partition(LIBRARY, "**/*.py", max_tokens=limit)
    assert list(parts) == list(again)
    total = sum(part.tokens for part in parts)
    assert len(parts) <= 2.3 * math.ceil(total / limit)
    pieces = [piece for part in parts for piece in part.pieces]
    before = {(part.key, part.digest) for part in parts}
    random = Random(7)
    changed = []
    for _ in range(40):
        at = random.randrange(len(pieces))
        size = min(limit, round(pieces[at].tokens * random.choice([0.9, 1.1, 1.5])))
        edited = pieces[:]
        edited[at] = _edited(pieces[at], size)
        after = pack(edited, root=parts[0].root, max_tokens=limit)
        changed.append(len({(part.key, part.digest) for part in after} - before))
    assert statistics.mean(changed) < 1.3
    assert sum(count <= 2 for count in changed) >= 38


def _edited(piece, size: int):
    from dataclasses import replace

    return replace(piece, tokens=size, digest="e" * 64)


def test_memory_does_not_grow_with_the_bytes(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.txt": b"word " * 100_000 for n in range(40)})
    tracemalloc.start()
    partition(tmp_path, "*.txt", max_tokens=200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024
