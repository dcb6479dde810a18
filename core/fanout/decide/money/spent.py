"""What earlier lives of a run have spent, as the next one's purses begin with it."""

from collections.abc import Mapping
from dataclasses import replace

from fanout.decide.batching import PRICE
from fanout.decide.fold.run_state import RUN
from fanout.decide.fold.state import RunState
from fanout.decide.money.budget import Purses
from fanout.decide.sums import minus
from fanout.words.budgets import Budget, BudgetView
from fanout.words.model import RowId, Usage


def budgets_of(state: RunState) -> dict[str, BudgetView]:
    """Return what holds of the run (`RUN`) and of each phase with a budget.

    As its journal tells it: what is in flight is set aside by nobody.
    """
    if not state.budgets:
        spend = state.spend
        dollars = spend.dollars(state.prices)
        return {RUN: BudgetView(tokens=spend.tokens, dollars=dollars)}
    purses = purses_of(state.budgets.get(RUN, Budget()), state)
    views = {RUN: purses.run.view()}
    for phase, budget in state.budgets.items():
        if phase != RUN:
            purse = purses.phase(phase)
            purse.budget = budget
            views[phase] = purse.view()
    return with_raises(views, state)


def with_raises(
    views: Mapping[str, BudgetView], state: RunState
) -> dict[str, BudgetView]:
    """Return the budgets with how each of them was raised."""
    if not state.raised:
        return dict(views)
    return {
        name: replace(
            view, raised=tuple(one for one in state.raised if one.phase == name)
        )
        for name, view in views.items()
    }


def purses_of(budget: Budget, state: RunState) -> Purses:
    """Return the purses of a life, with what earlier ones used and may have used."""
    purses = Purses(budget, state.prices)
    for phase, spend in state.spent.items():
        purses.begin(phase, spend)
    # Numbered beyond any call, so that no call of this life settles it.
    number = state.next_call + 1_000_000
    left = _left_in_batches(state, purses)
    doubt = Usage()
    for row in state.rows.values():
        if row.spec is not None and row.tally.in_doubt.total:
            doubt += row.tally.in_doubt
            most = minus(row.tally.in_doubt, left.get(row.id, Usage()))
            purses.doubt(row.id, number + 1 + row.order, row.spec.model, most)
    # Rows that a later script dropped may have been paid for all the same.
    model = state.start.model if state.start is not None else ""
    rest = minus(state.totals.in_doubt, doubt)
    purses.doubt(RowId(RUN, ""), number, model, rest)
    return purses


def _left_in_batches(state: RunState, purses: Purses) -> dict[RowId, Usage]:
    """Set aside what calls left in batches may cost, each by its own number."""
    left: dict[RowId, Usage] = {}
    for batch in state.batches.by_number.values():
        for member in batch.members.values():
            if not member.left or member.dropped:
                continue
            purses.doubt(
                member.row, member.call, member.model, member.doubt, share=PRICE
            )
            left[member.row] = left.get(member.row, Usage()) + member.doubt
    return left
