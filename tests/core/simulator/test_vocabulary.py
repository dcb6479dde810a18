"""What the simulated account counts: as tokenizers do, and always the same."""

import json
import random
import string
import sysconfig
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.simulator import tokens, vocabulary
from fanout.simulator.models import MODELS
from fanout.simulator.vocabulary import NEWER, OLDER, Vocabulary, count, vocabulary_of
from figures import record_figure

STDLIB = Path(sysconfig.get_paths()["stdlib"])
PROSE = (
    "It was a quiet morning, and nobody in the village had heard of what happened.\n"
    "The letter lay unopened on the kitchen table; she looked at it for a long time.\n"
)


def code() -> str:
    files = sorted(STDLIB.glob("*.py"))[:60]
    return "\n".join(file.read_text(errors="replace") for file in files)


def table() -> str:
    chance = random.Random(7)
    rows = (
        ",".join(f"{chance.random():.6f}" for _ in range(8)) + "\n" for _ in range(500)
    )
    return "".join(rows)


def records() -> str:
    return json.dumps(
        [
            {"id": at, "name": f"item {at}", "tags": ["red", "small"], "ok": True}
            for at in range(400)
        ]
    )


HAN = "村子里没有人知道昨天夜里发生了什么事情。她把信放在桌子上看了很久。" * 40
KINDS = {
    # What published vocabularies give, as bytes to a token.
    "code": (code, 3.6, 4.4),
    "prose": (lambda: PROSE * 40, 4.0, 5.0),
    "json": (records, 2.6, 4.0),
    "table": (table, 1.4, 2.2),
    "han": (lambda: HAN, 2.4, 3.6),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_text_has_the_density_of_published_vocabularies(kind: str) -> None:
    make, low, high = KINDS[kind]
    text = make()
    assert low < len(text.encode()) / count(text, OLDER) < high


def test_a_newer_generation_counts_about_a_third_more() -> None:
    more = {
        kind: count(make(), NEWER) / count(make(), OLDER)
        for kind, (make, *_) in KINDS.items()
    }
    assert 1.2 < more["code"] < 1.4
    assert all(1.05 < share < 1.6 for share in more.values()), more


def test_generations_begin_with_4_7() -> None:
    newer = {n for n, m in MODELS.items() if vocabulary_of(m.generation) is NEWER}
    assert "claude-opus-4-7" in newer
    assert "claude-sonnet-5" in newer
    assert not newer & {"claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-6"}


@pytest.mark.parametrize("words", [OLDER, NEWER], ids=["older", "newer"])
@given(text=st.text(max_size=2_000), more=st.text(max_size=200))
def test_it_counts_the_same_again_and_never_less_for_more(
    words: Vocabulary, text: str, more: str
) -> None:
    whole = count(text + "\n" + more, words)
    assert count(text, words) == count(text, words)
    parts = count(text, words) + count(more, words)
    # A seam joins or parts two pieces at most, and each part is rounded up.
    assert abs(whole - parts) <= 4
    assert (count(text, words) == 0) == (not text.strip(" \r\f\v"))


def test_words_that_are_common_are_one_token_and_a_blob_is_many() -> None:
    assert count("word " * 1_000, NEWER) == 1_000
    chance = random.Random(1)
    blob = "".join(chance.choices(string.ascii_letters + string.digits, k=6_000))
    assert 1.2 < len(blob) / count(blob, OLDER) < 4


def test_a_growing_conversation_is_its_blocks() -> None:
    blocks = [{"type": "text", "text": f"{at} {PROSE}"} for at in range(5)]
    sizes = [tokens.block_tokens(block, NEWER) for block in blocks]
    for before, after in pairwise(range(1, 5)):
        assert sum(sizes[:after]) - sum(sizes[:before]) == sizes[before]


def test_a_large_body_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (code() * 2)[:500_000]
    started = time.process_time()
    first = count(text, NEWER)
    taken = time.process_time() - started
    monkeypatch.setattr(vocabulary, "_count", None)
    assert count(text[:1] + text[1:], NEWER) == first
    record_figure(
        "simulated account, tokens of 500 KB", "≤ 50 ms CPU", f"{taken * 1e3:.0f} ms"
    )
