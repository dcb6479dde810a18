"""What happened to outputs after they were done is said."""

from pathlib import Path

from fanout.disk.reports.report import ReportRow
from fanout.files.audit import SHOWN_MAX, moved, sentences
from fanout.files.outputs import OutputFolder
from fanout.words.model import NO_USAGE


def done(number: int, folder: OutputFolder, text: bytes = b"# text") -> ReportRow:
    name = f"{number}.md"
    return partition(number, name, folder.write(name, text).sha256)


def partition(number: int, name: str, digest: str, status: str = "done") -> ReportRow:
    return ReportRow(
        phase="p",
        key=f"k{number}",
        status=status,
        kind=None,
        reason="",
        attempts=1,
        turns=1,
        output=name,
        sha256=digest,
        size=6,
        reused_from=None,
        model=None,
        throttled_429=0,
        throttled_529=0,
        usage=NO_USAGE,
        in_doubt=NO_USAGE,
        doubt_dollars=0.0,
    )


def test_changed_gone_and_replaced_ones_are_named(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    rows = [done(n, folder) for n in range(7)]
    assert moved(rows, folder.path) == []
    out = Path(folder.path)
    (out / "1.md").write_text("# other")
    (out / "2.md").unlink()
    (out / "3.md").unlink()
    (out / "3.md").symlink_to(out / "0.md")
    (out / "4.md").write_text(" \n")
    (out / "5.md").write_bytes(b"\xff\x00")
    rows.append(partition(9, "9.md", "00", status="missing"))
    changes = moved(rows, folder.path)
    assert [c.what for c in changes] == ["changed", "gone", "gone", "empty", "broken"]
    assert sentences(changes) == [
        "the output 1.md of p/k1 has been changed since it was done",
        "the output 2.md of p/k2 is gone, or no file any more, since it was done",
        "the output 3.md of p/k3 is gone, or no file any more, since it was done",
        "the output 4.md of p/k4 has been emptied since it was done",
        "the output 5.md of p/k5 has been changed into what is none since it was done",
    ]


def test_where_the_folder_is_gone_all_are(tmp_path: Path) -> None:
    row = done(1, OutputFolder(tmp_path / "out"))
    (tmp_path / "out").rename(tmp_path / "away")
    assert [c.what for c in moved([row], str(tmp_path / "out"))] == ["gone"]
    assert not (tmp_path / "out").exists()


def test_of_many_a_few_are_named(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    rows = [done(n, folder) for n in range(SHOWN_MAX + 3)]
    for path in tmp_path.iterdir():
        path.unlink()
    told = sentences(moved(rows, folder.path))
    assert len(told) == SHOWN_MAX + 1
    assert told[-1] == "3 more outputs are not as done"
