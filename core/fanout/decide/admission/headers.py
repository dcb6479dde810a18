"""Rate-limit headers, as text from a stranger, into figures.

Nothing here raises and nothing is believed that cannot be: a header that is
not a number, negative, or an impossible date is named in `Limits.ignored` and
its part of the triple is None. Whether a sensible figure is *true* is judged by
the bucket that follows it (`fanout.decide.admission.bucket`).

The combined `anthropic-ratelimit-tokens-*` triple is left out on purpose: it
shows sums, or whichever limit binds, with the earlier of two resets. A client
that compares a request with it waits for ever on a full, idle account.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from fanout.words.model import Dimension
from fanout.words.outcome import Limits, Triple

PREFIX = "anthropic-ratelimit-"

NAMES: Mapping[Dimension, str] = {
    Dimension.REQUESTS: "requests",
    Dimension.INPUT: "input-tokens",
    Dimension.OUTPUT: "output-tokens",
}
"""The triple's name in the header, by dimension."""

NAMES_OF_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
MONTHS = {
    name: number for number, name in enumerate(NAMES_OF_MONTHS.split(" "), start=1)
}

# Tokens remaining are rounded to thousands, and may so be more than the limit.
ROUNDED = 1000
# A bucket that is full shows the present second. Nor is one hours in debt: the
# largest call there is takes the smallest account half an hour into it.
RESET_PAST_MAX = 60.0
RESET_AHEAD_MAX = 3600.0
# A date that no calendar shows any more; waiting for it is waiting for ever.
RETRY_AFTER_MAX = 1e10

# A limit beyond this is a typing error of somebody's proxy; believing it would
# make every level arithmetic lose its precision.
FIGURE_MAX = 10**12


def read_limits(headers: Mapping[str, str]) -> Limits:
    """The triples and the server's clock; `headers` has lower-cased names."""
    ignored: list[str] = []
    date = headers.get("date")
    seconds = None if date is None else _http_date(date)
    if date is not None and seconds is None:
        ignored.append(_shown("date", date))
    triples: dict[Dimension, Triple] = {}
    for dimension, name in NAMES.items():
        triple = _triple(headers, f"{PREFIX}{name}", seconds, ignored)
        if triple != Triple(None, None, None):
            triples[dimension] = triple
    return Limits(triples=triples, date=seconds, ignored=tuple(ignored))


def read_retry_after(headers: Mapping[str, str], *, wall: float) -> float | None:
    """Seconds to wait, whichever form they were sent in; None where senseless.

    The value is obeyed however large it is, as long as a calendar can show it. A
    date is measured on the server's own clock where `date` tells it, so that a
    skewed clock here does not matter.
    """
    seconds = _retry_after(headers, wall)
    return None if seconds is None else min(seconds, RETRY_AFTER_MAX)


def _retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    ms = _number(headers.get("retry-after-ms"))
    if ms is not None:
        return ms / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    if seconds is not None:
        return seconds
    until = _http_date(text)
    if until is None:
        return None
    server_now = _http_date(headers.get("date", ""))
    return max(0.0, until - (wall if server_now is None else server_now))


def _triple(
    headers: Mapping[str, str], name: str, date: float | None, ignored: list[str]
) -> Triple:
    limit = _count(headers, f"{name}-limit", ignored)
    if limit == 0:
        ignored.append(_shown(f"{name}-limit", "0"))
        limit = None
    remaining = _count(headers, f"{name}-remaining", ignored)
    if remaining is not None and limit is not None and remaining > limit + ROUNDED:
        ignored.append(_shown(f"{name}-remaining", str(remaining)))
        remaining = None
    return Triple(limit, remaining, _reset(headers, f"{name}-reset", date, ignored))


def _reset(
    headers: Mapping[str, str], name: str, date: float | None, ignored: list[str]
) -> float | None:
    text = headers.get(name)
    if text is None:
        return None
    reset = _instant(text)
    if reset is not None and date is not None:
        ahead = reset - date
        reset = reset if -RESET_PAST_MAX <= ahead <= RESET_AHEAD_MAX else None
    if reset is None:
        ignored.append(_shown(name, text))
    return reset


def _count(headers: Mapping[str, str], name: str, ignored: list[str]) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    number = _number(text)
    if number is None or number > FIGURE_MAX:
        ignored.append(_shown(name, text))
        return None
    return int(number)


def _number(text: str | None) -> float | None:
    """A finite number of at least 0."""
    if text is None:
        return None
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _instant(text: str) -> float | None:
    """An RFC 3339 instant as epoch seconds."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


def _http_date(text: str) -> float | None:
    """An HTTP date (`Sun, 06 Nov 1994 08:49:37 GMT`) as epoch seconds."""
    match text.replace(",", " ").split():
        case [_, day, month, year, clock, "GMT"] if month in MONTHS:
            return _instant(f"{year}-{MONTHS[month]:02}-{day:0>2}T{clock}+00:00")
        case _:
            return None


def _shown(name: str, text: str) -> str:
    """A header for the log: short, on one line, whatever was sent."""
    return f"{name}: {ascii(text[:40])[1:-1] or 'empty'}"
