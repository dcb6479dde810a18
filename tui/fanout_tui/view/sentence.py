"""The sentence: what holds the run up, who waits, until when, what would help.

It reads the gate that made the head of the queue wait, so it cannot disagree
with what admission does. Its first clause always fits; the others follow as
there is room.
"""

from fanout.decide.admission.retry import TROUBLE_CAUSES
from fanout.words.model import Cause, Row, Status
from fanout.words.snapshot import Gate, Snapshot
from fanout_tui.text import one_line, plural, short_time, time_of_day
from fanout_tui.view.forecast import ceiling_forecast, tightest
from fanout_tui.view.look import Look
from fanout_tui.view.reason import BUCKETS, batch_text, left_of, limit_met
from fanout_tui.view.spans import Line, Span, clauses, fit

HELP = {
    Cause.REQUESTS: "fewer, larger calls would help",
    Cause.INPUT: "smaller inputs or a shared cached prefix would help",
    Cause.OUTPUT: "shorter answers or a lower `max_tokens` would help",
    Cause.BUDGET: "a larger `--max-tokens-total` or `--max-usd` would help",
    Cause.BREAKER: "waiting helps, fewer agents do not",
    Cause.RAMP: "growing more slowly; nothing to do",
    Cause.PAUSED: "p resumes",
}
NARROW = 60
"""Columns below which only what decides is said."""
_OVERLOADED = "529, the service is overloaded"
_SHORTER = {
    Cause.BREAKER: Cause.OVERLOADED.value,
    Cause.LEARNING: "limits unknown yet",
}
STATES = {
    "starting": "starting: the script is being loaded",
    "crashed": "the engine stopped; everything finished is on disk",
    "killed": "nobody works on it any more; everything finished is on disk",
    "draining": "stopping: {flying} in flight finish, nothing new is sent",
    "stopping": "stopping at once; finished rows are kept",
}


def sentence_line(look: Look) -> Line:
    """The sentence as one line."""
    parts, style = _said(look)
    mark = look.glyphs.alert if style == "warn" else " "
    text = clauses(parts, look.width - 4)
    return fit((Span(f" {mark} ", style), Span(text, style)), look.width)


def sentence(look: Look) -> str:
    """All clauses, for plain output and tests."""
    return "; ".join(_said(look)[0])


def _said(look: Look) -> tuple[list[str], str]:
    """The clauses, and how urgent they are."""
    snapshot = look.snapshot
    if snapshot.end is not None:
        return [one_line(snapshot.end.reason) or "ended"], ""
    if snapshot.state in STATES:
        style = "dim" if snapshot.state == "starting" else "warn"
        flying = plural(snapshot.ceiling.in_flight, "call")
        return [STATES[snapshot.state].format(flying=flying)], style
    if snapshot.state == "paused":
        return _paused(snapshot), "warn"
    if snapshot.asking is not None:
        waiting = plural(len(snapshot.asking.rows), "row")
        parts = [f"{waiting} {Cause.ANSWER.value.replace('waits', 'wait')}"]
        return [*parts, "nothing of them is sent before"], "warn"
    gate = head_gate(snapshot)
    if gate is not None and gate.cause is not None:
        return _gate(look, gate, gate.cause)
    return _no_gate(look)


def head_gate(snapshot: Snapshot) -> Gate | None:
    """The gate that holds most rows back."""
    waiting = [gate for gate in snapshot.gates.values() if gate.cause is not None]
    return max(waiting, key=lambda gate: len(gate.waiting), default=None)


def _paused(snapshot: Snapshot) -> list[str]:
    counts, flying = snapshot.counts, snapshot.ceiling.in_flight
    going = f"{flying} in flight go on" if flying else "nothing is in flight"
    waiting = counts.queued + counts.throttled
    return [f"paused: {going}, {waiting} wait", "nothing new is sent", "p resumes"]


def _who(look: Look) -> str:
    counts = look.snapshot.counts
    if look.width < NARROW:
        return f"{counts.throttled + counts.queued} wait"
    parts = []
    if counts.throttled:
        parts.append(f"{counts.throttled} throttled")
    if counts.queued:
        parts.append(f"{counts.queued} queued")
    return ", ".join(parts) + " wait" if parts else "nobody waits"


def _per_minute(look: Look, cause: Cause) -> str:
    if look.width < NARROW:
        return f"{cause.value.removesuffix(' tokens')}/min"
    return f"bottleneck {cause.value}/min"


def _limit(gate: Gate) -> str:
    """`429 input tokens/min`, where the service has said which limit was met."""
    met = limit_met(gate.detail)
    return f"429 {met.value}/min" if met is not None else Cause.LIMIT.value


def _gate(look: Look, gate: Gate, cause: Cause) -> tuple[list[str], str]:
    match cause:
        case Cause.CEILING:
            return _ceiling(look), ""
        case Cause.DISK:
            who = f"the disk refuses: {_who(look)}"
            return [who, "make room and it goes on"], "warn"
        case Cause.OFFLINE:
            return _offline(look, gate), "warn"
    when = left_of(gate.until, look.now).strip()
    until = f"next start {'now' if when == 'now' else 'in ' + when}" if when else ""
    more = (until, one_line(gate.detail), HELP.get(cause))
    return [_what(look, gate, cause), *(part for part in more if part)], "warn"


def _what(look: Look, gate: Gate, cause: Cause) -> str:
    """What holds the line, and who waits for it."""
    who, narrow = _who(look), look.width < NARROW
    if cause in BUCKETS:
        return f"{_per_minute(look, cause)}: {who}"
    if cause is Cause.LIMIT:
        return f"{_limit(gate)}: {who}"
    if cause is Cause.BREAKER and not narrow:
        return f"{_OVERLOADED}: {who}, places kept"
    if cause is Cause.LEARNING and not narrow:
        return f"limits are unknown yet: {who} for the first answer"
    return f"{_SHORTER.get(cause, cause.value)}: {who}"


def _offline(look: Look, gate: Gate) -> list[str]:
    """`offline: 47 queued wait, next try at 14:02:11`; the banner says why."""
    tries = "trying now"
    if gate.until is not None:
        tries = f"next try at {time_of_day(gate.until)}"
    said = one_line(gate.detail) or "no connection"
    who = _who(look)
    return [f"offline: {who}, {tries}", "it goes on by itself", said]


def _ceiling(look: Look) -> list[str]:
    snapshot, ceiling = look.snapshot, look.snapshot.ceiling
    whose = "" if ceiling.user is None else " (yours; A gives it back)"
    if look.width < NARROW:
        return [f"ceiling {ceiling.in_flight}/{ceiling.limit}: {_who(look)}"]
    parts = [
        (
            f"limited by the ceiling {ceiling.in_flight}/{ceiling.limit}{whose}: "
            f"{_who(look)}"
        )
    ]
    if ceiling.user is None:
        parts.append("it grows while answers come back")
        return parts
    then = ceiling_forecast(snapshot, ceiling.limit + 5)
    if then is not None:
        fits = (
            "the limits would carry more (+)"
            if then.after <= 1
            else (f"more would only wait for {then.dimension.value}")
        )
        parts.append(fits)
    return parts


def _no_gate(look: Look) -> tuple[list[str], str]:
    snapshot = look.snapshot
    counts = snapshot.counts
    if not counts.expected:
        return ["no partitions yet: the script has not asked for any"], "dim"
    if counts.throttled:
        return _throttled(look), "warn"
    if counts.running:
        if batched := _in_batches(look):
            return batched, ""
        parts = [f"nothing is held back: {plural(counts.running, 'row')} running"]
        if counts.queued:
            parts[0] += f", {counts.queued} queued"
        pool = tightest(snapshot.pools)
        if pool is None:
            parts.append("limits unknown until the first response")
        return parts, ""
    if counts.queued:
        return [f"{plural(counts.queued, 'row')} expected, none asked for yet"], ""
    return ["every row has ended; the script goes on"], ""


def _in_batches(look: Look) -> list[str]:
    """What the batches say where every running row waits for one; else nothing."""
    live = look.snapshot.live.values()
    said = {one.note: one for one in live if one.cause is Cause.BATCH}
    rows = sum(one.cause is Cause.BATCH for one in live)
    if not said or rows < look.snapshot.counts.running:
        return []
    oldest = min(said.values(), key=lambda one: one.active_at)
    return [
        f"{plural(rows, 'row')} in {plural(len(said), 'batch', 'batches')}",
        batch_text(oldest, look.now - oldest.active_at),
        "a batch may take a day: q leaves it, a resume picks it up",
    ]


def _throttled(look: Look) -> list[str]:
    snapshot = look.snapshot
    rows = [r for r in snapshot.rows.values() if r.status is Status.THROTTLED]
    first = min(rows, key=_until, default=None)
    parts = [f"{snapshot.counts.throttled} throttled {look.glyphs.dash} retrying"]
    if first is None or first.wait is None:
        return parts
    parts[0] += f": {first.wait.cause.value}"
    if first.wait.until is not None:
        left = max(0.0, first.wait.until - look.now)
        parts.append(f"next retry in {short_time(left + 0.999)}")
    if first.wait.cause in TROUBLE_CAUSES:
        parts.append("waiting helps, fewer agents do not")
    return parts


def _until(row: Row) -> float:
    if row.wait is None or row.wait.until is None:
        return row.since
    return row.wait.until
