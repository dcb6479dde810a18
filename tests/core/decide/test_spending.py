"""Prices as data, dollars call by call, and budgets as options say them."""

import json
from random import Random

import pytest

from fanout.decide.fold.state import RunState, apply
from fanout.decide.money.budget import Purses, Scope
from fanout.decide.money.pricing import (
    BUILT_IN,
    as_json,
    dollars,
    from_json,
    overridden,
    price_of,
)
from fanout.decide.money.spending import Spend
from fanout.decide.money.spent import budgets_of, purses_of
from fanout.disk.codec import decode, encode
from fanout.testing.stories import Story
from fanout.words.budgets import Budget
from fanout.words.events import (
    CallAdmitted,
    CallAnswered,
    LifeStarted,
    Record,
)
from fanout.words.events import RowScheduled as Scheduled
from fanout.words.model import Need, RowId, RowSpec, Tally, Usage
from fanout.words.prices import Price, Prices

LONG = "claude-haiku-5-5"
ROW = RowId("main", "a")


def life(number: int, prices: Prices | None = None) -> LifeStarted:
    return LifeStarted(
        run="r",
        life=number,
        script="/s.py",
        arguments=(),
        endpoint="simulated:demo",
        simulated=True,
        model=LONG,
        version="0",
        pid=1,
        prices=None if prices is None else as_json(prices),
    )


def spec(model: str) -> RowSpec:
    return RowSpec(
        kind="agent",
        model=model,
        pool=model,
        fingerprint="1:0",
        max_tokens=10,
        max_turns=9,
        estimate=1,
    )


def told(*events: object) -> RunState:
    state = RunState()
    for seq, event in enumerate(events, 1):
        number = state.life + isinstance(event, LifeStarted)
        record = Record(seq, number, float(seq), event)  # type: ignore[arg-type]
        apply(state, decode(encode(record)))  # type: ignore[arg-type]
    return state


def call(number: int, usage: Usage) -> list[object]:
    need = Need(input=1, output=1, worst_output=1)
    return [
        CallAdmitted(row=ROW, call=number, turn=number, pool=LONG, need=need),
        CallAnswered(row=ROW, call=number, usage=usage, stop_reason="x", answer=[]),
    ]


def test_the_table_says_when_and_whence_and_survives_the_journal() -> None:
    assert BUILT_IN.as_of
    assert BUILT_IN.source
    assert not BUILT_IN.overridden
    assert from_json(json.loads(json.dumps(as_json(BUILT_IN)))) == BUILT_IN
    later = as_json(BUILT_IN)
    later["models"]["claude-sonnet-5"]["of_a_later_version"] = 1
    assert from_json(later) == BUILT_IN


def test_dated_names_share_a_price_and_unknown_ones_have_none() -> None:
    assert price_of("claude-haiku-4-5-20251001", BUILT_IN) == Price(input=1, output=5)
    assert price_of("claude-haiku-4-5-x", BUILT_IN) is None
    assert dollars("unheard", Usage(1, 1), BUILT_IN) is None


def test_settings_lay_single_prices_over_the_table() -> None:
    mine = Price(input=1, output=5, cache_write=2, cache_read=0.5)
    table = overridden(BUILT_IN, {"mine": mine})
    assert table.overridden == ("mine",)
    million = 1_000_000
    one = Usage(million, million, million, million)
    assert dollars("mine", one, table) == pytest.approx(1 + 5 + 0.5 + 2)
    assert table.models["claude-sonnet-5"] == BUILT_IN.models["claude-sonnet-5"]


def test_many_short_prompts_are_not_one_long_one() -> None:
    """Also after a resume, where the purses begin with what was spent."""
    calls = [one for n in range(1, 5) for one in call(n, Usage(60_000, 100))]
    state = told(life(1), Scheduled(row=ROW, spec=spec(LONG), opening={}), *calls)
    each = 60_000 * 0.10e-6 + 100 * 0.50e-6
    assert state.totals.dollars == pytest.approx(4 * each)
    assert purses_of(Budget(), state).dollars == pytest.approx(4 * each)
    assert state.rows[ROW].tally.dollars == pytest.approx(4 * each)


def test_each_life_reckons_with_the_prices_it_journaled() -> None:
    dear = overridden(BUILT_IN, {LONG: Price(input=100, output=0)})
    million = Usage(10_000)
    state = told(
        life(1, dear),
        Scheduled(row=ROW, spec=spec(LONG), opening={}),
        *call(1, million),
        life(2),
        Scheduled(row=ROW, spec=spec(LONG), opening={}),
        *call(2, million),
    )
    assert state.prices == BUILT_IN
    assert state.totals.dollars == pytest.approx(1.0 + 10_000 * 0.10e-6)


def test_a_price_that_comes_later_tells_what_earlier_lives_spent() -> None:
    begun = [Scheduled(row=ROW, spec=spec("mine"), opening={}), *call(1, Usage(500))]
    state = told(life(1), *begun)
    assert state.totals.dollars is None
    mine = overridden(BUILT_IN, {"mine": Price(input=2_000, output=0)})
    state = told(life(1), *begun, life(2, mine))
    assert state.totals.dollars == pytest.approx(1.0)
    purses = purses_of(Budget(dollars=1.5), state)
    assert purses.refusal(ROW, "mine", Usage(100)) is None
    refusal = purses.refusal(ROW, "mine", Usage(400))
    assert refusal is not None
    assert refusal.scope is Scope.RUN


@pytest.mark.parametrize("seed", range(6))
def test_phases_sum_to_the_run_and_to_what_calls_used(seed: int) -> None:
    """Over lives, kills, batches that are left and settled, and dropped rows."""
    story = Story(seed)
    for _ in story.tell(1_500):
        totals = story.state.totals
        known = (totals.useful + totals.wasted).total
        assert sum(s.tokens for s in story.state.spent.values()) == known
    views = budgets_of(story.state)
    assert views[""].tokens == story.state.spend.tokens
    doubt = story.state.totals.in_doubt.total
    assert purses_of(Budget(), story.state).run.view().held_tokens == doubt


def test_what_is_counted_out_again_leaves_nothing() -> None:
    spend = Spend()
    for model, cost in (("a", 0.5), ("b", None)):
        spend.add(model, Usage(10), cost)
        spend.take(model, Usage(10), cost)
    assert spend == Spend()


@pytest.mark.parametrize("seed", range(20))
def test_no_purse_is_ever_above_its_ceiling(seed: int) -> None:
    """Calls come and end by chance; each uses at most its worst case."""
    random = Random(seed)
    run = Budget(tokens=random.randrange(500, 5_000), dollars=random.uniform(0.001, 1))
    phase, agent = Budget(tokens=1_500), Budget(dollars=0.004)
    purses = Purses(run, BUILT_IN)
    purses.phase("p").budget = phase
    rows = [RowId(p, f"k{n}") for p in ("p", "q") for n in range(5)]
    model = "claude-sonnet-5"
    for row in rows:
        purses.bound_agent(row, agent, model, Tally())
    flying: dict[int, tuple[RowId, Usage]] = {}
    refused = 0
    for number in range(1, 600):
        row, worst = random.choice(rows), Usage(random.randrange(90), 200)
        share = random.choice((1.0, 0.5))
        if purses.refusal(row, model, worst, share=share) is None:
            purses.reserve(row, number, model, worst, share=share)
            flying[number] = row, worst
        else:
            refused += 1
        if flying and random.random() < 0.7:
            ended = random.choice(list(flying))
            row, worst = flying.pop(ended)
            purses.settle(row, ended)
            used = Usage(worst.input_tokens, random.randrange(worst.output_tokens))
            if random.random() < 0.2:
                purses.doubt(row, ended, model, used, share=0.5)
            else:
                purses.charge(row, model, used, share=0.5)
        for view in (purses.run.view(), purses.phase("p").view()):
            tokens, cost = view.budget.tokens, view.budget.dollars
            assert tokens is None or view.tokens + view.held_tokens <= tokens
            assert view.dollars is not None
            assert view.held_dollars is not None
            assert cost is None or view.dollars + view.held_dollars <= cost + 1e-12
    assert refused
    inside = [purse.tokens for purse in purses.phases.values()]
    assert sum(inside) == purses.tokens
