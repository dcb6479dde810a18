"""Ceilings on what may be spent, and how far a run has come towards one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings over all four token classes and all lives; None is none."""

    tokens: int | None = None
    dollars: float | None = None

    def over(self, other: "Budget") -> "Budget":
        """Return its figures, and the other's where it has none."""
        return Budget(
            tokens=other.tokens if self.tokens is None else self.tokens,
            dollars=other.dollars if self.dollars is None else self.dollars,
        )

    @property
    def is_none(self) -> bool:
        """Nothing is bounded."""
        return self.tokens is None and self.dollars is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A budget that was set anew while the run went on: on the screen."""

    phase: str
    """Whose budget it is; empty: the run's."""
    life: int
    seconds: float
    """Since that life began."""
    before: Budget
    after: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    """A budget, what was spent of it, and what is set aside."""

    budget: Budget = Budget()
    tokens: int = 0
    """Spent, all four classes, all lives."""
    dollars: float | None = 0.0
    """The same; None: a price is unknown."""
    held_tokens: int = 0
    """The most that calls in flight, and those in doubt, may come to."""
    held_dollars: float | None = 0.0
    raised: tuple[Raised, ...] = ()
    """How it came to be what it is, the earliest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A budget lets no further call through: what somebody is asked."""

    number: int
    """Of the question."""
    phase: str = ""
    """Whose budget it is; empty: the run's."""
    reason: str
    """With the figures, for people."""
    tokens: int
    """The most the next call may take."""
    dollars: float | None


def gate_of(phase: str) -> str:
    """Name the gate at which a phase's calls wait for its budget."""
    return f"budget of {phase}"
