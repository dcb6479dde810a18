"""What was left to do at a moment, as a part of what was observed, and back.

A forecast begins with what earlier runs have learned and with limits that were known
ahead, neither of which is in the run's journal: nobody else can work it out again.
"""

from collections.abc import Sequence
from typing import Any

from fanout.words.forecast import Forecast, PhaseForecast, Range, TokenRange

_CLASSES = ("input", "cache_write", "cache_read", "output")


def told(left: Forecast | None) -> dict[str, Any] | None:
    """Return a forecast in plain values, as fine as it is shown."""
    if left is None:
        return None
    return {
        "phases": [_phase(phase) for phase in left.phases],
        "seconds": _range(left.seconds, 1),
        "binds": left.binds,
        "limits": left.limits,
        "unknown": left.unknown,
    }


def read(left: Any) -> Forecast | None:
    """Return the forecast. Raises as `seen_in` does."""
    if left is None:
        return None
    return Forecast(
        phases=tuple(_read_phase(*phase) for phase in left["phases"]),
        seconds=_read_range(left["seconds"]),
        binds=left["binds"],
        limits=left["limits"],
        unknown=left["unknown"],
    )


def _phase(phase: PhaseForecast) -> list[Any]:
    return [
        [phase.phase, phase.model, phase.pool],
        phase.rows,
        phase.learned,
        _range(phase.calls, 1),
        [_range(getattr(phase.tokens, name), 0) for name in _CLASSES],
        _range(phase.dollars, 4),
        round(phase.seconds, 1),
    ]


def _read_phase(*parts: Any) -> PhaseForecast:
    (phase, model, pool), rows, learned, calls, tokens, dollars, seconds = parts
    classes = [_sure(_read_range(one)) for one in tokens]
    return PhaseForecast(
        phase=phase,
        model=model,
        pool=pool,
        rows=rows,
        learned=learned,
        calls=_sure(_read_range(calls)),
        tokens=TokenRange(**dict(zip(_CLASSES, classes, strict=True))),
        dollars=_read_range(dollars),
        seconds=seconds,
    )


def _range(figure: Range | None, digits: int) -> list[float] | None:
    if figure is None:
        return None
    parts = (figure.low, figure.expected, figure.high)
    return [round(part, digits) for part in parts]


def _read_range(figure: Sequence[float] | None) -> Range | None:
    return None if figure is None else Range(*figure)


def _sure(figure: Range | None) -> Range:
    if figure is None:
        raise ValueError("a figure is missing")
    return figure
