"""One is never many."""

import re
from pathlib import Path

import pytest

import fanout
import fanout_tui
from fanout.decide.forecast.say import because
from fanout.words.counted import of_them, plural

NOUNS = "partition row agent call turn request file record item attempt"
BY_HAND = re.compile(
    r"\{[^{}]*\} (?:" + "|".join(f"{noun}s" for noun in NOUNS.split()) + r")\b"
)


def test_numbers_of_things() -> None:
    assert plural(1, "row") == "1 row"
    assert plural(0, "row") == "0 rows"
    assert plural(2_400, "batch", "batches") == "2,400 batches"
    assert of_them(0, 1, "partition") == "0 of 1 partition"
    assert of_them(1, 40, "partition") == "1 of 40 partitions"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1 because its prompt changed"),
        (39, "39 because their prompt changed"),
        (3_000, "3,000 because they were made afresh"),
    ],
)
def test_causes_of_many_speak_of_many(count: int, said: str) -> None:
    cause = "it was made afresh" if "afresh" in said else "its prompt changed"
    assert because(cause, count) == said


def test_no_text_for_people_counts_by_hand() -> None:
    """`{n} rows` would be `1 rows` one day."""
    found = []
    for package in (fanout, fanout_tui):
        folder = Path(package.__file__ or "").parent
        for path in folder.rglob("*.py"):
            if "simulator" in path.parts or "examples" in path.parts:
                continue
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                if BY_HAND.search(line):
                    found.append(f"{path}:{number}: {line.strip()}")
    assert not found, "\n".join(found)
