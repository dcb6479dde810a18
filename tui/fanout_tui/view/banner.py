"""A banner says what the whole run is in, and which key leads on."""

from collections.abc import Callable

from fanout.decide.forecast.say import span
from fanout.words.model import Cause
from fanout.words.snapshot import Gate
from fanout_tui.keys import LIVE
from fanout_tui.text import one_line, plural, short_time, time_of_day
from fanout_tui.view.look import Look
from fanout_tui.view.overspent import waiting
from fanout_tui.view.sentence import NARROW, head_gate
from fanout_tui.view.spans import Line, Span, clauses, fit, line_width

FINISH_FROM = 16
EXIT_WORDS = {
    1: "THE SCRIPT RAISED",
    2: "NOT RUN",
    4: "BUDGET REACHED",
    5: "THE ACCOUNT REFUSES",
    129: "STOPPED",
    130: "STOPPED",
    143: "STOPPED",
    70: "CRASHED",
}


def banner_lines(look: Look) -> tuple[Line, ...]:
    """None, one or two lines across the whole width."""
    snapshot = look.snapshot
    if snapshot.state == "crashed":
        return _lines(look, "CRASHED", _crashed(), "banner-bad")
    if snapshot.end is not None:
        return _ended(look)
    if snapshot.state == "paused":
        flying = snapshot.ceiling.in_flight
        parts = ["no new calls", "p resumes"] if look.how == LIVE else ["no new calls"]
        if flying:
            parts[0] += f"; {plural(flying, 'call')} in flight finish"
        return _lines(look, "PAUSED", parts, "banner")
    if snapshot.state in {"draining", "stopping"}:
        parts = ["finished rows are kept"]
        if look.how == LIVE:
            parts.append("q again to leave or stop at once")
        return _lines(look, snapshot.state.upper(), parts, "banner")
    return _held(look)


def _held(look: Look) -> tuple[Line, ...]:
    if look.snapshot.disk:
        parts = [
            one_line(look.snapshot.disk),
            "nothing new is sent",
            "what is finished is kept",
            "it goes on by itself",
        ]
        return _lines(look, "DISK", parts, "banner-bad")
    asking = look.snapshot.asking
    if asking is not None:
        total = asking.left.tokens.total
        parts = [
            f"{plural(len(asking.rows), 'row')} wait to spend {span(total, 'tokens')}",
            *(["c asks again"] if look.how == LIVE else []),
        ]
        return _lines(look, "SPEND THIS?", parts, "banner")
    if look.snapshot.shorts:
        return _lines(look, "BUDGET", _short(look), "banner")
    gate = head_gate(look.snapshot)
    held = _HELD.get(gate.cause) if gate is not None and gate.cause else None
    if gate is None or held is None:
        return ()
    word, say = held
    return _lines(look, word, say(look, gate), "banner")


def _short(look: Look) -> list[str]:
    """One budget that is asked about; how many more there are."""
    first, *others = look.snapshot.shorts
    rows = plural(waiting(look.snapshot, first), "row")
    whose = f" of {one_line(first.phase)}" if first.phase else ""
    parts = [f"{rows}{whose} wait"]
    if look.how == LIVE and look.width < NARROW:
        parts[0] += ", c asks"
    elif look.how == LIVE:
        instead = "go on without" if first.phase else "stop"
        parts.append(f"c asks: raise it, or {instead}")
    if others:
        parts.append(f"{plural(len(others), 'more budget')} reached")
    return [*parts, one_line(first.reason)]


def _offline(_: Look, gate: Gate) -> list[str]:
    # Who waits until when, and that it goes on by itself, is the sentence above it;
    # where there is no room for that, the next try is said here.
    tries = "trying now"
    if gate.until is not None:
        tries = f"next try at {time_of_day(gate.until)}"
    return [
        one_line(gate.detail).removeprefix("no connection: "),
        "rows keep their place",
        tries,
    ]


def _overloaded(look: Look, gate: Gate) -> list[str]:
    held = ""
    if gate.until is not None:
        held = f" {short_time(max(0.0, gate.until - look.now) + 0.999)}"
    return [
        f"the API answers 529, starts held{held}",
        "rows keep their place and come back by themselves",
    ]


def _budget(look: Look, _: Gate) -> list[str]:
    queued = plural(look.snapshot.counts.queued, "row")
    return [f"{queued} wait for money or tokens", "what is finished is kept"]


_HELD: dict[Cause, tuple[str, Callable[[Look, Gate], list[str]]]] = {
    Cause.OFFLINE: ("OFFLINE", _offline),
    Cause.BREAKER: ("OVERLOADED", _overloaded),
    Cause.BUDGET: ("BUDGET", _budget),
}
"""Waits of the whole run that are worth a banner."""


def _crashed() -> list[str]:
    return ["everything finished is on disk", "e reports", "q leaves, then resume"]


def _ended(look: Look) -> tuple[Line, ...]:
    snapshot = look.snapshot
    end = snapshot.end
    counts = snapshot.counts
    assert end is not None
    if end.complete:
        word, style = "COMPLETE", "banner-good"
    else:
        word = EXIT_WORDS.get(end.exit_code or 0, "INCOMPLETE")
        if snapshot.state == "killed":
            word = "KILLED"
        style = "banner-bad"
        if end.accepted:
            word, style = "ACCEPTED", "banner"
    parts = [f"{counts.done} of {counts.expected} done"]
    if counts.missing:
        parts.append(f"{counts.missing} missing")
        if look.how == LIVE:
            parts.append("R requeues them")
    parts += ["e reports", "q leaves"]
    lines = _lines(look, word, parts, style, joint=", ")
    if end.finish and look.height >= FINISH_FROM:
        command = (Span(" finish it:  ", "dim"), Span(one_line(end.finish), "command"))
        lines += (fit(command, look.width, look.glyphs.more),)
    return lines


def _lines(
    look: Look, word: str, parts: list[str], style: str, joint: str = "; "
) -> tuple[Line, ...]:
    text = clauses(parts, look.width - len(word) - 4, joint)
    spans = fit((Span(f" {word}  {text}", style),), look.width, look.glyphs.more)
    fill = look.width - line_width(spans)
    return ((*spans, Span(" " * fill, style)),)
