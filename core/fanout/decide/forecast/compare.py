"""What a life was said to take beside what it took."""

from collections.abc import Mapping
from typing import Any

from fanout.decide.forecast.say import dollars as dollars_of
from fanout.decide.forecast.say import minutes, tokens
from fanout.decide.sums import minus
from fanout.words.ahead import Foreseen
from fanout.words.model import Usage


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
    }


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
    return f"{expected} expected; {took} used"


def _tokens(count: float) -> str:
    return f"{tokens(count)} tokens"


def _expected(figure: object) -> float | None:
    value = figure.get("expected") if isinstance(figure, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
