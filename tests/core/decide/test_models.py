"""One table of models: what is known, what is inherited, what is not assumed."""

import pytest

from fanout.decide.contexts import too_large
from fanout.decide.models import TABLE, Facts, facts_of
from fanout.decide.money.pricing import BUILT_IN, price_of


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        ("claude-opus-5", Facts("claude-opus-5", 1_000_000, 512)),
        ("claude-opus-5-5", Facts("claude-opus-5-5", 1_000_000, 512)),
        ("claude-opus-5-9", Facts("claude-opus-5-9", 1_000_000, 512)),
        ("claude-sonnet-5-20261001", Facts("claude-sonnet-5", 1_000_000, 1_024)),
        ("claude-haiku-5-5", Facts("claude-haiku-5-5", 1_000_000, 1_024)),
        ("claude-haiku-4-5", Facts("claude-haiku-4-5", 200_000)),
        ("claude-opus-4-7", Facts("claude-opus-4.x", None, 2_048)),
        ("claude-opus-4-20250514", Facts("claude-opus-4.x")),
        ("claude-sonnet-4-5-20250929", Facts("claude-sonnet-4.x", None, 1_024)),
        ("claude-sonnet-4-6", Facts("claude-sonnet-4.x", None, 1_024)),
        ("claude-opus-4-fast", Facts("claude-opus-4-fast")),
        ("somebody-elses", Facts("somebody-elses")),
        ("7", Facts("7")),
        ("-7", Facts("-7")),
        ("", Facts("")),
    ],
)
def test_what_is_known_of_a_model(model: str, facts: Facts) -> None:
    assert facts_of(model) == facts


def test_a_price_is_a_models_own() -> None:
    assert price_of("claude-opus-5-5", BUILT_IN) != price_of("claude-opus-5", BUILT_IN)
    assert price_of("claude-opus-5-9", BUILT_IN) is None
    assert price_of("claude-opus-4", BUILT_IN) is None


def test_an_entry_says_nothing_that_nobody_reads() -> None:
    """A misspelt word would be passed over."""
    prices = {"input", "output", "cache_write", "cache_read"}
    prices |= {"long_over", "long_input", "long_output"}
    for name, entry in TABLE["models"].items():
        assert entry.keys() <= prices | {"context", "cache_from", "pool"}, name
        assert ("input" in entry) == ("output" in entry), name


def test_only_what_is_clearly_too_much_is_held_back() -> None:
    assert too_large("claude-haiku-4-5", 210_000) == ""
    assert "reads 200,000" in too_large("claude-haiku-4-5", 230_000)
    assert too_large("somebody-elses", 10**9) == ""
