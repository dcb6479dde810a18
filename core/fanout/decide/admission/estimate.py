"""What a call is expected to use, learned from what such calls did use.

`max_tokens` is no expectation: reserving it wastes a third of the throughput.
Output is learned per model and phase: a mean and a spread, so that the sum over
many calls is right and a little more. Input is measured in bytes until the first
answer and corrected per model and phase by what the bytes turned out to be; a
later turn knows its own history exactly and estimates only what was added.

Cache reads are not charged, if they happen: what is expected from the cache is
taken off by the share of such expectations that came true.
"""

import math
from dataclasses import dataclass

from fanout.decide.admission.line import Ask, Ticket
from fanout.decide.admission.paths import Paths
from fanout.words.model import Need, Usage

# Text is 3 to 4 bytes a token, and newer tokenizers make more tokens of it. Too
# low a prior sends the first wave into a 429.
TOKENS_PER_BYTE = 0.33
# What an answer is expected to be before any was seen.
OUTPUT_PRIOR = 800.0
# The prior counts as this many answers.
PRIOR_WEIGHT = 2.0
# An estimate follows a phase that changes within this many answers.
MEMORY = 50.0
# Expectations lie this many spreads above the mean. Input that is underestimated
# is a 429, overestimated it is given back within a second; output that is
# overestimated holds a place for as long as the call runs.
SPREADS_INPUT = 2.0
SPREADS_OUTPUT = 0.25
# Texts differ by about this share before many were seen: the first answer's own
# ratio is no measure of its neighbours'.
NEW_SPREAD = 0.15
# Answers of one conversation are about one text: so many count as one sample.
ALIKE = 3.0
# Pieces below this teach nothing about bytes: framing outweighs text.
BYTES_MIN = 400


@dataclass(slots=True)
class Average:
    """A mean and a spread that forget slowly."""

    mean: float
    weight: float
    variance: float = 0.0

    def learn(self, value: float) -> None:
        """Take in one value."""
        self.weight = min(MEMORY, self.weight + 1)
        gain = 1 / self.weight
        gap = value - self.mean
        self.mean += gain * gap
        self.variance = (1 - gain) * (self.variance + gain * gap * gap)

    @property
    def spread(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


class Estimator:
    """Expectations by model and phase."""

    def __init__(self) -> None:
        self.paths = Paths()
        self._output: dict[tuple[str, str], Average] = {}
        self._output_model: dict[str, Average] = {}
        self._ratio: dict[tuple[str, str], Average] = {}
        self._ratio_model: dict[str, Average] = {}
        self._trust: dict[tuple[str, str], Average] = {}

    def need(
        self,
        *,
        model: str,
        phase: str,
        turn: int,
        new_bytes: int,
        known_input: int,
        cached: int,
        max_tokens: int,
    ) -> Need:
        """What the next call of such a row will use."""
        return self.price(
            Ask(
                model=model,
                phase=phase,
                turn=turn,
                new_bytes=new_bytes,
                known_input=known_input,
                cached=cached,
                max_tokens=max_tokens,
            )
        )

    def input_of(self, model: str, phase: str, new_bytes: int) -> int:
        """The input tokens of so many bytes that no call has measured yet."""
        return max(1, round(new_bytes * self._tokens_per_byte(model, phase)))

    def need_of(self, ticket: Ticket) -> Need:
        """A ticket's need by what is known now."""
        return ticket.need if ticket.ask is None else self.price(ticket.ask)

    def price(self, ask: Ask) -> Need:
        """What a call that is asked for will use."""
        model, phase, cached = ask.model, ask.phase, ask.cached
        fresh = ask.new_bytes * self._tokens_per_byte(model, phase)
        trust = self._trust.get((model, phase))
        believed = cached * (1.0 if trust is None else trust.mean)
        total = ask.known_input + fresh
        believed = min(believed, max(0.0, total - 1))
        return Need(
            input=max(1, round(total - believed)),
            output=round(min(self._output_of(model, phase), ask.max_tokens)),
            worst_output=ask.max_tokens,
            cached=round(believed),
        )

    def learn(
        self,
        *,
        model: str,
        phase: str,
        turn: int,
        new_bytes: int,
        known_input: int,
        cached: int,
        usage: Usage,
    ) -> None:
        """What a call of that kind did use."""
        del turn
        total = usage.charged_input + usage.cache_read_input_tokens
        fresh = total - known_input
        if new_bytes >= BYTES_MIN and fresh > 0:
            ratio = fresh / new_bytes
            prior = Average(TOKENS_PER_BYTE, 0.0)
            by_model = self._ratio_model.setdefault(model, prior)
            by_model.learn(ratio)
            start = Average(by_model.mean, 0.0, by_model.variance)
            self._ratio.setdefault((model, phase), start).learn(ratio)
        if cached > 0:
            share = min(1.0, usage.cache_read_input_tokens / cached)
            self._trust.setdefault((model, phase), Average(1.0, 1.0)).learn(share)
        if usage.output_tokens > 0:
            prior = Average(OUTPUT_PRIOR, PRIOR_WEIGHT)
            by_model = self._output_model.setdefault(model, prior)
            start = Average(by_model.mean, PRIOR_WEIGHT, by_model.variance)
            self._output.setdefault((model, phase), start).learn(usage.output_tokens)
            by_model.learn(usage.output_tokens)

    def _tokens_per_byte(self, model: str, phase: str) -> float:
        known = self._ratio.get((model, phase)) or self._ratio_model.get(model)
        if known is None:
            return TOKENS_PER_BYTE
        samples = max(1.0, known.weight / ALIKE)
        unsure = NEW_SPREAD * known.mean / math.sqrt(samples)
        return known.mean + SPREADS_INPUT * max(known.spread, unsure)

    def _output_of(self, model: str, phase: str) -> float:
        known = self._output.get((model, phase)) or self._output_model.get(model)
        if known is None:
            return OUTPUT_PRIOR
        return known.mean + SPREADS_OUTPUT * known.spread
