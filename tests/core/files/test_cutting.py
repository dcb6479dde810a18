"""Where sequences and large files are cut: everything once, in room, and stable."""

import os
import statistics
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.parts.cutting import Places, cut, equal, level
from fanout.decide.parts.slices import slices

LIBRARY = Path(os.__file__).parent

units = st.lists(
    st.tuples(st.integers(1, 120), st.integers(0, 3), st.integers(0, 5)), max_size=200
)


def runs_of(made: list[tuple[int, int, int]], room: int) -> list[range]:
    sizes = [size for size, _, _ in made]
    levels = equal([high for _, _, high in made]).levels
    return cut(sizes, Places([rank for _, rank, _ in made], levels), room)


@given(units, st.integers(1, 400))
def test_runs_cover_everything_in_order_and_fit(made, room) -> None:
    runs = runs_of(made, room)
    assert [at for run in runs for at in run] == list(range(len(made)))
    for run in runs:
        assert len(run) > 0
        assert sum(made[at][0] for at in run) <= room or len(run) == 1


@given(units, st.integers(100, 400))
def test_no_run_is_cut_without_need(made, room) -> None:
    """What lies on both sides of a cut did not fit together at some point."""
    runs = runs_of(made, room)
    total = sum(size for size, _, _ in made)
    if total <= room:
        assert len(runs) <= 1
    else:
        assert len(runs) >= total / max(room, 120)


@given(st.integers(2, 300))
def test_equal_places_are_cut_in_the_middle(count) -> None:
    """The worst case for a tree, all alike, is the best one here."""
    runs = cut([10] * count, equal([0] * count), 100)
    assert len(runs) <= 2 * -(-count // 10)


def test_a_high_level_is_rare() -> None:
    levels = [level(f"{n}".encode()) for n in range(20_000)]
    for wanted in (1, 2, 3):
        share = sum(one >= wanted for one in levels) / len(levels)
        assert 0.7 / 8**wanted < share < 1.4 / 8**wanted
    assert min(levels) == 0
    assert max(levels) < 22


def _edited(data: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    kind = chance.randrange(3)
    if kind == 0:
        lines[at] += b"  # a few words that were not there"
    elif kind == 1:
        lines[at:at] = [b"    added = 1"] * chance.randrange(1, 6)
    else:
        del lines[at : at + chance.randrange(1, 4)]
    return b"\n".join(lines)


def test_an_edit_of_a_large_file_changes_two_slices_at_most_nearly_always() -> None:
    """Real files, edits of a few lines anywhere; the strict bound is for whole files."""
    files = sorted(LIBRARY.glob("*.py"), key=lambda path: -path.stat().st_size)[:12]
    chance = Random(5)
    changed: list[int] = []
    fill: list[float] = []
    for path in files:
        data = path.read_bytes()
        for room in (12_000, 33_000):
            before = {part.data for part in slices(data, room)}
            fill += [len(one) / room for one in before]
            for _ in range(12):
                after = {part.data for part in slices(_edited(data, chance), room)}
                changed.append(len(after - before))
    assert statistics.mean(changed) < 1.5
    assert sum(count <= 2 for count in changed) / len(changed) > 0.95
    assert statistics.mean(fill) > 0.55
