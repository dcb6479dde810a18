"""What calls are expected to use follows what they did use."""

import random

from fanout.decide.admission.estimate import Estimator
from fanout.words.model import Need, Usage


def need(estimator: Estimator, **changes: object) -> Need:
    facts: dict[str, object] = {
        "model": "m",
        "phase": "p",
        "turn": 1,
        "new_bytes": 40_000,
        "known_input": 0,
        "cached": 0,
        "max_tokens": 32_000,
    }
    return estimator.need(**(facts | changes))  # type: ignore[arg-type]


def learn(estimator: Estimator, usage: Usage, **changes: object) -> None:
    facts: dict[str, object] = {
        "model": "m",
        "phase": "p",
        "turn": 1,
        "new_bytes": 40_000,
        "known_input": 0,
        "cached": 0,
    }
    estimator.learn(usage=usage, **(facts | changes))  # type: ignore[arg-type]


def test_max_tokens_is_the_worst_case_and_not_the_expectation() -> None:
    got = need(Estimator())
    assert got.output == 800
    assert got.worst_output == 32_000
    assert need(Estimator(), max_tokens=100).output == 100


def test_output_follows_the_phase() -> None:
    estimator, chance = Estimator(), random.Random(1)
    for _ in range(60):
        learn(estimator, Usage(10_000, round(chance.uniform(200, 400))))
        learn(estimator, Usage(10_000, 5_000), phase="other")
    assert 300 <= need(estimator).output <= 340
    assert 4_700 <= need(estimator, phase="other").output <= 5_100
    assert need(estimator, phase="new").output > 1_000


def test_a_byte_is_worth_what_it_was_worth() -> None:
    estimator = Estimator()
    for _ in range(40):
        learn(estimator, Usage(8_000, 100))
    assert 8_000 <= need(estimator).input <= 8_800


def test_one_answer_is_not_a_measure_of_its_neighbours() -> None:
    estimator = Estimator()
    learn(estimator, Usage(8_000, 100))
    assert need(estimator).input >= 9_000


def test_a_later_turn_knows_its_own_history() -> None:
    estimator = Estimator()
    for _ in range(40):
        learn(estimator, Usage(8_000, 100))
    got = need(estimator, turn=5, known_input=90_000, new_bytes=1_000)
    assert 90_200 <= got.input <= 90_220


def test_cache_reads_are_not_charged_as_far_as_they_happen() -> None:
    estimator = Estimator()
    expected = {"known_input": 90_000, "cached": 90_000, "new_bytes": 1_000}
    assert need(estimator, **expected).input < 500
    for _ in range(30):
        learn(estimator, Usage(90_200, 50, 0, 0), **expected)
    assert need(estimator, **expected).input > 80_000


def test_nonsense_usage_teaches_nothing_dangerous() -> None:
    estimator = Estimator()
    learn(estimator, Usage())
    learn(estimator, Usage(5, 0), new_bytes=0)
    learn(estimator, Usage(100, 0), known_input=100_000)
    assert need(estimator) == need(Estimator())
