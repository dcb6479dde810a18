"""The event log, one line an entry."""

from collections.abc import Sequence

from fanout.words.snapshot import LogLine
from fanout_tui.text import clock_time, one_line, wrap
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit

NO_LINE = "this line is about no agent"
"""What a key says that would open one."""
ENTRY_FROM = 20
"""Lines of a screen that has room for three of them."""
ENTRY_LINES = 3
"""How much of the picked entry is shown below the list."""
STYLES = {"warning": "warn", "error": "missing"}
_MARKS = {"warning": "alert", "error": "missing"}


def log_line(look: Look, entry: LogLine) -> Line:
    """When, how grave, about which row, what."""
    at = clock_time(entry.at - look.snapshot.run.started_at)
    style = STYLES.get(entry.level, "")
    mark = str(getattr(look.glyphs, _MARKS.get(entry.level, "idle")))
    row = f"{one_line(str(entry.row))}  " if entry.row is not None else ""
    spans = (
        Span(f" {at:>7} ", "dim"),
        Span(f"{mark} ", style or "dim"),
        Span(row, "accent"),
        Span(one_line(entry.text), style),
    )
    return fit(spans, look.width, look.glyphs.more)


def entry_lines(look: Look, entry: LogLine | None) -> tuple[Line, ...]:
    """An entry in whole, as far as there is room; always as many lines, or none."""
    if entry is None:
        return ()
    most = ENTRY_LINES if look.height >= ENTRY_FROM else 1
    row = f"{one_line(str(entry.row))}  " if entry.row is not None else ""
    text = wrap(row + one_line(entry.text), look.width - 2)
    if len(text) > most:
        text = [*text[: most - 1], text[most - 1] + look.glyphs.more]
    style = STYLES.get(entry.level, "")
    lines = [fit((Span(f" {part}", style),), look.width) for part in text]
    return (*lines, *([()] * (most - len(lines))))


def filtered(log: Sequence[LogLine], text: str) -> Sequence[LogLine]:
    """The entries that have all words of `text`, none of its `!words`."""
    words = text.casefold().split()
    if not words:
        return log
    wanted = [word for word in words if not word.startswith("!")]
    banned = [word[1:] for word in words if word.startswith("!") and len(word) > 1]

    def fits(entry: LogLine) -> bool:
        said = f"{entry.row or ''} {entry.level} {entry.text}".casefold()
        return all(w in said for w in wanted) and not any(b in said for b in banned)

    return [entry for entry in log if fits(entry)]


def tail_lines(look: Look, count: int) -> tuple[Line, ...]:
    """The newest `count` entries, always that many lines."""
    lines = [log_line(look, entry) for entry in look.snapshot.log[-count:]]
    return (*lines, *([()] * (count - len(lines))))
