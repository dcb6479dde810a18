"""What happened to outputs after they were done is said."""

from pathlib import Path

from fanout.files.audit import SHOWN_MAX, moved
from fanout.files.outputs import OutputFolder
from fanout.words.model import End, MissingKind, Row, RowId, Status


def done(number: int, folder: OutputFolder, **changes: str) -> Row:
    name = f"{number}.md"
    written = folder.write(name, b"# text")
    end = End(**{"output": name, "sha256": written.sha256, **changes})
    return Row(
        id=RowId("p", f"k{number}"), order=number, status=Status.DONE, since=0, end=end
    )


def test_changed_gone_and_replaced_ones_are_named(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    rows = [done(n, folder) for n in range(5)]
    assert moved(rows, folder.path) == []
    out = Path(folder.path)
    (out / "1.md").write_text("# other")
    (out / "2.md").unlink()
    (out / "3.md").unlink()
    (out / "3.md").symlink_to(out / "0.md")
    missing = End(kind=MissingKind.STOPPED, output="9.md", sha256="00")
    rows.append(
        Row(id=RowId("p", "m"), order=9, status=Status.MISSING, since=0, end=missing)
    )
    assert moved(rows, folder.path) == [
        "the output 1.md of p/k1 has been changed since it was done",
        "the output 2.md of p/k2 is gone, or no file any more, since it was done",
        "the output 3.md of p/k3 is gone, or no file any more, since it was done",
    ]


def test_a_reused_one_is_said_where_it_is_reused(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    row = done(1, folder, reused_from="r-1")
    (tmp_path / "1.md").write_text("# edited")
    assert moved([row], folder.path) == []


def test_of_many_a_few_are_named(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    rows = [done(n, folder) for n in range(SHOWN_MAX + 3)]
    for path in tmp_path.iterdir():
        path.unlink()
    told = moved(rows, folder.path)
    assert len(told) == SHOWN_MAX + 1
    assert told[-1] == "3 more outputs are not as done"
