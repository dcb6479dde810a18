"""A forecast in a sentence: for the log, the question, and `--dry-run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, log10

from fanout.decide.forecast.batches import BATCHES
from fanout.words.counted import plural
from fanout.words.forecast import Calibrated, Forecast, Range
from fanout.words.model import Dimension

CAUSES_SHOWN = 3
_BUCKETS = frozenset(dimension.value for dimension in Dimension)
_THOUSAND, _MILLION = 1_000, 1_000_000
WHOLE_FROM, CENTS_FROM, DIGITS_MAX = 1_000, 0.1, 8
_MINUTE, _HOUR = 60, 3_600


@dataclass(slots=True)
class Tally:
    """What was found of earlier work, in rows."""

    reused: int = 0
    kept: int = 0
    """Go on from turns of an earlier life."""
    new: int = 0
    again: dict[str, int] = field(default_factory=dict)
    """Run again although they are known, by why."""
    held: Mapping[str, int] = field(default_factory=dict)
    """Rows of which earlier runs hold results, by phase."""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """Earlier runs of the same script on other accounts, which serve no row."""


def tokens(count: float) -> str:
    """`850`, `180k`, `3.1M`."""
    if count >= _MILLION:
        return f"{count / _MILLION:.1f}M"
    return f"{count / _THOUSAND:.0f}k" if count >= _THOUSAND else f"{count:.0f}"


def dollars(amount: float) -> str:
    """`$5.20`, `$0.36`, `$0.0021`: small amounts to their second digit."""
    if amount >= WHOLE_FROM:
        return f"${amount:,.0f}"
    if amount >= CENTS_FROM or not amount:
        return f"${amount:.2f}"
    return f"${amount:.{min(1 - floor(log10(amount)), DIGITS_MAX)}f}"


def minutes(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 2 * _MINUTE:
        return f"{max(1, whole)} s"
    if whole < 2 * _HOUR:
        return f"{round(whole / _MINUTE)} min"
    hours, rest = divmod(whole, _HOUR)
    return f"{hours} h {rest // _MINUTE} min" if rest >= _MINUTE else f"{hours} h"


def span(figure: Range, word: str = "") -> str:
    """`about 180k (150k-220k)`, `word` behind the figure."""
    low, high = tokens(figure.low), tokens(figure.high)
    if not figure.high:
        return f"0 {word}".rstrip()
    text = f"about {tokens(figure.expected)}{word and ' ' + word}"
    return text if low == high else f"{text} ({low}-{high})"


def cost(seen: Forecast) -> str:
    """What it costs, or which price is unknown."""
    if seen.dollars is None:
        return f"dollars unknown (no price for {', '.join(seen.unpriced)})"
    low, high = dollars(seen.dollars.low), dollars(seen.dollars.high)
    text = f"about {dollars(seen.dollars.expected)}"
    return text if low == high else f"{text} ({low}-{high})"


def how_long(seen: Forecast) -> str:
    """Minutes, their range, by what; empty when the limits are unknown."""
    if seen.seconds is None:
        return ""
    low, high = minutes(seen.seconds.low), minutes(seen.seconds.high)
    parts = [] if low == high else [f"{low}-{high}"]
    if seen.binds:
        parts.append(_binds(seen.binds))
    text = f"about {minutes(seen.seconds.expected)}"
    return f"{text} ({', '.join(parts)})" if parts else text


def _binds(what: str) -> str:
    if what == BATCHES:
        return "batches take what they take"
    if what in _BUCKETS:
        return f"by {what} per minute"
    return f"by {what}"


def figures(seen: Forecast) -> str:
    """Tokens, dollars and minutes, in this order."""
    parts = [span(seen.tokens.total, "tokens"), cost(seen), how_long(seen)]
    text = "; ".join([", ".join(part for part in parts if part), *sure(seen)])
    if seen.learned:
        return text
    return f"{text}; {_guessed(seen)}, nothing like it was seen yet"


def _guessed(seen: Forecast) -> str:
    """What of it is a guess; of agents with tools what these will give them, too."""
    if not _observed(seen):
        return "a guess"
    tools = seen.calibrated is not None and seen.calibrated.openings
    return "what tools give and the output are guesses" if tools else "output a guess"


def sure(seen: Forecast) -> list[str]:
    """How far off the input may be: `input ±6 %, calibrated on 16 answers`.

    Of agents with tools only what they are given at first is estimated like that.
    """
    known = seen.calibrated
    if known is None:
        return []
    what = "first requests" if known.openings else "input"
    return [f"{what} ±{100 * known.error:.0f} %, {_by_what(known)}"]


def _by_what(known: Calibrated) -> str:
    causes = (
        (known.counted, "first request", " counted"),
        (known.answered, "answer", ""),
        (known.earlier, "request", " of earlier runs"),
    )
    parts = [f"{plural(count, one)}{more}" for count, one, more in causes if count]
    if parts:
        return f"calibrated on {' and '.join(parts)}"
    return f"uncalibrated ({known.failed})" if known.failed else "uncalibrated"


def _observed(seen: Forecast) -> int:
    return 0 if seen.calibrated is None else seen.calibrated.observed


def why(tally: Tally) -> str:
    """`3 because their inputs changed, 2 go on from kept turns, 1 new`."""
    causes = sorted(tally.again.items(), key=lambda item: (-item[1], item[0]))
    parts = [because(cause, count) for cause, count in causes[:CAUSES_SHOWN]]
    rest = sum(count for _, count in causes[CAUSES_SHOWN:])
    if rest:
        parts.append(f"{rest} for other reasons")
    if tally.kept:
        verb = "goes on from its" if tally.kept == 1 else "go on from their"
        parts.append(f"{tally.kept} {verb} kept turns")
    if tally.new and (parts or tally.reused):
        parts.append(f"{tally.new} new")
    elif tally.new and tally.held:
        parts.append(f"{tally.new} new: no earlier row has {_their(tally.new)}")
    return ", ".join(parts)


def _their(count: int) -> str:
    return "its key" if count == 1 else "their keys"


def in_vain(tally: Tally, seen: Forecast) -> int:
    """Count the earlier results in these phases of which none is served; 0 else."""
    if tally.reused or tally.kept:
        return 0
    return sum(tally.held.get(one.phase, 0) for one in seen.phases)


def _on_others(tally: Tally) -> str:
    """Say that there is earlier work on another account; empty where there is more."""
    if tally.held or tally.reused or not tally.elsewhere:
        return ""
    names = list(tally.elsewhere)
    where = ", ".join(names[:CAUSES_SHOWN])
    if len(names) > CAUSES_SHOWN:
        where += f" and {len(names) - CAUSES_SHOWN} more"
    count = sum(tally.elsewhere.values())
    runs = "1 earlier run" if count == 1 else f"{count:,} earlier runs"
    return f"; {runs} on {where}: of another account nothing is reused"


def because(cause: str, count: int) -> str:
    """`3 because their inputs changed`."""
    if count > 1:
        cause = cause.replace("its ", "their ").replace("it was", "they were")
        cause = cause.replace("it read", "they read").replace("it is", "they are")
    return f"{count:,} because {cause}"


def first_wave(tally: Tally, seen: Forecast) -> str:
    """What is said before the first call of a life."""
    if not seen.rows:
        return f"reuses {tally.reused}, nothing else to run so far"
    causes = why(tally)
    causes = f": {causes}" if causes else ""
    if held := in_vain(tally, seen):
        phases = ", ".join(one.phase for one in seen.phases if one.phase in tally.held)
        return (
            f"NOTHING IS REUSED of the {held:,} results that earlier work left in "
            f"{phases}: will run {seen.rows:,}, {figures(seen)}{causes}"
        )
    head = f"reuses {tally.reused:,}, " if tally.reused or tally.held else ""
    others = _on_others(tally)
    return f"{head}will run {seen.rows:,}, {figures(seen)}{causes}{others}"


def later_wave(tally: Tally, wave: Forecast, known: Forecast) -> str:
    """What is said when more agents appear."""
    names: Mapping[str, None] = dict.fromkeys(one.phase for one in wave.phases)
    where = ", ".join(list(names)[:CAUSES_SHOWN])
    if len(names) > CAUSES_SHOWN:
        where += f" and {len(names) - CAUSES_SHOWN} more phases"
    reused = f"reuses {tally.reused:,} more, " if tally.reused else ""
    if not wave.rows:
        return f"{reused}nothing more to run so far"
    causes = why(tally)
    causes = f": {causes}" if causes else ""
    total = tokens(known.tokens.total.expected)
    return (
        f"{reused}will run {wave.rows:,} more in {where}, {figures(wave)}{causes}; "
        f"the run comes to about {total} tokens"
    )
