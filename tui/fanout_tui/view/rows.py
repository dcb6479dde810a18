"""One row of the table as a line, and the header above it."""

from dataclasses import dataclass

from fanout.words.model import Row, Status
from fanout_tui.text import (
    clock_time,
    left,
    left_keeping_end,
    one_line,
    right,
    short_time,
    tokens,
)
from fanout_tui.view.columns import STATUS_LONG, Columns
from fanout_tui.view.look import Look
from fanout_tui.view.order import Sort, tries
from fanout_tui.view.reason import active_at, doing, elapsed
from fanout_tui.view.spans import Line, Span

_HEADS: dict[Sort, str] = {
    Sort.ATTENTION: "status",
    Sort.PARTITION: "partition",
    Sort.TRIES: "tries",
    Sort.TOKENS_IN: "tokens_in",
    Sort.TOKENS_OUT: "tokens_out",
    Sort.TIME: "time",
    Sort.AGE: "age",
}


@dataclass(frozen=True, slots=True)
class Picked:
    """How the user has a row picked out."""

    cursor: bool = False
    marked: bool = False


def status_word(status: Status, cells: int, dash: str = "—") -> str:
    """The status in words: `throttled — retrying` where there is room."""
    if status is Status.THROTTLED and cells >= STATUS_LONG:
        return f"throttled {dash} retrying"
    return status.value


def status_style(look: Look, row: Row) -> str:
    """The style of a row's symbol and word."""
    if row.status is Status.MISSING:
        return "missing" if look.glyphs.of(row) == look.glyphs.missing else "absent"
    return row.status.value


def row_line(look: Look, cols: Columns, row: Row, picked: Picked) -> Line:
    """A row in the table's columns, exactly as wide as the table."""
    glyphs = look.glyphs
    style = status_style(look, row)
    lead = glyphs.cursor if picked.cursor else glyphs.mark if picked.marked else " "
    spans = [
        Span(lead, "accent"),
        Span(glyphs.of(row) + " ", style),
    ]
    if cols.status:
        word = status_word(row.status, cols.status, glyphs.dash)
        spans.append(Span(left(word, cols.status) + " ", style))
    quiet = "dim" if row.status in {Status.QUEUED, Status.DONE} else ""
    # Where there is one phase, its name tells no row from another.
    shown = str(row.id) if len(look.snapshot.phases) > 1 else row.id.key
    name = left_keeping_end(one_line(shown), cols.partition, glyphs.more)
    spans.append(Span(name + " ", quiet))
    figures = _figures(look, cols, row)
    if figures:
        spans.append(Span(figures, "dim" if row.status is Status.DONE else quiet))
    now = doing(look, row, cols.now)
    spans.append(Span(left(now.text, cols.now, glyphs.more) + " ", now.style))
    return tuple(spans)


def _figures(look: Look, cols: Columns, row: Row) -> str:
    """The numeric columns; a zero is left blank."""
    live = look.snapshot.live.get(row.id)
    out = row.tally.useful.output_tokens + (live.output_tokens if live else 0)
    took = elapsed(look, row)
    over = row.status in {Status.DONE, Status.MISSING}
    age = "" if over else short_time(look.now - active_at(look, row))
    cells = (
        (cols.tries, str(tries(row) or "")),
        (cols.tokens_in, _count(row.tally.useful.charged_input)),
        (cols.tokens_out, _count(out)),
        (cols.cached, _count(row.tally.useful.cache_read_input_tokens)),
        (cols.time, "" if took is None else clock_time(took)),
        (cols.age, age),
    )
    return "".join(right(text, size) + " " for size, text in cells if size)


def _count(number: int) -> str:
    return tokens(number) if number else ""


def header_line(
    look: Look, cols: Columns, sort: Sort, *, reverse: bool, narrowed: str = ""
) -> Line:
    """The names of the columns; the one that is sorted by is marked.

    `narrowed` says that not all rows are listed, in the last column's place.
    """
    arrow = look.glyphs.up if reverse else look.glyphs.down

    def title(name: str, field: str) -> str:
        return name + arrow if _HEADS[sort] == field else name

    parts = ["   "]
    if cols.status:
        parts.append(left(title("STATUS", "status"), cols.status) + " ")
    parts.append(left(title("PARTITION", "partition"), cols.partition) + " ")
    for size, name, field in (
        (cols.tries, "TRY", "tries"),
        (cols.tokens_in, "IN", "tokens_in"),
        (cols.tokens_out, "OUT", "tokens_out"),
        (cols.cached, "CACHED", "cached"),
        (cols.time, "TIME", "time"),
        (cols.age, "AGE", "age"),
    ):
        if size:
            marked = title(name, field)
            if len(marked) > size:
                marked = name[: size - 1] + arrow
            parts.append(right(marked, size) + " ")
    last = left(narrowed or "NOW / WAITS ON", cols.now, look.glyphs.more) + " "
    return (Span("".join(parts), "head"), Span(last, "warn" if narrowed else "head"))
