"""NOW / WAITS ON: what one row is doing, or what it waits for and until when.

The reason itself is the engine's (`why`); here it only gets words. The wait's
length comes early in the sentence, because narrow columns cut its end.
"""

from fanout.decide.admission.why import why
from fanout.words.model import Cause, Row, Status, Wait
from fanout.words.snapshot import Live
from fanout_tui.text import one_line, plural, short_time, tokens
from fanout_tui.view.look import STALE_S, Look
from fanout_tui.view.spans import Span

SERVICE = frozenset(
    {
        Cause.LIMIT,
        Cause.RAMP,
        Cause.CONCURRENCY,
        Cause.SERVER,
        Cause.OVERLOADED,
        Cause.SERVICE,
        Cause.NETWORK,
        Cause.TIMEOUT,
        Cause.SLEPT,
    }
)
BUCKETS = frozenset({Cause.REQUESTS, Cause.INPUT, Cause.OUTPUT})

_DOING = {
    Cause.SENT: "no answer yet",
    Cause.STREAMING: "answering",
    Cause.TOOLS: "tools",
    Cause.CHECKING: "checking output",
}


def left_of(until: float | None, now: float) -> str:
    """` 7s` until then, or nothing where no time is known."""
    if until is None:
        return ""
    left = until - now
    return f" {short_time(left + 0.999)}" if left > 0 else " now"


def wait_text(wait: Wait, now: float) -> str:
    """`429 limit, retry 7s · input tokens`: cause, how long, figures."""
    text = wait.cause.value
    if left := left_of(wait.until, now):
        text += f", retry{left}" if wait.cause in SERVICE else left
    detail = one_line(wait.detail)
    if wait.cause is Cause.BEHIND and detail:
        return f"{text} {detail}"
    return f"{text} · {detail}" if detail else text


def doing(look: Look, row: Row) -> Span:
    """The row's last column."""
    match row.status:
        case Status.RUNNING:
            return _running(look, row)
        case Status.THROTTLED:
            return Span(_wait(look, row), "throttled")
        case Status.QUEUED:
            return Span(_queued(look, row), "dim")
        case Status.DONE:
            return _done(row)
        case Status.MISSING:
            error = look.glyphs.of(row) == look.glyphs.missing
            return Span(_missing(row), "why-missing" if error else "why-absent")


def _wait(look: Look, row: Row) -> str:
    wait = why(look.snapshot, row)
    return "" if wait is None else wait_text(wait, look.now)


def _running(look: Look, row: Row) -> Span:
    live = look.snapshot.live.get(row.id)
    silent = look.now - active_at(look, row)
    if live is not None and live.cause is Cause.BATCH:
        # Hours without news are what a batch is like.
        return Span(batch_text(live, silent))
    if silent > STALE_S:
        return _silent(live, silent)
    if live is None:
        return Span("retrying" if row.tally.attempts > row.tally.turns + 1 else "sent")
    if live.note:
        return Span(one_line(live.note))
    text = _DOING.get(live.cause, live.cause.value)
    if live.cause is Cause.STREAMING and live.output_tokens:
        text += f" · {tokens(live.output_tokens)} out"
    stuck = look.now - live.grown_at if live.grown_at else 0.0
    if live.cause is Cause.STREAMING and stuck > STALE_S:
        return Span(f"{text}, only pings for {short_time(stuck)}", "warn")
    return Span(text)


def _silent(live: Live | None, silent: float) -> Span:
    """Silence: of a tool that works, of a service that may, of a dead connection."""
    if live is None:
        return Span(f"no activity {short_time(silent)}", "warn")
    if live.cause not in {Cause.SENT, Cause.STREAMING}:
        text = one_line(live.note) or _DOING.get(live.cause, live.cause.value)
        return Span(f"{text} · for {short_time(silent)}")
    text = f"{_DOING[live.cause]}, silent {short_time(silent)}"
    if live.silence_max:
        text += f", cut at {short_time(live.silence_max)}"
    return Span(text, "warn")


def batch_text(live: Live, silent: float) -> str:
    """`batch 12/40, polled 8s ago · msgbatch_…`."""
    news, dot, name = one_line(live.note).partition(" · ")
    return f"{news}, polled {short_time(silent)} ago{dot}{name}"


def _queued(look: Look, row: Row) -> str:
    text = _wait(look, row)
    turn = row.tally.turns + 1
    # What it waits for comes first: narrow columns cut the end.
    return f"{text} · turn {turn}" if turn > 1 and text else text


def _done(row: Row) -> Span:
    if row.end is None:
        return Span("")
    if row.end.reused_from:
        return Span(f"reused from {one_line(row.end.reused_from)}", "dim")
    return Span(one_line(row.end.output or ""), "dim")


def _missing(row: Row) -> str:
    if row.end is None or row.end.kind is None:
        return "no reason known"
    kind, reason = row.end.kind.value, one_line(row.end.reason)
    return f"{kind}: {reason}" if reason and reason != kind else kind


def active_at(look: Look, row: Row) -> float:
    """When something last happened to the row."""
    live = look.snapshot.live.get(row.id)
    if live is not None and live.active_at:
        return max(live.active_at, row.since)
    return row.since


def elapsed(look: Look, row: Row) -> float | None:
    """How long the row has been worked on in this life; None before it began."""
    if row.started_at is None:
        return None
    over = row.status in {Status.DONE, Status.MISSING}
    return max(0.0, (row.since if over else look.now) - row.started_at)


def spent_text(row: Row) -> str:
    """All four token classes of a row, and what was lost."""
    useful = row.tally.useful
    parts = [
        f"{tokens(useful.input_tokens)} in",
        f"{tokens(useful.cache_creation_input_tokens)} cache write",
        f"{tokens(useful.cache_read_input_tokens)} cached",
        f"{tokens(useful.output_tokens)} out",
    ]
    if row.tally.wasted.total:
        parts.append(f"{tokens(row.tally.wasted.total)} wasted")
    if row.tally.in_doubt.total:
        parts.append(f"{tokens(row.tally.in_doubt.total)} in doubt")
    return "  ".join(parts)


def tries_text(row: Row) -> str:
    """Turns and attempts, refusals told apart."""
    tally = row.tally
    text = f"{plural(tally.turns, 'turn')}, {plural(tally.attempts, 'attempt')}"
    if tally.refusals_429:
        text += f", {tally.refusals_429} x 429"
    if tally.refusals_529:
        text += f", {tally.refusals_529} x 529"
    return text
