"""A forecast for people: what a dry run says, and what is asked before spending."""

from fanout.decide.forecast.batches import BATCHES
from fanout.decide.forecast.say import (
    because,
    cost,
    how_long,
    span,
    sure,
    tokens,
)
from fanout.words.ahead import Forecasted
from fanout.words.forecast import Forecast, PhaseForecast, Plan
from fanout_tui.text import one_line, plural

GUESS = "a guess: nothing like it was seen yet"


def plan_lines(
    name: str, endpoint: str, said: Forecasted | None, plan: Plan
) -> list[str]:
    """What a dry run found, one line for each thing."""
    seen = plan.forecast
    lines = [f"dry run of {one_line(name)} on {one_line(endpoint)}: nothing was sent"]
    if said is not None and said.reused:
        lines.append(f"  reuses     {plural(said.reused, 'row')}, at no cost")
    if not seen.rows:
        lines.append("  would run  nothing")
    lines += [f"  would run  {phase_text(phase)}" for phase in seen.phases]
    if seen.rows:
        lines += figure_lines(seen)
    if said is not None:
        lines += [
            f"  again      {one_line(because(why, count))}"
            for why, count in said.again.items()
        ]
    return [*lines, *_beyond(plan)]


def phase_text(phase: PhaseForecast) -> str:
    """`40 agents in audit (claude-sonnet-5), about 180k tokens (150k-220k)`."""
    learned = f"learned from {phase.learned}" if phase.learned else GUESS
    return (
        f"{short_phase(phase)}, "
        f"{span(phase.calls, 'calls')}, {span(phase.tokens.total, 'tokens')}; {learned}"
    )


def short_phase(phase: PhaseForecast) -> str:
    """`40 agents in audit (claude-sonnet-5)`."""
    agents = plural(phase.rows, "agent")
    return f"{agents} in {one_line(phase.phase)} ({one_line(phase.model)})"


def short_figures(seen: Forecast) -> list[str]:
    """Lines that fit into a question."""
    classes = seen.tokens
    parts = (
        f"in {tokens(classes.input.expected)}",
        f"cache write {tokens(classes.cache_write.expected)}",
        f"cache read {tokens(classes.cache_read.expected)}",
        f"out {tokens(classes.output.expected)}",
    )
    lines = [
        f"{span(seen.calls, 'calls')}, {span(classes.total, 'tokens')}",
        ", ".join(parts),
        cost(seen),
    ]
    if took := how_long(seen):
        lines.append(took)
    lines += sure(seen)
    return lines if seen.learned else [*lines, GUESS]


def figure_lines(seen: Forecast) -> list[str]:
    """Four classes of tokens, dollars, time."""
    classes = seen.tokens
    parts = (
        f"input {span(classes.input)}",
        f"cache write {span(classes.cache_write)}",
        f"cache read {span(classes.cache_read)}",
        f"output {span(classes.output)}",
    )
    lines = [f"  tokens     {', '.join(parts)}"]
    lines += [f"  estimates  {text}" for text in sure(seen)]
    lines.append(f"  cost       {cost(seen)}")
    took = how_long(seen)
    if took:
        paced = seen.limits and seen.binds != BATCHES
        limits = f", at the limits {seen.limits}" if paced else ""
        lines.append(f"  time       {took}{limits}")
    else:
        lines.append("  time       unknown: the account has not told its limits yet")
    return lines


def _beyond(plan: Plan) -> list[str]:
    lines = []
    if plan.forecast.unknown:
        rows = plural(plan.forecast.unknown, "row")
        lines.append(f"  beyond     {rows} declared ahead, nothing known of them yet")
    if plan.waits:
        lines.append(
            "  beyond     main waits for these results; "
            "what it asks for after them is not known"
        )
    for phase in plan.beyond:
        agents = plural(phase.rows, "agent")
        lines.append(
            f"             in an earlier run: {one_line(phase.phase)}, {agents}, "
            f"about {tokens(phase.tokens.total.expected)} tokens"
        )
    return lines
