"""Who may send, as tables: given an account, at a moment, expect a decision."""

import pytest

from bench.admission_cost import measure
from core.decide.books import (
    Desk,
    account,
    answer,
    limits,
    refusal,
    row,
    started,
    ticket,
)
from fanout.decide.admission.estimate import Estimator
from fanout.decide.admission.line import Ask, Ticket
from fanout.decide.admission.planner import gate, plan
from fanout.words.model import Cause, Dimension, Need
from fanout.words.outcome import Broken, Limits


def test_one_call_asks_an_unknown_account() -> None:
    """Before the first headers one call is out, and the others say why they wait."""
    desk = Desk()
    desk.wait(*(ticket(key, order=n) for n, key in enumerate("abc")))
    decision = desk.go()
    assert started(decision) == ["a"]
    assert decision.gates["m"].cause is Cause.LEARNING
    assert desk.go(5.0).starts == ()


def test_the_first_headers_reprice_the_whole_line_at_once() -> None:
    """A rival works its waits out once and leaves its 40th agent 1,305 s away."""
    desk = Desk()
    desk.wait(*(ticket(f"{n:02}", 2_000, order=n) for n in range(40)))
    desk.go()
    desk.now = 0.5
    desk.opened("00", limits(0.5, tokens=(60_000, 58_000)), 2_000)
    decision = desk.go()
    assert len(decision.starts) == 28
    until = decision.gates["m"].until
    assert until is not None
    assert until - desk.now < 2.5


def test_a_closed_run_starts_nothing() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a"))
    decision = plan(desk.books, 1.0, open=False, cause_if_closed=Cause.PAUSED)
    assert decision.starts == ()
    assert decision.gates["m"].cause is Cause.PAUSED
    assert decision.look_again is None


def test_nothing_passes_a_blocked_head() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 40_000, turns=1), ticket("big", 50_000), ticket("small", 10))
    decision = desk.go()
    assert started(decision) == ["a"]
    block = decision.gates["m"]
    assert block.cause is Cause.INPUT
    assert block.until == decision.look_again
    assert block.detail.startswith("needs 50k, ")
    assert started(desk.go(block.until))[0] == "big"


def test_a_call_larger_than_every_bucket_goes_when_it_is_full() -> None:
    """OTPM < call size < ITPM, and beyond both: it waits, it goes, it owes."""
    desk = Desk().learned(limits(0.0, tokens=(30_000, 30_000), output=(8_000, 8_000)))
    desk.wait(ticket("huge", 200_000, output=20_000), ticket("next", 10, order=1))
    decision = desk.go(70.0)
    assert started(decision) == ["huge"]
    gate_now = decision.gates["m"]
    assert gate_now.cause in {Cause.INPUT, Cause.OUTPUT}
    assert gate_now.until is not None
    assert gate_now.until > 300


def test_several_starts_of_one_plan_count_against_each_other() -> None:
    desk = Desk().learned()
    desk.wait(*(ticket(f"{n}", 12_000, order=n) for n in range(9)))
    assert len(desk.go().starts) == 4


def test_two_pools_do_not_wait_for_each_other() -> None:
    desk = Desk().learned()
    desk.wait(ticket("big", 500_000), ticket("other", pool="n"))
    desk.go()
    desk.wait(ticket("x", 50_000), ticket("y", pool="n"))
    decision = desk.go()
    assert decision.gates["m"].cause is Cause.INPUT
    assert decision.gates["n"].cause is Cause.LEARNING


def test_the_users_ceiling_holds_and_says_so() -> None:
    desk = Desk().learned()
    desk.books.set_user_ceiling(2)
    desk.wait(*(ticket(f"{n}", 10, order=n) for n in range(5)))
    decision = desk.go()
    assert started(decision) == ["0", "1"]
    assert decision.gates["m"].cause is Cause.CEILING
    assert decision.gates["m"].detail == "2/2"
    desk.books.set_user_ceiling(1)
    assert desk.books.in_flight == 2
    desk.ended("0", answer(10, 10))
    assert desk.go().starts == ()


def test_a_429_holds_its_pool_until_the_time_it_said() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a"), ticket("b", order=1))
    desk.go()
    desk.ended("a", refusal(retry_after=171))
    desk.wait(ticket("a"))
    decision = desk.go(170.0)
    assert decision.starts == ()
    assert decision.gates["m"].cause is Cause.LIMIT
    assert set(started(desk.go(171.2))) == {"a"}


def test_a_long_retry_after_is_announced_once() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a"), ticket("b", order=1))
    desk.go()
    desk.ended("a", refusal(retry_after=505))
    desk.ended("b", refusal(retry_after=505))
    notes = desk.books.notes()
    assert len(notes) == 1
    assert "m waits 8.4 min (retry-after 505 s): 429" in notes[0]
    assert desk.books.notes() == ()


def test_a_wait_without_end_is_kept_and_said() -> None:
    """A milliard of seconds is obeyed: nothing is sent, and the screen has a date."""
    desk = Desk().learned()
    desk.wait(ticket("a"))
    desk.go()
    desk.ended("a", refusal(retry_after=1e9))
    desk.wait(ticket("a"))
    decision = desk.go(60.0)
    assert not decision.starts
    until = decision.gates["m"].until
    assert until is not None
    assert 1e9 <= until <= 1e9 + 1
    assert "11,574 days" in desk.books.notes()[0]
    assert desk.go(until + 1).starts


def test_a_server_that_lies_is_asked_by_one_call_at_a_time() -> None:
    """It says 60,000 remaining and answers 429."""
    desk, sent = Desk().learned(), 0
    for n in range(50):
        desk.wait(ticket(f"{n}", 10, order=n))
    for _ in range(12):
        decision = desk.go()
        assert decision.starts or decision.look_again is not None
        sent += len(decision.starts)
        for key in started(decision):
            desk.ended(key, refusal(retry_after=0, said=limits(desk.now)))
            desk.wait(ticket(key, 10))
        look = plan(desk.books, desk.now).look_again
        assert look is not None
        desk.now = look
    assert sent <= 50 + 2 * 12


def test_a_wall_of_529s_is_asked_by_one_knock_at_a_time() -> None:
    desk, knocks = Desk().learned(), 0
    wait = [ticket(f"{n}", 10, order=n) for n in range(20)]
    desk.wait(*wait)
    for key in started(desk.go()):
        desk.ended(key, refusal(529, "overloaded_error"))
    desk.wait(*wait)
    while desk.now < 900:
        decision = desk.go()
        assert len(decision.starts) <= 1
        assert decision.gates["m"].cause is Cause.BREAKER
        for key in started(decision):
            knocks += 1
            desk.ended(key, refusal(529, "overloaded_error"))
            desk.wait(ticket(key, 10))
        look = plan(desk.books, desk.now).look_again
        assert look is not None
        assert look - desk.now <= 5.01
        desk.now = max(look, desk.now + 0.001)
    assert knocks < 230
    desk.go()
    (key,) = desk.calls
    desk.opened(key)
    desk.ended(key, answer(10, 10))
    assert len(desk.go().starts) > 1


def test_trouble_of_the_service_teaches_the_buckets_nothing() -> None:
    desk = Desk().learned()
    before = [bucket.free for bucket in desk.books.views(9.0)[0].buckets]
    desk.wait(*(ticket(f"{n}", 10_000, order=n) for n in range(3)))
    desk.go(9.0)
    desk.ended("0", refusal(529, "overloaded_error"))
    desk.ended("1", refusal(500, "api_error"))
    desk.ended("2", Broken(stage="connect", message="refused"))
    after = [bucket.free for bucket in desk.books.views(9.0)[0].buckets]
    assert after == pytest.approx(before)


def test_rows_behind_a_warming_prefix_wait_for_its_first_byte() -> None:
    desk = Desk().learned()
    desk.wait(*(ticket(f"{n}", 10, order=n, prefix="shared") for n in range(3)))
    desk.wait(ticket("free", 10, order=9))
    decision = desk.go()
    assert set(started(decision)) == {"0", "free"}
    assert decision.gates["m"].cause is Cause.WARMING
    desk.opened("0", tokens=10)
    assert started(desk.go()) == ["1", "2"]


def test_a_writer_that_fails_is_followed_by_another() -> None:
    desk = Desk().learned()
    desk.wait(*(ticket(f"{n}", 10, order=n, prefix="shared") for n in range(2)))
    desk.go()
    desk.ended("0", Broken(stage="connect", message="refused"))
    assert started(desk.go()) == ["1"]


def test_a_row_in_its_own_backoff_is_not_in_line() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", ready=30.0))
    decision = desk.go(1.0)
    assert (decision.starts, decision.look_again) == ((), 30.0)
    assert started(desk.go(30.0)) == ["a"]


def test_a_withdrawn_row_is_gone_wherever_it_waited() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", ready=30.0), ticket("b"))
    desk.books.withdraw(row("a"))
    desk.books.withdraw(row("b"))
    assert desk.go(31.0).starts == ()


def test_no_headers_at_all_leave_the_pace_to_the_ceiling() -> None:
    desk = Desk().learned(Limits())
    desk.wait(*(ticket(f"{n}", 10**6, order=n) for n in range(50)))
    decision = desk.go()
    assert len(decision.starts) >= 8
    assert decision.gates["m"].cause is Cause.CEILING


def test_a_start_carries_the_need_it_is_admitted_for() -> None:
    """Estimates made at the declaration are made anew at the head of the line."""
    desk = Desk().learned()
    ask = Ask(model="m", phase="p", new_bytes=40_000, max_tokens=100)
    old = Need(13_200, 100, 100)
    learner: Estimator = desk.books.estimator
    for _ in range(30):
        learner.learn(
            model="m",
            phase="p",
            turn=1,
            new_bytes=40_000,
            known_input=0,
            cached=0,
            usage=answer(8_000, 50).usage,
        )
    desk.wait(
        Ticket(row=row("a"), pool="m", need=old, priority=(1,), ask=ask),
    )
    (start,) = desk.go().starts
    assert start.need.input < 9_000


def test_limits_learned_are_told_once_and_changes_again() -> None:
    desk = Desk().learned()
    (first,) = desk.books.limits_learned()
    assert (first.pool, first.input_tokens) == ("m", 60_000)
    assert desk.books.limits_learned() == ()
    desk.wait(ticket("a", 10))
    desk.go(5.0)
    desk.opened("a", limits(5.0, tokens=(30_000, 20_000)), 10)
    (second,) = desk.books.limits_learned()
    assert second.input_tokens == 30_000


def test_a_gate_is_the_block_with_the_line_and_wall_time() -> None:
    desk = Desk().learned()
    desk.wait(ticket("a", 50_000), ticket("b", 50_000, order=1))
    decision = desk.go()
    shown = gate(desk.books, "m", decision.gates["m"], offset=100.0)
    assert shown.waiting == (row("b"),)
    assert shown.until == (decision.gates["m"].until or 0) + 100
    assert gate(desk.books, "m", None, offset=0).cause is None


def test_known_limits_of_an_earlier_life_open_with_more_than_a_probe() -> None:
    first = Desk().learned()
    known = first.books.limits_learned()
    books = account()
    later = Desk(type(books)(chance=lambda: 0.5, known=known))
    later.wait(*(ticket(f"{n}", 10, order=n) for n in range(5)))
    assert len(later.go().starts) > 1
    view = later.books.views(0.0)[0].buckets
    assert [each.dimension for each in view] == list(Dimension)


def test_a_decision_among_10_000_waiting_rows_is_cheap() -> None:
    """No scan of all rows: the figure is a fifth of a millisecond."""
    decision, whole = measure(300)
    assert decision < 400e-6
    assert whole < 1e-3


def test_no_wait_speaks_of_less_than_nothing_free() -> None:
    """A bucket may be in debt; what a call may take of it is nothing then."""
    desk = Desk().learned()
    desk.wait(ticket("a", 50_000))
    desk.go()
    desk.opened("a", limits(0.0, tokens=(60_000, 0)), tokens=80_000)
    desk.wait(ticket("b", 24_000, order=1))
    gate = desk.go(0.5).gates["m"]
    assert gate.cause is Cause.INPUT
    assert gate.detail == "needs 24k, 0 free"
