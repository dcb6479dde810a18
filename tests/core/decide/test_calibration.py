"""What vocabularies make of texts: learned, sure of itself, and never led astray."""

import json
import math
import random
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanout
from fanout.decide.calibration import (
    BELIEVED,
    NEWER,
    OLDER,
    Calibration,
    Sums,
    generation,
    local,
)
from fanout.decide.parts.content import WEIGHTS, Content, Kind, measure
from fanout.script.parts.partition import render
from fanout.simulator import vocabulary
from fanout.simulator.models import MODELS
from figures import record_figure

STDLIB = Path(sysconfig.get_paths()["stdlib"])
MODEL = {OLDER: "claude-sonnet-4-6", NEWER: "claude-sonnet-5"}
WORDS = {OLDER: vocabulary.OLDER, NEWER: vocabulary.NEWER}
COUNTED = 24
WITHIN = 0.1

contents = st.tuples(*[st.integers(0, 4_000)] * len(Kind)).filter(any)


@cache
def code() -> tuple[str, ...]:
    """Partitions of the standard library, as agents are given them."""
    parts = [
        part
        for folder in ("asyncio", "email", "http", "json", "xml", "unittest", "logging")
        for part in fanout.partition(STDLIB / folder, "**/*.py", max_tokens=8_000)
    ]
    parts += fanout.partition(STDLIB, "[a-s]*.py", max_tokens=8_000)
    parts += fanout.partition(STDLIB / "encodings", "*.py", max_tokens=8_000)
    chosen = random.Random(3).sample(parts, 120)
    return tuple(render(part, inline=True) for part in chosen)


def prose(chance: random.Random) -> str:
    words = [
        "the",
        "of",
        "and",
        "a",
        "letter",
        "morning",
        "had",
        "been",
        "nobody",
        "in",
        "village",
        "on",
        "table",
    ]
    words += ["remarkable", "circumstances", "nevertheless", "understanding", "quietly"]
    lines = (" ".join(chance.choices(words, k=14)) + ".\n" for _ in range(200))
    return "# Chapter\n\n" + "".join(lines)


def records(chance: random.Random) -> str:
    rows = [
        {
            "id": chance.randrange(10**6),
            "name": chance.choice(["lamp", "chair", "window"]),
            "price": round(chance.random() * 90, 2),
            "tags": chance.sample(["red", "blue", "large", "wood"], 2),
        }
        for _ in range(150)
    ]
    return json.dumps(rows, indent=chance.choice([None, 1]))


def table(chance: random.Random) -> str:
    lines = (
        ",".join(f"{chance.random() * 99:.3f}" for _ in range(6)) for _ in range(200)
    )
    return "a,b,c,d,e,f\n" + "\n".join(lines)


@cache
def mixed() -> tuple[str, ...]:
    chance = random.Random(5)
    made = [make(chance) for make in (prose, records, table) for _ in range(25)]
    return (*made, *code()[:45])


def texts_of(name: str) -> Sequence[str]:
    return code() if name == "code" else mixed()


def held_out(texts: Sequence[str], name: str, seed: int) -> list[float]:
    """How far off those are that were not counted, after others were."""
    chance = random.Random(seed)
    order = chance.sample(range(len(texts)), len(texts))
    calibration = Calibration()
    for at in order[:COUNTED]:
        told = vocabulary.count(texts[at], WORDS[name]) * chance.uniform(0.98, 1.02)
        assert calibration.learn(MODEL[name], measure(texts[at]), told, counted=True)
    off = []
    for at in order[COUNTED:]:
        expected = calibration.expect(MODEL[name], measure(texts[at])).expected
        off.append(expected / vocabulary.count(texts[at], WORDS[name]) - 1)
    return off


@pytest.mark.parametrize("name", [OLDER, NEWER])
@pytest.mark.parametrize("what", ["code", "mixed"])
def test_nine_of_ten_texts_that_were_not_counted_are_within_a_tenth(
    what: str, name: str
) -> None:
    off = [one for seed in range(5) for one in held_out(texts_of(what), name, seed)]
    share = sum(abs(one) <= WITHIN for one in off) / len(off)
    assert share >= 0.9
    text = "partitions of the standard library" if what == "code" else "a mixed tree"
    record_figure(
        f"token estimates, {text}, {name} models",
        "9 of 10 within 10 % of the counter after 24 counted",
        f"{share:.1%}, median {sorted(map(abs, off))[len(off) // 2]:.1%} off",
    )


@pytest.mark.parametrize("name", [OLDER, NEWER])
def test_the_stated_error_holds_for_nine_of_ten(name: str) -> None:
    texts = code()
    calibration = Calibration()
    for text in texts[:COUNTED]:
        told = vocabulary.count(text, WORDS[name])
        calibration.learn(MODEL[name], measure(text), told, counted=True)
    inside = 0
    for text in texts[COUNTED:]:
        known = calibration.expect(MODEL[name], measure(text))
        inside += known.low <= vocabulary.count(text, WORDS[name]) <= known.high
        assert known.high / known.expected - 1 < 0.15
    assert inside / (len(texts) - COUNTED) >= 0.88


@pytest.mark.parametrize("name", [OLDER, NEWER])
def test_before_anything_was_counted_the_error_is_stated_too(name: str) -> None:
    inside = 0
    for text in code():
        known = Calibration().expect(MODEL[name], measure(text))
        inside += known.low <= vocabulary.count(text, WORDS[name]) <= known.high
    assert inside / len(code()) >= 0.95


def test_generations() -> None:
    assert {generation(model) for model in MODELS} == {OLDER, NEWER}
    assert generation("claude-opus-4-7") == generation("claude-haiku-5-5") == NEWER
    assert generation("claude-opus-4-6-20260101") == OLDER
    assert generation("claude-3-5-haiku-20241022") == OLDER
    assert generation("my-own-model") == "my-own-model"


@given(
    contents,
    st.lists(
        st.tuples(contents, st.floats(allow_nan=True, allow_infinity=True)), max_size=8
    ),
)
def test_no_counter_makes_an_estimate_senseless(
    content: Content, told: list[tuple[Content, float]]
) -> None:
    calibration = Calibration()
    for one, tokens in told:
        calibration.learn("claude-sonnet-5", one, tokens, counted=True)
    supposed = local("claude-sonnet-5", content)
    known = calibration.expect("claude-sonnet-5", content)
    assert 0 <= known.low <= known.expected <= known.high
    assert supposed / BELIEVED * 0.999 <= known.expected <= supposed * BELIEVED * 1.001
    assert math.isfinite(known.high)


@given(
    st.lists(st.tuples(contents, st.floats(0.5, 2.0)), min_size=1, max_size=12),
    contents,
    st.randoms(use_true_random=False),
)
def test_the_order_of_observations_does_not_matter(
    told: list[tuple[Content, float]], content: Content, chance: random.Random
) -> None:
    def learned(some: list[tuple[Content, float]]) -> float:
        calibration = Calibration()
        for one, share in some:
            tokens = share * local("claude-sonnet-5", one)
            calibration.learn("claude-sonnet-5", one, tokens, counted=True)
        return calibration.expect("claude-sonnet-5", content).expected

    shuffled = chance.sample(told, len(told))
    assert learned(shuffled) == pytest.approx(learned(told), rel=1e-6)


@pytest.mark.parametrize("lie", [0, -5, 10**9, 1, math.nan, math.inf, -math.inf])
def test_what_cannot_be_true_is_not_believed(lie: float) -> None:
    calibration = Calibration()
    text = measure("Some words of a text, 12 times.\n" * 50)
    before = calibration.expect("claude-sonnet-5", text)
    assert not calibration.learn("claude-sonnet-5", text, lie, counted=True)
    assert calibration.expect("claude-sonnet-5", text) == before
    assert not calibration.holds("claude-sonnet-5")
    assert calibration.holds("claude-sonnet-4-5")


def test_one_liar_among_many_moves_little() -> None:
    texts = code()[:40]
    honest, fooled = Calibration(), Calibration()
    for text in texts:
        told = vocabulary.count(text, vocabulary.NEWER)
        for one in (honest, fooled):
            one.learn(MODEL[NEWER], measure(text), told, counted=True)
    told = 2 * vocabulary.count(texts[0], vocabulary.NEWER)
    fooled.learn(MODEL[NEWER], measure(texts[0]), told, counted=True)
    for text in texts[:10]:
        known = honest.expect(MODEL[NEWER], measure(text))
        assert fooled.expect(MODEL[NEWER], measure(text)).expected == pytest.approx(
            known.expected, rel=0.12
        )


def test_generations_and_unknown_models_teach_each_other_nothing() -> None:
    calibration = Calibration()
    text = measure(code()[0])
    tokens = 1.5 * local("claude-sonnet-5", text)
    calibration.learn("claude-sonnet-5", text, tokens, counted=True)
    for other in ("claude-sonnet-4-5", "my-own-model"):
        known = calibration.expect(other, text).expected
        assert known == pytest.approx(local(other, text))
    same = calibration.expect("claude-opus-4-7", text)
    assert same == calibration.expect("claude-sonnet-5", text)


def test_a_kind_that_never_came_keeps_what_all_kinds_have() -> None:
    calibration = Calibration()
    for text in code()[:COUNTED]:
        content = measure(text)
        tokens = 1.2 * local("claude-sonnet-5", content)
        calibration.learn("claude-sonnet-5", content, tokens, counted=True)
    han = measure("村子里没有人知道" * 200)
    share = calibration.expect("claude-sonnet-5", han).expected / local(
        "claude-sonnet-5", han
    )
    assert 0.95 < share < 1.25


def test_earlier_runs_count_for_so_many_at_most() -> None:
    one, many = Calibration(), Calibration()
    for text in code():
        content = measure(text)
        tokens = local("claude-sonnet-5", content)
        many.learn("claude-sonnet-5", content, tokens, counted=False)
    content = measure(code()[0])
    one.learn("claude-sonnet-5", content, 900, counted=False)
    joined = one.joined(many, 40.0).known("claude-sonnet-5")
    assert joined.count == pytest.approx(40.0, abs=1.0)
    assert Calibration().joined(Calibration(), 40.0).known("claude-sonnet-5") == Sums()


def test_weights_are_tokens_of_published_vocabularies() -> None:
    """Source code has about 4 bytes a token there, and a page of prose 4 to 5."""
    for text in code()[:20]:
        density = len(text.encode()) / local(MODEL[OLDER], measure(text))
        assert 2.0 < density < 5.0
    assert len(WEIGHTS) == len(measure("x"))
