"""What earlier lives of a run have spent, as the next one's purse begins with it."""

from fanout.decide.batching import PRICE
from fanout.decide.budget import Budget, Purse
from fanout.decide.state import RunState
from fanout.decide.sums import minus
from fanout.words.model import RowId, Usage


def purse_of(budget: Budget, state: RunState) -> Purse:
    """Return the purse of a life, with what earlier ones used and may have used."""
    spent: dict[str, Usage] = {}
    seen = doubt = Usage()
    for row in state.rows.values():
        if row.spec is not None:
            used = row.tally.useful + row.tally.wasted
            spent[row.spec.model] = spent.get(row.spec.model, Usage()) + used
            seen, doubt = seen + used, doubt + row.tally.in_doubt
    # Rows that a later script dropped were paid for all the same.
    model = state.start.model if state.start is not None else ""
    totals = state.totals
    rest = minus(totals.useful + totals.wasted, seen)
    spent[model] = spent.get(model, Usage()) + rest
    purse = Purse(budget, spent)
    for name, used_in_batches in state.batches.used.items():
        purse.rebate(name, used_in_batches.usage(), PRICE)
    # Numbered beyond any call, so that no call of this life settles it.
    number = state.next_call + 1_000_000
    purse.doubt(number, model, minus(totals.in_doubt, doubt))
    left = _left_in_batches(state, purse)
    for row in state.rows.values():
        if row.spec is not None:
            most = minus(row.tally.in_doubt, left.get(row.id, Usage()))
            purse.doubt(number + 1 + row.order, row.spec.model, most)
    return purse


def _left_in_batches(state: RunState, purse: Purse) -> dict[RowId, Usage]:
    """Set aside what calls left in batches may cost, each by its own number."""
    left: dict[RowId, Usage] = {}
    for batch in state.batches.by_number.values():
        for member in batch.members.values():
            if not member.left or member.dropped:
                continue
            purse.doubt(member.call, member.model, member.doubt, share=PRICE)
            left[member.row] = left.get(member.row, Usage()) + member.doubt
    return left
