"""What may be spent without a word, and what a yes allows."""

from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.forecast.confirm import DOLLARS, TOKENS, Allowance, Amount
from fanout.words.budgets import Budget
from fanout.words.forecast import NOTHING, Forecast, PhaseForecast, Range, TokenRange

NONE = Amount(tokens=0, dollars=0.0)


def left(tokens: float, dollars: float | None = 0.0, spread: float = 0.5) -> Forecast:
    figure = Range(tokens * (1 - spread), tokens, tokens * (1 + spread))
    cost = None
    if dollars is not None:
        cost = Range(dollars * (1 - spread), dollars, dollars * (1 + spread))
    phase = PhaseForecast(
        phase="main",
        model="m",
        pool="p",
        rows=1,
        learned=1,
        calls=NOTHING,
        tokens=TokenRange(input=figure),
        dollars=cost,
        seconds=1.0,
    )
    return Forecast(phases=(phase,))


def fresh(budget: Budget = Budget(), before: Amount = NONE) -> Allowance:  # noqa: B008
    return Allowance(budget, before)


def test_a_little_needs_no_question() -> None:
    assert fresh().covers(NONE, left(TOKENS, DOLLARS))
    assert not fresh().covers(NONE, left(TOKENS + 1, 1.0))
    assert not fresh().covers(NONE, left(1_000, DOLLARS + 0.01))


def test_what_was_spent_counts() -> None:
    spent = Amount(tokens=TOKENS / 2, dollars=DOLLARS / 2)
    assert not fresh().covers(spent, left(TOKENS / 2 + 1))
    assert not fresh().covers(spent, left(1_000, DOLLARS / 2 + 0.01))


def test_a_yes_allows_what_was_shown_at_its_high_end() -> None:
    allowance = fresh()
    allowance.confirm(NONE, left(4e6, 10.0))
    spent = Amount(tokens=3e6, dollars=8.0)
    assert allowance.covers(spent, left(3e6, 7.0))
    assert not allowance.covers(spent, left(3e6 + 1, 7.0))
    assert not allowance.covers(spent, left(3e6, 7.01))


def test_an_unknown_price_is_asked_about_by_tokens_and_confirmed_whole() -> None:
    allowance = fresh()
    assert allowance.covers(NONE, left(TOKENS, None))
    assert not allowance.covers(NONE, left(TOKENS + 1, None))
    allowance.confirm(NONE, left(TOKENS + 1, None))
    assert allowance.covers(NONE, left(TOKENS, 500.0))


def test_a_budget_bounds_what_a_run_comes_to() -> None:
    small = Budget(tokens=1_000_000, dollars=2.0)
    assert fresh(small).covers(NONE, left(9e9, 9e3))
    large = Budget(tokens=9_000_000)
    assert not fresh(large).covers(NONE, left(9e9, 1.0))
    # What a ceiling of tokens leaves undone costs nothing.
    assert fresh(Budget(tokens=1_000)).covers(NONE, left(4e6, 2_000 * DOLLARS))
    assert not fresh(Budget(tokens=1_000)).covers(NONE, left(4e6, 5_000 * DOLLARS))
    # Earlier lives have used most of it.
    used = Amount(tokens=8_000_000, dollars=None)
    assert fresh(large, used).covers(NONE, left(9e9, 1.0))


@given(
    st.lists(st.tuples(st.floats(0, 1e8), st.floats(0, 1e3)), min_size=1, max_size=12)
)
def test_nothing_goes_that_was_neither_small_nor_confirmed(
    waves: list[tuple[float, float]],
) -> None:
    """Whatever waves come: the sum that goes is below the last yes, or small."""
    allowance = fresh()
    allowed_tokens, allowed_dollars = float(TOKENS), DOLLARS
    gone_tokens = gone_dollars = 0.0
    for tokens, dollars in waves:
        spent = Amount(tokens=gone_tokens, dollars=gone_dollars)
        wave = left(tokens, dollars)
        if not allowance.covers(spent, wave):
            allowance.confirm(spent, wave)
            allowed_tokens = max(allowed_tokens, gone_tokens + 1.5 * tokens)
            allowed_dollars = max(allowed_dollars, gone_dollars + 1.5 * dollars)
            assert allowance.covers(spent, wave)
        gone_tokens += tokens
        gone_dollars += dollars
        assert gone_tokens <= allowed_tokens * (1 + 1e-9)
        assert gone_dollars <= allowed_dollars * (1 + 1e-9)
