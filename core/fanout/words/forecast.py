"""What a run, or what is left of it, is expected to take: figures with ranges.

A range says three figures: what is expected, and what nine of ten such runs stay
above and below. Ranges add up end by end, so the parts of a forecast always sum to
its whole.
"""

from dataclasses import dataclass
from typing import Any

from fanout.words.model import RowId


@dataclass(frozen=True, slots=True)
class Range:
    """A figure that is not known yet."""

    low: float = 0.0
    expected: float = 0.0
    high: float = 0.0

    def __add__(self, other: "Range") -> "Range":
        return Range(
            self.low + other.low,
            self.expected + other.expected,
            self.high + other.high,
        )

    def longer(self, other: "Range") -> "Range":
        """Of two that run side by side, the end of both."""
        return Range(
            max(self.low, other.low),
            max(self.expected, other.expected),
            max(self.high, other.high),
        )

    def widened(self, share: float, other: "Range") -> "Range":
        """The same, with at least so much of the other one's width."""
        below = share * (other.expected - other.low)
        above = share * (other.high - other.expected)
        return Range(
            max(0.0, min(self.low, self.expected - below)),
            self.expected,
            max(self.high, self.expected + above),
        )

    def times(self, factor: float) -> "Range":
        """The range of so many times as much."""
        return Range(self.low * factor, self.expected * factor, self.high * factor)

    def as_dict(self) -> dict[str, float]:
        """Low, expected and high, by these names."""
        return {"low": self.low, "expected": self.expected, "high": self.high}


NOTHING = Range()


def _sum(one: Range | None, other: Range | None) -> Range | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRange:
    """Tokens in the API's four classes."""

    input: Range = NOTHING
    """Read uncached."""
    cache_write: Range = NOTHING
    cache_read: Range = NOTHING
    output: Range = NOTHING

    def __add__(self, other: "TokenRange") -> "TokenRange":
        return TokenRange(
            input=self.input + other.input,
            cache_write=self.cache_write + other.cache_write,
            cache_read=self.cache_read + other.cache_read,
            output=self.output + other.output,
        )

    @property
    def total(self) -> Range:
        """All four classes together."""
        return self.input + self.cache_write + self.cache_read + self.output

    @property
    def charged(self) -> Range:
        """What the input bucket is charged: everything but cache reads."""
        return self.input + self.cache_write

    def as_dict(self) -> dict[str, dict[str, float]]:
        """The four classes by the API's own names, and their total."""
        return {
            "input_tokens": whole(self.input),
            "cache_creation_input_tokens": whole(self.cache_write),
            "cache_read_input_tokens": whole(self.cache_read),
            "output_tokens": whole(self.output),
            "total": whole(self.total),
        }


def whole(figure: Range) -> dict[str, float]:
    """A range of things that are counted, as JSON."""
    return {name: round(value) for name, value in figure.as_dict().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseForecast:
    """What the agents of one phase and model are expected to take."""

    phase: str
    model: str
    pool: str
    rows: int
    """Agents that have something left to do."""
    learned: int
    """How many agents that ended it is learned from; 0: it is a guess."""
    calls: Range
    tokens: TokenRange
    dollars: Range | None
    """None: the price of the model is unknown."""
    seconds: float
    """How long the longest of them takes, when nothing holds it up."""

    def __add__(self, other: "PhaseForecast") -> "PhaseForecast":
        return PhaseForecast(
            phase=self.phase,
            model=self.model,
            pool=self.pool,
            rows=self.rows + other.rows,
            learned=max(self.learned, other.learned),
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            dollars=_sum(self.dollars, other.dollars),
            seconds=other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """How sure estimates of input are, and what they were corrected by."""

    error: float
    """Nine of ten such runs are off by less than this share."""
    counted: int = 0
    """First requests that the account has counted."""
    answered: int = 0
    """First requests of this run that were answered."""
    earlier: int = 0
    """Requests of earlier runs."""
    openings: bool = False
    """Agents have tools: what these read later is not in it."""
    failed: str = ""
    """Why the account counts none."""

    @property
    def observed(self) -> int:
        """Requests of which the tokens are known."""
        return self.counted + self.answered + self.earlier

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "error": round(self.error, 4),
            "counted": self.counted,
            "answered": self.answered,
            "earlier": self.earlier,
            "openings": self.openings,
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is left to do, as far as it is known."""

    phases: tuple[PhaseForecast, ...] = ()
    seconds: Range | None = None
    """How long it takes at the account's limits; None: they are unknown."""
    binds: str = ""
    """What decides how long: a bucket, `calls in flight`, `the longest agent`, or
    `batches`."""
    limits: str = ""
    """Where the limits are known from."""
    unknown: int = 0
    """Rows that are declared ahead, and of which nothing is known yet."""
    calibrated: Calibrated | None = None
    """How sure the input is; None where it is not known what agents are given."""

    @property
    def rows(self) -> int:
        """Agents that have something left to do."""
        return sum(phase.rows for phase in self.phases)

    @property
    def calls(self) -> Range:
        """Calls they are expected to make."""
        return sum((phase.calls for phase in self.phases), NOTHING)

    @property
    def tokens(self) -> TokenRange:
        """Tokens they are expected to use."""
        return sum((phase.tokens for phase in self.phases), TokenRange())

    @property
    def dollars(self) -> Range | None:
        """What that costs; None as soon as one price is unknown."""
        costs = [phase.dollars for phase in self.phases]
        known = [cost for cost in costs if cost is not None]
        return sum(known, NOTHING) if len(known) == len(costs) else None

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is unknown."""
        names = (phase.model for phase in self.phases if phase.dollars is None)
        return tuple(dict.fromkeys(names))

    @property
    def learned(self) -> bool:
        """Whether any of it is more than a guess."""
        return any(phase.learned for phase in self.phases)

    def __add__(self, other: "Forecast") -> "Forecast":
        """Both together; how long it takes is the other one's, which is later."""
        joined = {(one.phase, one.model): one for one in self.phases}
        for one in other.phases:
            name = one.phase, one.model
            joined[name] = joined[name] + one if name in joined else one
        return Forecast(
            phases=tuple(joined.values()),
            seconds=other.seconds,
            binds=other.binds,
            limits=other.limits,
            unknown=other.unknown,
            calibrated=other.calibrated or self.calibrated,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, by the names that the report has."""
        return {
            "agents": self.rows,
            "calls": whole(self.calls),
            "tokens": self.tokens.as_dict(),
            "dollars": money(self.dollars),
            "unpriced": list(self.unpriced),
            "seconds": None if self.seconds is None else whole(self.seconds),
            "binds": self.binds,
            "limits": self.limits,
            "unknown": self.unknown,
            "calibrated": (
                None if self.calibrated is None else self.calibrated.as_dict()
            ),
            "phases": [_phase(phase) for phase in self.phases],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question that waits for somebody: whether this may be spent."""

    number: int
    rows: frozenset[RowId]
    """Rows that wait for the answer."""
    left: Forecast
    """All that is left to do, theirs included."""
    spent: float
    """Tokens that this life has used already."""
    again: bool
    """Something was confirmed before, and this goes beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a dry run has found."""

    forecast: Forecast = Forecast(seconds=NOTHING)
    beyond: tuple[PhaseForecast, ...] = ()
    """Phases that earlier runs had, and `main` has not reached."""
    waits: bool = False
    """`main` waits for results that cannot be known."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            **self.forecast.as_dict(),
            "waits": self.waits,
            "beyond": [_phase(phase) for phase in self.beyond],
        }


def money(figure: Range | None) -> dict[str, float] | None:
    """A range of dollars, as JSON; None where it is unknown."""
    if figure is None:
        return None
    return {name: round(value, 4) for name, value in figure.as_dict().items()}


def _phase(one: PhaseForecast) -> dict[str, Any]:
    return {
        "phase": one.phase,
        "model": one.model,
        "agents": one.rows,
        "learned_from": one.learned,
        "calls": whole(one.calls),
        "tokens": one.tokens.as_dict(),
        "dollars": money(one.dollars),
    }
