"""One agent: what it waits on, what it owes, what it has said so far."""

from collections.abc import Sequence

from fanout.words.clean import clean
from fanout.words.hiding import redact
from fanout.words.model import Row, Status
from fanout.words.snapshot import BucketView
from fanout_tui.bridge import TranscriptLine
from fanout_tui.cells import width
from fanout_tui.keytable import TABS
from fanout_tui.text import (
    clock_time,
    cut_start,
    dollars,
    one_line,
    plural,
    signed,
    tokens,
    wrap,
)
from fanout_tui.view.gauges import NAMES
from fanout_tui.view.look import Look
from fanout_tui.view.reason import doing, elapsed, spent_text, tries_text
from fanout_tui.view.rows import status_style, status_word
from fanout_tui.view.side import expects_text
from fanout_tui.view.spans import Line, Span, fit, line, spread

KINDS: tuple[frozenset[str], ...] = (
    frozenset({"prompt", "text", "tool", "result", "note"}),
    frozenset({"prompt"}),
    frozenset({"text"}),
    frozenset({"call", "note"}),
)
LIVE_MAX = 4_000
"""Characters of an answer under way that are shown; once it is whole, all are."""
LINES_MAX = 2_000
"""Wrapped lines kept; a longer transcript shows its end."""

FIRST_LINES = {"prompt": 4, "result": 4}
"""How much of what the agent was given is shown in its transcript."""

NEED_FROM = 20
"""Lines of a screen that has room for more than the conversation."""
REASON_LINES = 3
LABEL = 11
NARROW = 60
_STYLES = {
    "prompt": "dim",
    "tool": "accent",
    "result": "dim",
    "note": "warn",
    "call": "dim",
}
_FIRST = 16
"""Cells before the text: time and kind."""


def agent_lines(look: Look, row: Row, place: str) -> tuple[Line, ...]:
    """The head of the agent screen."""
    glyphs, cells = look.glyphs, look.width
    style = status_style(look, row)
    word = status_word(row.status, 20, glyphs.dash)
    took = elapsed(look, row)
    name = cut_start(one_line(str(row.id)), max(8, cells - len(place) - 4), glyphs.more)
    state = [Span(f" {glyphs.of(row)} {word}", style)]
    state.append(Span(f"  {'-' if took is None else clock_time(took)}"))
    state.append(Span(f"  {tries_text(row)}", "dim"))
    if row.spec is not None:
        state.append(Span(f"  {one_line(row.spec.model)}", "dim"))
    lines = [
        spread((Span(f" {name}", "title"),), (Span(place + " ", "dim"),), cells),
        tuple(state),
        line(Span(" tokens    ", "dim"), spent_text(row), _cost(row)),
        *_now(look, row),
        _expects(look, row),
    ]
    if look.height >= NEED_FROM:
        lines += _need(look, row)
    return tuple(fit(each, cells, glyphs.more) for each in lines)


def _cost(row: Row) -> Span:
    """What its tokens cost; what is in doubt is not in it."""
    return Span(f"  {dollars(row.tally.dollars)}", "dim")


def _now(look: Look, row: Row) -> list[Line]:
    """What it does or waits for; in whole where there is room, as it is or shorter."""
    label = {
        Status.RUNNING: "NOW",
        Status.DONE: "DONE",
        Status.MISSING: "MISSING",
    }.get(row.status, "WAITS ON")
    cells = look.width - LABEL
    if look.height < NEED_FROM:
        now = doing(look, row, cells)
        return [(Span(f" {label:<10}", "head"), Span(now.text or "-", now.style))]
    now = doing(look, row)
    first, *rest = wrap(now.text or "-", cells)
    lines: list[Line] = [(Span(f" {label:<10}", "head"), Span(first, now.style))]
    if len(rest) >= REASON_LINES:
        rest = [*rest[: REASON_LINES - 2], rest[REASON_LINES - 2] + look.glyphs.more]
    return [*lines, *((Span(" " * LABEL + text, now.style),) for text in rest)]


def _expects(look: Look, row: Row) -> Line:
    """Whether the output is there, then where and what it must be."""
    there = {
        Status.DONE: "there",
        Status.MISSING: "not there",
    }.get(row.status, "not there yet")
    size = row.end.size if row.end else None
    if row.status is Status.DONE and size is not None:
        there = f"there, {size:,} bytes"
    style = "done" if row.status is Status.DONE else "dim"
    room = max(0, look.width - LABEL - width(there) - 2)
    where = cut_start(expects_text(row), room, look.glyphs.more)
    return (
        Span(f" {'EXPECTS':<10}", "head"),
        Span(there + "  ", style),
        Span(where),
    )


def _need(look: Look, row: Row) -> list[Line]:
    """What the pool's buckets hold against what this row's next call needs."""
    if row.spec is None or row.status in {Status.DONE, Status.MISSING}:
        return []
    pool = next((p for p in look.snapshot.pools if p.name == row.spec.pool), None)
    if pool is None:
        return []
    spans = [Span(" free      ", "dim")]
    spans += [Span(_free(bucket) + "   ") for bucket in pool.buckets]
    if row.flight is not None:
        spans.append(Span(f"call {row.flight.call} in flight", "dim"))
    return [tuple(spans)]


def _free(bucket: BucketView) -> str:
    name = NAMES[bucket.dimension].removesuffix("/min")
    if bucket.free is None or not bucket.limit:
        return f"{name} limit ?"
    return f"{name} {signed(bucket.free)} of {tokens(bucket.limit)}"


def tabs_line(look: Look, chosen: int, note: str) -> Line:
    """The numbered tabs, and what the list below is doing."""
    spans: list[Span] = [Span(" ", "tabs")]
    for number, name in enumerate(TABS):
        style = "tab" if number == chosen else "tabs"
        spans.append(Span(f" {number + 1} {name} ", style))
    return spread(spans, (Span(note + " ", "tabs"),), look.width, "tabs")


def transcript_lines(
    look: Look, entries: Sequence[TranscriptLine], tab: int, start: float
) -> list[Line]:
    """The entries of a tab as wrapped lines, at most `LINES_MAX` of them."""
    lines: list[Line] = []
    wanted = [entry for entry in entries if entry.kind in KINDS[tab]]
    if TABS[tab] == "result":
        wanted = wanted[-1:]
    for entry in reversed(wanted):
        lines[:0] = _entry(look, entry, tab, start)
        if len(lines) > LINES_MAX:
            return lines[-LINES_MAX:]
    return lines


def live_line(look: Look, row: Row) -> TranscriptLine | None:
    """What the answer under way has said so far: its end."""
    live = look.snapshot.live.get(row.id)
    if live is None or not live.said:
        return None
    # The journal hides secrets; what was not journaled yet has to be gone through.
    text = redact(live.said)
    if len(text) > LIVE_MAX:
        text = look.glyphs.more + text[-LIVE_MAX:]
    return TranscriptLine(live.active_at, "text", text)


def found_in(entries: Sequence[TranscriptLine], words: str) -> list[TranscriptLine]:
    """The entries in which all of the words are."""
    wanted = words.casefold().split()
    return [
        entry
        for entry in entries
        if all(word in f"{entry.kind} {entry.text}".casefold() for word in wanted)
    ]


def transcript_text(entries: Sequence[TranscriptLine]) -> str:
    """The whole conversation as text, for a pager or a file."""
    parts = [
        f"--- {entry.kind}\n{clean(entry.text, lines=True)}\n"
        for entry in entries
        if entry.kind in KINDS[0]
    ]
    return "\n".join(parts)


def _last_of(text: str, cells: int) -> str:
    """The end of a text, enough for all lines that are kept; megabytes take long."""
    most = LINES_MAX * cells
    if len(text) <= most:
        return text
    end = text[-most:]
    # From the start of a line, if that costs next to nothing.
    _, _, whole = end[:cells].partition("\n")
    return (whole + end[cells:]) if whole else end


def _entry(look: Look, entry: TranscriptLine, tab: int, start: float) -> list[Line]:
    narrow = look.width < NARROW
    first = 8 if narrow else _FIRST
    cells = max(1, look.width - first - 1)
    shortened = TABS[tab] == "transcript" and entry.kind in FIRST_LINES
    wrapped = wrap(entry.text if shortened else _last_of(entry.text, cells), cells)
    most = FIRST_LINES.get(entry.kind, len(wrapped))
    if shortened and len(wrapped) > most:
        rest = len(wrapped) - most
        where = ": tab 2" if entry.kind == "prompt" else ""
        wrapped = [*wrapped[:most], f"({plural(rest, 'more line')}{where})"]
    at = clock_time(entry.at - start)
    kind = "" if narrow else f" {entry.kind:<7}"
    style = _STYLES.get(entry.kind, "")
    head = f" {at:>6}{kind} "
    lines: list[Line] = [(Span(head, "dim"), Span(wrapped[0], style))]
    indent = " " * len(head)
    lines += [(Span(indent), Span(text, style)) for text in wrapped[1:]]
    return lines
