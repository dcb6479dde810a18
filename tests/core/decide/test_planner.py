"""Who may send, as tables: given an account, at a moment, expect a decision."""

from fanout.decide.account import Account
from fanout.decide.line import Ticket
from fanout.decide.planner import plan
from fanout.words.model import Cause, Need, RowId


def ticket(key: str, tokens: int = 1000, *, first: int = 1) -> Ticket:
    return Ticket(
        row=RowId("p", key), pool="m", need=Need(tokens, 500, 8192), priority=(first,)
    )


def account() -> Account:
    return Account(chance=lambda: 0.5)


def test_one_call_asks_an_unknown_account() -> None:
    """Before the first headers one call is out, and the others say why they wait."""
    books = account()
    for key in "abc":
        books.enqueue(ticket(key), 0.0)
    decision = plan(books, 0.0)
    assert len(decision.starts) == 1
    assert decision.gates["m"].cause is Cause.LEARNING


def test_a_closed_run_starts_nothing() -> None:
    books = account()
    books.enqueue(ticket("a"), 0.0)
    decision = plan(books, 0.0, open=False, cause_if_closed=Cause.PAUSED)
    assert decision.starts == ()
    assert decision.gates["m"].cause is Cause.PAUSED
