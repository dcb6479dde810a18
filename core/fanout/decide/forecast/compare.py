"""What a life was said to take beside what it took."""

from collections.abc import Mapping
from typing import Any

from fanout.decide.forecast.say import dollars as dollars_of
from fanout.decide.forecast.say import minutes, tokens
from fanout.decide.sums import minus
from fanout.words.ahead import Foreseen
from fanout.words.model import Usage

INPUTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def compared(
    foreseen: Foreseen | None, used: Usage, dollars: float | None, at: float
) -> Mapping[str, Any] | None:
    """Return forecast and outcome as the report has them; None without a forecast.

    `used` is what all lives have used by the second `at`, useful and wasted.
    """
    if foreseen is None:
        return None
    usage = minus(used, foreseen.before)
    before = foreseen.dollars_before
    cost = None if dollars is None or before is None else round(dollars - before, 6)
    return {
        "text": foreseen.last.text,
        "reused": foreseen.last.reused,
        "kept": foreseen.last.kept,
        "again": dict(foreseen.last.again),
        "first": foreseen.first.figures,
        "known": foreseen.last.figures,
        "actual": {
            "tokens": {**usage.as_dict(), "total": usage.total},
            "dollars": cost,
            "seconds": round(max(0.0, at - foreseen.at), 3),
        },
        "input": _input(foreseen.first.figures, foreseen.last.figures, usage),
    }


def _input(first: Any, figures: Any, usage: Usage) -> Mapping[str, Any] | None:
    """What was read beside what was expected; None where nothing was.

    What agents with tools read later is not in how sure their openings are.
    """
    classes = figures.get("tokens") if isinstance(figures, Mapping) else None
    known = classes if isinstance(classes, Mapping) else {}
    parts = [_expected(known.get(name)) for name in INPUTS]
    expected = sum(part or 0.0 for part in parts)
    if not expected:
        return None
    told = figures.get("calibrated")
    read = usage.charged_input + usage.cache_read_input_tokens
    return {
        "expected": round(expected),
        "used": read,
        "off": round(read / expected - 1, 4),
        "said": told.get("error") if isinstance(told, Mapping) else None,
        "openings": _of_openings(first) or _of_openings(figures),
    }


def _of_openings(figures: Any) -> bool:
    told = figures.get("calibrated") if isinstance(figures, Mapping) else None
    return bool(isinstance(told, Mapping) and told.get("openings"))


def outcome(told: Mapping[str, Any] | None) -> str:
    """Say both: `180k tokens, $0.360, 3 min expected; 176k tokens, … used`.

    Empty where nothing was expected to be spent. What was said came from a journal,
    so a figure that is none is left out.
    """
    if told is None:
        return ""
    known, actual = told["known"], told["actual"]
    if not isinstance(known, Mapping) or not known.get("agents"):
        return ""
    classes = known.get("tokens")
    total = classes.get("total") if isinstance(classes, Mapping) else None
    parts = [
        (_expected(total), actual["tokens"]["total"], _tokens),
        (_expected(known.get("dollars")), actual["dollars"], dollars_of),
        (_expected(known.get("seconds")), actual["seconds"], minutes),
    ]
    both = [(a, b, say) for a, b, say in parts if a is not None and b is not None]
    if not both:
        return ""
    expected = ", ".join(say(a) for a, _, say in both)
    took = ", ".join(say(b) for _, b, say in both)
    return f"{expected} expected; {took} used{_off(told.get('input'))}"


def _off(told: object) -> str:
    """Say how far off the input was, where it was estimated as a whole."""
    if not isinstance(told, Mapping) or told["said"] is None or told["openings"]:
        return ""
    off, said = round(100 * told["off"]), 100 * told["said"]
    where = f"{abs(off)} % {'more' if off > 0 else 'less'} than" if off else "as"
    return f"; input {where} expected (±{said:.0f} % said)"


def _tokens(count: float) -> str:
    return f"{tokens(count)} tokens"


def _expected(figure: object) -> float | None:
    value = figure.get("expected") if isinstance(figure, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
