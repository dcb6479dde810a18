"""How far token estimates are off, before and after some texts were counted.

Run it: `python tests/bench/token_estimates.py [--tokenizer FILE]`. Partitions of the
standard library and some made texts are estimated from what they hold; the counter is
the simulated account's or, with a vocabulary file and the package `tokenizers`, a real
one. Those that were counted to learn from are not among those that are judged.
"""

import argparse
import random
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import fanout
from fanout.decide.calibration import NEWER, OLDER, Calibration
from fanout.decide.parts.content import measure
from fanout.script.parts.partition import render
from fanout.simulator import vocabulary

MODEL = {OLDER: "claude-sonnet-4-6", NEWER: "claude-sonnet-5"}
COUNTED = 24
SEEDS = 5
TEXTS_MAX = 120
Count = Callable[[str], int]


def partitions(pattern: str, max_tokens: int) -> list[str]:
    """Return some partitions of the standard library, as agents are given them."""
    root = sysconfig.get_paths()["stdlib"]
    parts = list(fanout.partition(root, pattern, max_tokens=max_tokens))
    random.Random(2).shuffle(parts)
    return [render(part, inline=True) for part in parts[:TEXTS_MAX]]


def tables() -> list[str]:
    """Return texts of numbers, as CSV files have them."""
    chance = random.Random(3)
    made = []
    for _ in range(40):
        digits = chance.randint(1, 6)
        rows = (
            ",".join(f"{chance.random() * 99:.{digits}f}" for _ in range(6))
            for _ in range(chance.randint(50, 400))
        )
        made.append("\n".join(rows))
    return made


def counters(file: Path | None) -> dict[str, tuple[str, Count]]:
    """Return each counter with the model that it is taken for."""
    if file is None:
        return {
            "simulated, older": (
                MODEL[OLDER],
                lambda text: vocabulary.count(text, vocabulary.OLDER),
            ),
            "simulated, newer": (
                MODEL[NEWER],
                lambda text: vocabulary.count(text, vocabulary.NEWER),
            ),
        }
    from tokenizers import Tokenizer  # type: ignore[import-not-found]

    real = Tokenizer.from_file(str(file))

    def count(text: str) -> int:
        return len(real.encode(text, add_special_tokens=False).ids)

    return {file.name: (MODEL[OLDER], count)}


def within(
    model: str, texts: Sequence[str], told: Sequence[int], counted: int
) -> float:
    """Return the share of texts that are within a tenth after so many were counted."""
    contents = [measure(text) for text in texts]
    right = seen = 0
    for seed in range(SEEDS):
        order = random.Random(seed).sample(range(len(texts)), len(texts))
        known = Calibration()
        for at in order[:counted]:
            known.learn(model, contents[at], told[at], counted=True)
        for at in order[counted:]:
            expected = known.expect(model, contents[at]).expected
            right += abs(expected / told[at] - 1) <= 0.1
            seen += 1
    return right / seen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, help="a vocabulary file")
    asked = parser.parse_args()
    kinds = {
        "code, 30,000": partitions("**/*.py", 30_000),
        "code, 8,000": partitions("**/*.py", 8_000),
        "text": partitions("**/*.txt", 4_000),
        "tables": tables(),
    }
    head = f"{'counter':<22}{'kind':<14}{'texts':>6}{'bytes/token':>12}"
    print(f"{head}{'before':>9}{'after':>9}")
    for name, (model, count) in counters(asked.tokenizer).items():
        for kind, texts in kinds.items():
            told = [count(text) for text in texts]
            density = median(
                len(t.encode()) / n for t, n in zip(texts, told, strict=True)
            )
            counted = min(COUNTED, len(texts) // 2)
            shares = [within(model, texts, told, n) for n in (0, counted)]
            figures = "".join(f"{share:>9.1%}" for share in shares)
            print(f"{name:<22}{kind:<14}{len(texts):>6}{density:>12.2f}{figures}")


if __name__ == "__main__":
    main()
