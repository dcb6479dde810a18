"""How long a call may take for what; one value, read from wherever it is stated.

Four waits differ in what they say. No connection: nothing was sent and nothing is
charged. No first byte: the request may be at work. Silence inside a stream: the
connection is dead, for a service at work sends pings. A call as a whole: it is
alive and never comes to its end. Tools have a limit of their own, and waiting for
a rate limit has none.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fanout.errors import UsageError

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
LEAST, MOST = 1.0, 86_400.0
"""Seconds; below, the watchdog cannot tell silence from a busy moment."""
NAMES = {
    "connect": "connect",
    "first-byte": "first_byte",
    "idle": "between_bytes",
    "call": "call",
}
"""What people call them, and the field that is meant."""
EXAMPLE = "for instance first-byte=90,idle=60,call=20m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for what, in seconds; pings count as life.

    Raises `UsageError` for what makes no sense.
    """

    connect: float = 10.0
    """Until a connection stands: name, address, TLS."""
    first_byte: float = 300.0
    """From then until the headers of the answer."""
    between_bytes: float = 120.0
    """Silence inside a stream."""
    call: float = 3600.0
    """A call from its sending to its end; infinite: no limit."""
    plain: float = 60.0
    """For a small request as a whole: a count of tokens, a list of models."""

    def __post_init__(self) -> None:
        for name, field in NAMES.items():
            value: float = getattr(self, field)
            endless = name == "call" and value == math.inf
            if not (LEAST <= value <= MOST or endless):
                raise UsageError(
                    f"the timeout {name} must lie between {duration(LEAST)} and "
                    f"{duration(MOST)}, not be {value:g} s",
                    hint=EXAMPLE,
                )


def read_timeouts(stated: Iterable[str], base: Timeouts | None = None) -> Timeouts:
    """Read `first-byte=90,idle=60` texts, later ones over earlier; `UsageError`."""
    found: dict[str, str] = {}
    for text in stated:
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals:
                raise UsageError(
                    f"`{part}` is no timeout: a name and a time are", hint=EXAMPLE
                )
            found[name.strip()] = value.strip()
    return with_timeouts(found, base)


def with_timeouts(
    stated: Mapping[str, object], base: Timeouts | None = None
) -> Timeouts:
    """Change timeouts by name: `{"first-byte": "90", "call": "none"}`; `UsageError`."""
    fields = {}
    for name, value in stated.items():
        if name not in NAMES:
            raise UsageError(
                f"there is no timeout `{name}`",
                hint=f"there are {', '.join(NAMES)}; {EXAMPLE}",
            )
        fields[NAMES[name]] = _seconds(name, value)
    return replace(base or Timeouts(), **fields)


def _seconds(name: str, value: object) -> float:
    text = str(value).strip().lower()
    if name == "call" and text == "none":
        return math.inf
    number = text.rstrip("hinms")
    unit = text[len(number) :] or "s"
    try:
        seconds = float(number) * UNITS[unit]
    except (ValueError, KeyError):
        seconds = math.nan
    if isinstance(value, bool) or not math.isfinite(seconds):
        raise UsageError(
            f"the timeout {name} takes a time such as 90, 90s or 20m, not `{value}`",
            hint=EXAMPLE,
        )
    return seconds


def duration(seconds: float) -> str:
    """Say a time as people do: `45 s`, `20 min`, `8 h`."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0):
            return f"{round(seconds / size, 1):g} {unit}"
    return f"{round(seconds, 1):g} s"
