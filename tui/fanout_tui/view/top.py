"""The two lines on top: which run, how it stands, and all rows in one bar."""

from fanout.decide.forecast.batches import BATCHES
from fanout.words.model import Status
from fanout.words.snapshot import Snapshot
from fanout_tui.cells import width
from fanout_tui.text import clock_time, cut_end, dollars, one_line, tokens
from fanout_tui.view.glyphs import Glyphs
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit, line_width, spread

_MARKS = {
    "starting": ("idle", "dim"),
    "running": ("go", "running"),
    "paused": ("pause", "warn"),
    "draining": ("pause", "warn"),
    "stopping": ("stop", "warn"),
    "finished": ("stop", "done"),
    "crashed": ("missing", "missing"),
    "killed": ("missing", "missing"),
}
BAR_ORDER = (
    Status.DONE,
    Status.RUNNING,
    Status.THROTTLED,
    Status.MISSING,
    Status.QUEUED,
)
COUNT_ORDER = (
    Status.DONE,
    Status.RUNNING,
    Status.THROTTLED,
    Status.QUEUED,
    Status.MISSING,
)


PROFILE_FROM = 100
"""From this width on, a simulated account is named, not only marked."""

WORDS_FROM = 120
NARROW = 60
NAME_LEAST = 11
NAME_LEAST_NARROW = 7
BAR_LEAST = 4


def top_line(look: Look) -> Line:
    """Name, state, elapsed; then figures, the least important dropping first."""
    snapshot = look.snapshot
    mark, style = _MARKS.get(snapshot.state, ("idle", "dim"))
    symbol = str(getattr(look.glyphs, mark))
    state = f"{symbol} {snapshot.state.upper()}"
    note = f"{look.note}  " if look.note else ""
    took = clock_time(look.now - snapshot.run.started_at)
    name = one_line(snapshot.run.name)
    figures = _figures(look)
    # With the blanks between, and one at least before the figures.
    fixed = width(note) + width(state) + width(took) + 6
    least = NAME_LEAST if look.width >= NARROW else NAME_LEAST_NARROW
    while figures:
        size = sum(width(span.text) + 2 for span in figures.values())
        if size + fixed + min(width(name), least) <= look.width:
            break
        figures.popitem()
    tail: list[Span] = []
    for place in _PLACES:
        if place in figures:
            tail += [Span("  "), figures[place]]
    tail.append(Span(" "))
    room = look.width - line_width(tail) - fixed + 1
    head = (
        Span(" " + cut_end(name, max(room, 1), look.glyphs.more), "title"),
        Span("  "),
        *((Span(note, "simulated"),) if note else ()),
        Span(state, style),
        Span(" " + took),
    )
    return spread(head, tail, look.width)


_PLACES = ("endpoint", "done", "ceiling", "eta", "tokens", "cost")
"""From left to right; `_figures` has them by importance."""


def _figures(look: Look) -> dict[str, Span]:
    """What the top line says at its right, the most important first."""
    snapshot = look.snapshot
    figures: dict[str, Span] = {}
    endpoint = endpoint_text(snapshot)
    if snapshot.run.simulated and look.width < PROFILE_FROM:
        endpoint = "simulated"
    if snapshot.run.simulated:
        figures["endpoint"] = Span(endpoint, "simulated")
    figures["done"] = Span(done_share(snapshot))
    figures["ceiling"] = Span(ceiling_text(snapshot))
    cost = Span(cost_text(look))
    if snapshot.budget.budget.dollars is not None:
        figures["cost"] = cost
    if not look.over:
        figures["eta"] = Span("ETA " + eta_text(look))
    figures["cost"] = cost
    if not snapshot.run.simulated:
        figures["endpoint"] = Span(endpoint, "dim")
    figures["tokens"] = Span(tokens_text(look))
    return figures


def tokens_text(look: Look) -> str:
    """`1.2M of 3.8M tok`: used, and what the run comes to as far as it is known.

    With a budget `1.2M/5.0M tok`, and `, comes to 3.8M` behind it.
    """
    totals = look.snapshot.totals
    spent = (totals.useful + totals.wasted + totals.overhead).total
    most = look.snapshot.budget.budget.tokens
    ceiling = "" if most is None else tokens(most)
    left = look.snapshot.left
    if look.over or left is None or not left.rows or look.width < WORDS_FROM:
        return f"{tokens(spent)}{_of(ceiling)} tok"
    whole = tokens(round(spent + left.tokens.total.expected))
    if ceiling:
        return f"{tokens(spent)}{_of(ceiling)} tok, comes to {whole}"
    return f"{tokens(spent)} of {whole} tok"


def _of(ceiling: str) -> str:
    return f"/{ceiling}" if ceiling else ""


def cost_text(look: Look) -> str:
    """`$1.20 of $4.10`, in the same way; with a budget `$1.20/10`."""
    spent, left = look.snapshot.totals.dollars, look.snapshot.left
    most = look.snapshot.budget.budget.dollars
    ceiling = "" if most is None else f"{most:,.2f}".removesuffix(".00")
    cost = None if left is None or not left.rows else left.dollars
    if look.over or cost is None or spent is None or look.width < WORDS_FROM:
        return f"{dollars(spent)}{_of(ceiling)}"
    whole = dollars(spent + cost.expected)
    if ceiling:
        return f"{dollars(spent)}{_of(ceiling)}, comes to {whole}"
    return f"{dollars(spent)} of {whole}"


def endpoint_text(snapshot: Snapshot) -> str:
    """Where calls go; simulated accounts by their word."""
    run = snapshot.run
    endpoint = one_line(run.endpoint).removeprefix("https://").rstrip("/")
    if run.simulated and "simulated" not in endpoint:
        return f"simulated {endpoint}"
    return endpoint


def done_share(snapshot: Snapshot) -> str:
    """`13% done`; never 100 before everything is."""
    counts = snapshot.counts
    if not counts.expected:
        return "- done"
    share = counts.done * 100 // counts.expected
    return f"{share}% done"


def ceiling_text(snapshot: Snapshot) -> str:
    """`24/24 auto`: calls in flight, the ceiling, whose figure it is."""
    ceiling = snapshot.ceiling
    whose = "auto" if ceiling.user is None else "manual"
    return f"{ceiling.in_flight}/{ceiling.limit} {whose}"


def eta_text(look: Look) -> str:
    """How long the rest will take, or `--`."""
    left = look.snapshot.left
    if look.eta is None:
        return "--"
    if left is None or left.seconds is None or left.binds != BATCHES:
        return clock_time(look.eta)
    if look.width < WORDS_FROM:
        return clock_time(look.eta)
    most = max(look.eta, left.seconds.high - (look.now - look.snapshot.at))
    return f"{clock_time(look.eta)}, at most {clock_time(most)}"


def bar_line(look: Look) -> Line:
    """All rows as one bar, and the counts; they sum to the last figure."""
    counts = count_spans(look)
    room = look.width - line_width(counts) - 3
    if room < BAR_LEAST:
        return fit((Span(" "), *counts), look.width)
    return (Span(" "), *stacked(look.snapshot, look.glyphs, room), Span(" "), *counts)


def count_spans(look: Look) -> Line:
    """Each status with its symbol and count, and the sum."""
    words = look.width >= WORDS_FROM
    spans: list[Span] = []
    for status in COUNT_ORDER:
        count = look.snapshot.counts.of(status)
        text = look.glyphs.status(status) + str(count)
        if words:
            text += f" {status.value} "
        style = status.value if count else "dim"
        spans += [Span(text, style), Span(" ")]
    spans.append(Span(f"of {look.snapshot.counts.expected}"))
    return tuple(spans)


def stacked(snapshot: Snapshot, glyphs: Glyphs, cells: int) -> Line:
    """The rows by status over `cells`; whatever exists has at least one cell."""
    counts = {status: snapshot.counts.of(status) for status in BAR_ORDER}
    shares = shared_out([counts[status] for status in BAR_ORDER], cells)
    marks = {
        Status.DONE: glyphs.full,
        Status.RUNNING: glyphs.flying,
        Status.THROTTLED: glyphs.throttled if glyphs.ascii else glyphs.flying,
        Status.MISSING: glyphs.missing if glyphs.ascii else glyphs.full,
        Status.QUEUED: glyphs.rest,
    }
    if glyphs.ascii:
        marks[Status.DONE] = glyphs.done
    spans = [
        Span(marks[status] * share, status.value)
        for status, share in zip(BAR_ORDER, shares, strict=True)
        if share
    ]
    return tuple(spans) or (Span(glyphs.rest * cells, "dim"),)


def shared_out(parts: list[int], cells: int) -> list[int]:
    """`cells` divided as `parts` are; none that exists gets nothing."""
    whole = sum(parts)
    if not whole:
        return [0] * len(parts)
    shares = [max(1, part * cells // whole) if part else 0 for part in parts]
    while sum(shares) != cells:
        step = 1 if sum(shares) < cells else -1
        largest = max(
            range(len(parts)), key=lambda i: shares[i] if step < 0 else parts[i]
        )
        shares[largest] += step
    return shares
