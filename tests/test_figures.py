"""Figures of proofs: kept by name, shards put together."""

from pathlib import Path

import pytest

import figures
from figures import Figure, record_figure, recorded


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")


def at(monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{test} (call)")


def test_shards_are_summed_and_a_second_run_replaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for shard, kills in (("0", 7), ("1", 60), ("0", 1_000)):
        at(monkeypatch, f"tests/a.py::test_kills[{shard}]")
        record_figure("kills", "≥ 200", kills, unit="kills, 0 lost")
    assert recorded() == [
        Figure("kills", "≥ 200", "1,060 kills, 0 lost", "tests/a.py::test_kills")
    ]


def test_words_are_shown_once_and_the_highest_of_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for shard, slow in (("0", 0.25), ("1", 0.125)):
        at(monkeypatch, f"tests/a.py::test_b[{shard}]")
        record_figure("bugs", "all", "all caught")
        record_figure("slowest", "≤ 1 s", slow, unit="s", highest=True)
    assert [figure.value for figure in recorded()] == ["all caught", "0.25 s"]


def test_only_what_this_run_measured_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at(monkeypatch, "tests/a.py::test_b")
    record_figure("bugs", "all", 30)
    assert list(figures.lines(0.0)) == ["bugs: 30 (goal: all)"]
    assert list(figures.lines(9e12)) == []
