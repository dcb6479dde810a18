"""A call in flight, as the books of admission hold it.

Its reservation has three parts that end at different moments: the request and
the input are charged when the call is sent (until then they are held), the
output is charged as it is produced (the rest of what is expected stays held).
What was charged is remembered here, so that each part is settled once.
"""

from dataclasses import dataclass, field

from fanout.decide.admission.line import Ticket
from fanout.words.model import Dimension, Usage
from fanout.words.outcome import Limits

# A call that has passed its expectation is not about to end: the longer it has
# run, the longer it will. Without this the tail of a heavy-tailed phase counts
# as free and the output bucket goes into debt.
TAIL_SHARE = 0.25


@dataclass(slots=True)
class Flight:
    """One call between its admission and its end."""

    call: int
    ticket: Ticket
    admitted_at: float
    hold_generation: int
    ceiling_generation: int
    breaker_generation: int
    sent_at: float | None = None
    opened_at: float | None = None
    input_known: bool = False
    through: bool = False
    """Whether it already counted as a call that got through."""
    charged_input: float = 0.0
    produced: int = 0
    """Output tokens charged so far."""
    limits: Limits | None = None
    """Headers that are not followed yet."""
    levels: dict[Dimension, float] = field(default_factory=dict)
    """The believed levels just after it was sent."""

    @property
    def expected(self) -> float:
        """Output still expected; never nothing while it streams."""
        need = self.ticket.need
        rest = max(need.output - self.produced, TAIL_SHARE * self.produced)
        return min(rest, max(need.worst_output, need.output) - self.produced, rest)


def produced_by(usage: Usage, flight: Flight) -> int:
    """Output tokens of an unfinished call: what was said, or what was seen."""
    return max(usage.output_tokens, flight.produced)
