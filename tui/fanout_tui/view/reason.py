"""NOW / WAITS ON: what one row is doing, or what it waits for and until when.

The reason itself is the engine's (`why`); here it only gets words. They come in
several lengths, so that a narrow column still says until when.
"""

from collections.abc import Sequence

from fanout.decide.admission.said import said_limit
from fanout.decide.admission.why import why
from fanout.words.model import Cause, Dimension, Row, Status, Wait
from fanout.words.snapshot import Live
from fanout_tui.cells import width
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
        Cause.CUT,
        Cause.TIMEOUT,
        Cause.SLEPT,
    }
)
_OF = {dimension: Cause(dimension.value) for dimension in Dimension}
BUCKETS = frozenset(_OF.values())

_DOING = {
    Cause.SENT: "no answer yet",
    Cause.STREAMING: "answering",
    Cause.TOOLS: "tools",
    Cause.CHECKING: "checking output",
}

SHORT = {
    Cause.LIMIT: "429",
    Cause.RAMP: "429 ramp",
    Cause.CONCURRENCY: "429",
    Cause.SERVER: "429",
    Cause.OVERLOADED: "529",
    Cause.SERVICE: "error",
    Cause.CUT: "cut",
    Cause.TIMEOUT: "timeout",
    Cause.INPUT: "input",
    Cause.OUTPUT: "output",
    Cause.BREAKER: "529 hold",
    Cause.LEARNING: "learning",
    Cause.ANSWER: "your answer",
}
"""What narrow columns call a cause, before how long it takes."""


def left_of(until: float | None, now: float) -> str:
    """` 7s` until then, or nothing where no time is known."""
    if until is None:
        return ""
    left = until - now
    return f" {short_time(left + 0.999)}" if left > 0 else " now"


def fitting(forms: Sequence[str], cells: int | None) -> str:
    """The first form that fits into `cells`, else the last; None: the first."""
    if cells is None:
        return forms[0]
    return next((form for form in forms if width(form) <= cells), forms[-1])


def limit_met(text: str) -> Dimension | None:
    """The limit that the words of a 429 name, where they do."""
    said = said_limit(text)
    return said.dimension if said is not None else None


def wait_forms(wait: Wait, now: float) -> tuple[str, ...]:
    """`429 limit, retry 7s · input tokens`, and shorter: cause, how long, figures."""
    text, short = wait.cause.value, SHORT.get(wait.cause, wait.cause.value)
    detail = one_line(wait.detail)
    if detail[:3] == text[:3] and detail[:3].isdecimal():
        detail = detail.partition(": ")[2] or detail
    if wait.cause is Cause.LIMIT and (met := limit_met(wait.detail)):
        detail = met.value
        short = f"{short} {SHORT.get(_OF[met], met.value)}"
    if left := left_of(wait.until, now):
        left = f", retry{left}" if wait.cause in SERVICE else left
    place, _, last = detail.partition(" for ")
    if wait.cause is Cause.BEHIND and detail:
        short = f"{text} {place}: {last.removesuffix(' tokens')}"
        return (f"{text} {detail}", short) if last else (f"{text} {detail}",)
    if not left and last and detail.startswith(Cause.BEHIND.value):
        # Throttled, and its turn comes when that of the line does.
        return f"{text} · {detail}", f"{short}, {detail}", f"{short}, {place}"
    forms = (text + left, short + left, SHORT.get(wait.cause, text) + left)
    return (f"{text}{left} · {detail}", *forms) if detail else forms


def doing(look: Look, row: Row, cells: int | None = None) -> Span:
    """What the row is doing or waits for, in words that fit into `cells`."""
    match row.status:
        case Status.RUNNING:
            return _running(look, row, cells)
        case Status.THROTTLED:
            wait = why(look.snapshot, row)
            forms = wait_forms(wait, look.now) if wait is not None else ("",)
            return Span(fitting(forms, cells), "throttled")
        case Status.QUEUED:
            return Span(_queued(look, row, cells), "dim")
        case Status.DONE:
            return _done(row)
        case Status.MISSING:
            error = look.glyphs.of(row) == look.glyphs.missing
            return Span(_missing(row), "why-missing" if error else "why-absent")


def _running(look: Look, row: Row, cells: int | None) -> Span:
    live = look.snapshot.live.get(row.id)
    silent = look.now - active_at(look, row)
    if live is not None and live.cause is Cause.BATCH:
        # Hours without news are what a batch is like.
        return Span(batch_text(live, silent))
    if silent > STALE_S:
        return _silent(live, silent, cells)
    if live is None:
        return Span("retrying" if row.tally.attempts > row.tally.turns + 1 else "sent")
    if live.note:
        return Span(one_line(live.note))
    text = _DOING.get(live.cause, live.cause.value)
    forms = [text]
    if live.cause is Cause.STREAMING and live.output_tokens:
        out = f"{tokens(live.output_tokens)} out"
        forms = [f"{text} · {out}", f"{text} {out}"]
    stuck = look.now - live.grown_at if live.grown_at else 0.0
    if live.cause is Cause.STREAMING and stuck > STALE_S:
        pings = f"only pings for {short_time(stuck)}"
        return Span(fitting([f"{forms[0]}, {pings}", pings], cells), "warn")
    return Span(fitting(forms, cells))


def _silent(live: Live | None, silent: float, cells: int | None) -> Span:
    """Silence: of a tool that works, of a service that may, of a dead connection."""
    if live is None:
        return Span(f"no activity {short_time(silent)}", "warn")
    if live.cause not in {Cause.SENT, Cause.STREAMING}:
        text = one_line(live.note) or _DOING.get(live.cause, live.cause.value)
        return Span(f"{text} · for {short_time(silent)}")
    short = f"silent {short_time(silent)}"
    forms = [f"{_DOING[live.cause]}, {short}", short]
    if live.silence_max:
        cut = f", cut at {short_time(live.silence_max)}"
        forms = [forms[0] + cut, short + cut, short]
    return Span(fitting(forms, cells), "warn")


def batch_text(live: Live, silent: float) -> str:
    """`batch 12/40, polled 8s ago · msgbatch_…`."""
    news, dot, name = one_line(live.note).partition(" · ")
    return f"{news}, polled {short_time(silent)} ago{dot}{name}"


def _queued(look: Look, row: Row, cells: int | None) -> str:
    wait = why(look.snapshot, row)
    if wait is None:
        return ""
    forms = wait_forms(wait, look.now)
    if (turn := row.tally.turns + 1) > 1:
        forms = (f"{forms[0]} · turn {turn}", *forms)
    return fitting(forms, cells)


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
