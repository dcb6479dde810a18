"""What is expected to lie ahead of a conversation follows what such ones have shown."""

from fanout.decide.admission.line import Line, Ticket
from fanout.decide.admission.order import AHEAD_ARRIVALS, AHEAD_MOST, priority
from fanout.decide.admission.paths import Past, Paths
from fanout.words.model import Need, RowId


def converse(
    paths: Paths, name: str, turns: int, *, seconds: float = 2.0, tools: float = 0.0
) -> None:
    """A whole conversation without a wait."""
    now = 0.0
    for turn in range(1, turns + 1):
        paths.asked(name, phase="p", turns_done=turn - 1, now=now)
        now += seconds
        answered(paths, name, turn, seconds=seconds, goes_on=turn < turns, now=now)
        now += tools


def answered(
    paths: Paths, name: str, turn: int, *, seconds: float, goes_on: bool, now: float
) -> None:
    paths.answered(
        name, phase="p", turn=turn, seconds=seconds, goes_on=goes_on, now=now
    )


def test_before_anything_was_seen_who_has_done_fewer_turns_has_more_ahead() -> None:
    paths = Paths()
    ahead = [paths.ahead(Past("p", turns)) for turns in range(8)]
    assert ahead == sorted(ahead, reverse=True)
    assert ahead[0] > ahead[7] > 1


def test_a_phase_of_single_calls_has_one_call_ahead() -> None:
    paths = Paths()
    for n in range(60):
        converse(paths, f"a{n}", 1)
    assert 1.0 <= paths.ahead(Past("p", 0)) <= 1.1


def test_a_phase_of_four_turns_counts_down() -> None:
    paths = Paths()
    for n in range(60):
        converse(paths, f"a{n}", 4)
    for done, ahead in enumerate((4, 3, 2, 1)):
        assert abs(paths.ahead(Past("p", done)) - ahead) < 0.3


def test_conversations_that_still_run_count_as_much_as_those_that_ended() -> None:
    """All have gone on three times and none has ended: it is no phase of one turn."""
    paths = Paths()
    before = paths.ahead(Past("p", 0))
    for n in range(60):
        for turn in (1, 2, 3):
            answered(paths, f"a{n}", turn, seconds=1.0, goes_on=True, now=0.0)
    assert paths.ahead(Past("p", 0)) > max(4.0, before)


def test_the_own_pace_counts_tools_included_and_waiting_excluded() -> None:
    paths = Paths()
    for n in range(40):
        converse(paths, f"a{n}", 4)
    pasts = {}
    for name, tools in (("quick", 0.0), ("slow", 4.0)):
        paths.asked(name, phase="p", turns_done=0, now=100.0)
        # It waited in line until 198.
        answered(paths, name, 1, seconds=2.0, goes_on=True, now=200.0)
        pasts[name] = paths.asked(name, phase="p", turns_done=1, now=200.0 + tools)
    assert pasts["quick"].seconds == 2.0
    assert pasts["slow"].seconds == 6.0
    assert paths.ahead(pasts["slow"]) > 1.5 * paths.ahead(pasts["quick"])


def test_asking_again_for_the_same_call_changes_nothing() -> None:
    paths = Paths()
    answered(paths, "a", 1, seconds=2.0, goes_on=True, now=10.0)
    first = paths.asked("a", phase="p", turns_done=1, now=11.0)
    assert paths.asked("a", phase="p", turns_done=1, now=500.0) == first


def ticket(key: str, past: Past) -> Ticket:
    rank = priority(throttled=False, turns_done=past.turns, order=0, past=past)
    row = RowId("p", key)
    return Ticket(row=row, pool="m", need=Need(10, 10, 10), priority=rank)


def test_a_short_line_goes_by_what_lies_ahead_and_follows_what_is_learned() -> None:
    paths = Paths()
    line = Line(paths)
    line.add(ticket("begun", Past("p", 3)))
    line.add(ticket("new", Past("p", 0)))
    assert [row.key for row in line.waiting] == ["new", "begun"]
    for n in range(200):
        converse(paths, f"a{n}", 1)
    for n in range(200):
        for turn in range(2, 10):
            answered(paths, f"b{n}", turn, seconds=2.0, goes_on=True, now=0.0)
    line.sort(10.0, roomy=False)
    assert [row.key for row in line.waiting] == ["begun", "new"]


def test_nobody_is_passed_by_more_than_so_many_later_arrivals() -> None:
    """A stream of calls with everything ahead, and one that has nothing."""
    paths = Paths()
    for n in range(200):
        converse(paths, f"a{n}", 40)
    line, passed = Line(paths), 0
    line.add(ticket("last", Past("p", 39)))
    while True:
        line.add(ticket(f"n{passed}", Past("p", 0)))
        if line.at(0).row.key == "last":
            break
        line.remove(line.at(0).row)
        passed += 1
        assert passed <= AHEAD_ARRIVALS * AHEAD_MOST
    assert passed > AHEAD_ARRIVALS
