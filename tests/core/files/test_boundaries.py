"""Boundaries stay where they are: a fixed tree gives the keys it has always given."""

from hashlib import sha256
from pathlib import Path

import fanout
from fanout.decide.parts.tokens import VERSION

LINE = "def rule_{n}(value):\n    return value * {n}\n\n\n"


def tree(root: Path) -> Path:
    for folder in ("a", "b/c", "d"):
        (root / folder).mkdir(parents=True)
        for n in range(6):
            text = "".join(LINE.format(n=n * at) for at in range(20 + 40 * n))
            (root / folder / f"m{n}.py").write_text(text)
    (root / "notes.md").write_text("A line of prose that says little.\n" * 300)
    (root / "rows.json").write_text('[{"id": 1, "size": 2.5}]\n' * 300)
    return root


def test_a_fixed_tree_gives_fixed_partitions(tmp_path: Path) -> None:
    parts = fanout.partition(tree(tmp_path), "**/*", max_tokens=2_000)
    told = "\n".join(f"{one.key} {one.tokens} {one.digest}" for one in parts)
    found = VERSION, len(parts), sha256(told.encode()).hexdigest()[:16]
    # Another figure runs everybody's finished work again; then VERSION is another too.
    assert found == ("1", 27, "dcaaf1a549814c77")
