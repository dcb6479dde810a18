"""What an agent will use when none like it was ever seen: a guess, and a wide one.

An agent without tools answers once. One with tools reads what it is pointed at and
asks for more, a few turns long; each turn reads the conversation again, from the
prompt cache as far as it is long enough.
"""

from dataclasses import dataclass

from fanout.decide.admission.estimate import OUTPUT_PRIOR, TOKENS_PER_BYTE
from fanout.decide.forecast.sample import Use
from fanout.decide.models import facts_of
from fanout.words.forecast import Range

TURNS = Range(2.0, 4.0, 10.0)
"""Turns of an agent with tools."""
READ_A_TURN = 6_000.0
"""Tokens of files that one turn reads."""
RESULTS_A_TURN = 800.0
"""Tokens that a turn's tools give back, where nobody knows what they read."""
SHORT, LONG = 0.25, 3.0
"""Shares of an answer's expected length, for the ends of its range."""
SURE_OF_INPUT = 0.15
SECONDS_A_CALL = 2.0
TOKENS_A_SECOND = 70.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is known of agents before any was seen."""

    model: str
    tools: bool
    max_tokens: int
    max_turns: int


def supposed(size: float) -> Range:
    """Return the tokens of so many bytes of which nothing else is known."""
    given = size * TOKENS_PER_BYTE
    return Range(given * (1 - SURE_OF_INPUT), given, given * (1 + SURE_OF_INPUT))


def guess(kind: Kind, count: float, given: Range) -> list[Range]:
    """What `count` agents will use that are given so many tokens, by `Use`."""
    if count <= 0:
        return [Range()] * len(Use)
    each = given.times(1 / count)
    ends = [_one(kind, *step) for step in _steps(kind, each)]
    return [_ordered([count * end[use] for end in ends]) for use in Use]


def _steps(kind: Kind, given: Range) -> list[tuple[float, float, float]]:
    """Tokens given, turns, and tokens of an answer: low, expected, high."""
    answer = min(OUTPUT_PRIOR, kind.max_tokens)
    longest = min(LONG * answer, kind.max_tokens)
    if not kind.tools:
        return [
            (given.low, 1.0, SHORT * answer),
            (given.expected, 1.0, answer),
            (given.high, 1.0, longest),
        ]
    reading = given.expected / READ_A_TURN
    most = float(max(1, kind.max_turns))
    return [
        (given.low, min(most, TURNS.low + reading / 2), SHORT * answer),
        (given.expected, min(most, TURNS.expected + reading), answer),
        (given.high, min(most, TURNS.high + 2 * reading), longest),
    ]


def _ordered(values: list[float]) -> Range:
    low, expected, high = values
    return Range(min(low, expected), expected, max(expected, high))


def _one(kind: Kind, first: float, turns: float, answer: float) -> list[float]:
    """One agent: what it is given is read at first, the rest grows turn by turn."""
    grown = (turns - 1) * (answer + RESULTS_A_TURN)
    again = (turns - 1) * first + (turns - 1) * max(0.0, turns - 2) / 2 * (
        answer + RESULTS_A_TURN
    )
    cached = kind.tools and first >= facts_of(kind.model).cache_from
    values = [0.0] * len(Use)
    values[Use.CACHE_WRITE if kind.tools else Use.INPUT] = first + grown
    values[Use.CACHE_READ if cached else Use.INPUT] += again
    values[Use.OUTPUT] = turns * answer
    values[Use.CALLS] = turns
    values[Use.SECONDS] = turns * (SECONDS_A_CALL + answer / TOKENS_A_SECOND)
    return values
