"""How much of an agent's path lies ahead, as far as anybody can know.

An agent's turns depend on each other, so near the end of a run what matters is not
how large a call is but how long its agent will still be busy. The length of an
answer nobody knows beforehand. What is known, and learned here:

- **How many turns.** For each number of turns, how many conversations of the phase
  went on after it and how many ended: the share that ends, turn by turn, gives the
  expected number of turns still to come. Conversations that are still running count
  as much as those that have ended.
- **How long a turn takes**, waiting in line excluded and tools included: this
  conversation's own turns so far, beside those of its phase. Agents differ more from
  each other than their turns do among themselves.

All of it is given in typical calls (1.0 is what a call has taken in the mean), so that
the order of a line does not depend on how fast a model is.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

# Before a phase has shown it, conversations are taken to end the sooner the longer
# they have been: half of those that come to so many turns end there. That counts as
# so many conversations.
ENDS_HALF = 4.0
ENDS_WEIGHT = 2.0
# How many turns the phase's mean counts for beside a conversation's own.
PHASE_WEIGHT = 0.5
# A conversation is not expected to go on for longer than so many turns.
TURNS_MOST = 64
# Chances below this of getting so far do not matter.
UNLIKELY = 0.01
# A phase's figures follow it within about this many turns.
MEMORY = 200.0
# No call is counted as shorter: what lies ahead is a share of it.
SECONDS_LEAST = 0.01
# Conversations remembered; the oldest are forgotten first.
KEPT = 20_000


@dataclass(slots=True)
class _Mean:
    """A sum and how many it is of."""

    total: float = 0.0
    count: float = 0.0

    def add(self, value: float) -> None:
        """Take in a value; what came long ago counts for less."""
        if self.count >= MEMORY:
            self.total *= 1 - 1 / self.count
            self.count -= 1
        self.total += value
        self.count += 1

    def beside(self, value: float, weight: float) -> float:
        """The mean, `value` counting as `weight` more."""
        return (self.total + weight * value) / (self.count + weight)


class Past(NamedTuple):
    """What a waiting call's conversation has shown so far."""

    phase: str
    turns: int
    """Turns it has finished."""
    seconds: float = 0.0
    """Of `counted` turns together, tools included and waiting in line excluded."""
    counted: float = 0.0


@dataclass(slots=True)
class _Phase:
    """What the conversations of a phase have shown."""

    ended: dict[int, float] = field(default_factory=dict)
    """How many ended after so many turns."""
    went_on: dict[int, float] = field(default_factory=dict)
    between: _Mean = field(default_factory=_Mean)
    """Seconds of turns after which it went on, tools included."""
    last: _Mean = field(default_factory=_Mean)
    """Seconds of last calls."""
    expected: dict[int, float] = field(default_factory=dict)
    """What `turns_ahead` found, until something changes."""

    def learn(self, turn: int, *, goes_on: bool) -> None:
        """A conversation went on, or ended, after so many turns."""
        counts = self.went_on if goes_on else self.ended
        counts[turn] = counts.get(turn, 0.0) + 1
        self.expected.clear()

    def turns_ahead(self, done: int) -> float:
        """Turns still to come for who has done so many and asks again."""
        known = self.expected.get(done)
        if known is None:
            known = self.expected[done] = self._turns_ahead(done)
        return known

    def _turns_ahead(self, done: int) -> float:
        expected = alive = 1.0
        for turn in range(done + 1, done + TURNS_MOST):
            alive *= 1 - self._ends(turn)
            if alive < UNLIKELY:
                break
            expected += alive
        return expected

    def _ends(self, turn: int) -> float:
        """The share that ends after this turn."""
        ended, on = self.ended.get(turn, 0.0), self.went_on.get(turn, 0.0)
        prior = ENDS_WEIGHT * turn / (turn + ENDS_HALF)
        return (ended + prior) / (ended + on + ENDS_WEIGHT)


@dataclass(slots=True)
class _Own:
    """What one conversation has shown."""

    between: _Mean = field(default_factory=_Mean)
    seconds: float | None = None
    """Of the call that was answered last; None once the turn is counted."""
    answered_at: float = 0.0


class Paths:
    """Expectations by phase, and by conversation."""

    def __init__(self) -> None:
        self._phases: dict[str, _Phase] = {}
        self._own: OrderedDict[str, _Own] = OrderedDict()
        self._calls = _Mean()
        self.learned = 0
        """Counts answers: with it what `ahead` says changes."""

    def asked(
        self, conversation: str, *, phase: str, turns_done: int, now: float
    ) -> Past:
        """A conversation asks for its next call; `now` is monotonic seconds.

        Asking again for the same call changes nothing.
        """
        own = self._own.get(conversation)
        if own is None:
            return Past(phase, turns_done)
        if own.seconds is not None:
            turn = own.seconds + max(0.0, now - own.answered_at)
            own.between.add(turn)
            self._phases.setdefault(phase, _Phase()).between.add(turn)
            own.seconds = None
        return Past(phase, turns_done, own.between.total, own.between.count)

    def ahead(self, past: Past) -> float:
        """What is expected to lie ahead of a waiting call, itself included.

        In typical calls.
        """
        phase = self._phases.get(past.phase)
        if phase is None:
            phase = _Phase()
        call = self._calls.beside(1.0, 0.0) if self._calls.count else 1.0
        between = phase.between.beside(call, ENDS_WEIGHT)
        between = (past.seconds + PHASE_WEIGHT * between) / (
            past.counted + PHASE_WEIGHT
        )
        last = phase.last.beside(call, ENDS_WEIGHT)
        return ((phase.turns_ahead(past.turns) - 1) * between + last) / call

    def answered(
        self,
        conversation: str,
        *,
        phase: str,
        turn: int,
        seconds: float,
        goes_on: bool,
        now: float,
    ) -> None:
        """A call was answered; `turn` is from 1, `seconds` is what the call took.

        `goes_on`: the model asked for tools, so there will be another call.
        """
        known = self._phases.setdefault(phase, _Phase())
        known.learn(turn, goes_on=goes_on)
        self._calls.add(max(seconds, SECONDS_LEAST))
        self.learned += 1
        if not goes_on:
            known.last.add(seconds)
            self._own.pop(conversation, None)
            return
        own = self._own.setdefault(conversation, _Own())
        own.seconds, own.answered_at = seconds, now
        self._own.move_to_end(conversation)
        if len(self._own) > KEPT:
            self._own.popitem(last=False)
