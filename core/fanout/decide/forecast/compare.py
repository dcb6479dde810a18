"""What a life was said to take beside what it took."""

from collections.abc import Callable, Mapping
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
    """Say both in a line: `180k tokens, $0.42, 3 min; took 176k, $0.41, 3 min`.

    Empty where nothing was expected to be spent.
    """
    if told is None or not told["known"].get("agents"):
        return ""
    known, actual = told["known"], told["actual"]
    parts = [
        (known["tokens"]["total"]["expected"], actual["tokens"]["total"], tokens),
        (_expected(known["dollars"]), actual["dollars"], dollars_of),
        (_expected(known["seconds"]), actual["seconds"], minutes),
    ]
    both = [(a, b, say) for a, b, say in parts if a is not None and b is not None]
    expected = ", ".join(_unit(say, say(a)) for a, _, say in both)
    took = ", ".join(_unit(say, say(b)) for _, b, say in both)
    return f"{expected} expected; {took} used"


def _unit(say: Callable[[float], str], text: str) -> str:
    return f"{text} tokens" if say is tokens else text


def _expected(figure: Mapping[str, float] | None) -> float | None:
    return None if figure is None else figure["expected"]
