"""The side panel: the row under the cursor, in words."""

from fanout.words.model import Row, Status
from fanout_tui.text import clock_time, cut_start, one_line, wrap
from fanout_tui.view.look import Look
from fanout_tui.view.reason import doing, elapsed, spent_text, tries_text
from fanout_tui.view.rows import status_style, status_word
from fanout_tui.view.spans import Line, Span, fit

LABEL = 9


def side_lines(look: Look, row: Row) -> tuple[Line, ...]:
    """What is known of a row, as many lines as it takes."""
    cells = look.width - 2
    style = status_style(look, row)
    word = status_word(row.status, 20, look.glyphs.dash)
    lines: list[Line] = [
        (Span(cut_start(one_line(row.id.key), cells, look.glyphs.more), "title"),),
        (Span(f"{look.glyphs.of(row)} {word}", style),),
        (),
    ]
    now = doing(look, row)
    label = {
        Status.DONE: "result",
        Status.MISSING: "missing",
        Status.RUNNING: "now",
    }.get(row.status, "waits on")
    lines += _field(label, now.text or "-", cells, now.style)
    lines += _field("phase", one_line(row.id.phase), cells)
    took = elapsed(look, row)
    lines += _field("time", "-" if took is None else clock_time(took), cells)
    lines += _field("tries", tries_text(row), cells)
    lines += _field("tokens", spent_text(row), cells)
    if row.spec is not None:
        lines += _field("model", one_line(row.spec.model), cells)
        lines += _field("expects", expects_text(row), cells)
    lines += _recent(look, row, cells)
    return tuple(lines)


def expects_text(row: Row) -> str:
    """The output a row is held to."""
    if row.spec is None:
        return "not asked for yet"
    path = one_line(row.spec.output or "")
    form = "valid JSON of its schema" if row.spec.schema else "text, not empty"
    return f"{path} ({form})" if path else f"an answer ({form})"


def _field(label: str, text: str, cells: int, style: str = "") -> list[Line]:
    wrapped = wrap(text, cells - LABEL)
    lines: list[Line] = [(Span(label.ljust(LABEL), "dim"), Span(wrapped[0], style))]
    lines += [(Span(" " * LABEL + rest, style),) for rest in wrapped[1:]]
    return lines


def _recent(look: Look, row: Row, cells: int) -> list[Line]:
    """The newest log lines of this row."""
    own = [entry for entry in look.snapshot.log if entry.row == row.id][-6:]
    if not own:
        return []
    start = look.snapshot.run.started_at
    lines: list[Line] = [(), (Span("recent", "dim"),)]
    for entry in own:
        at = clock_time(entry.at - start)
        spans = (Span(f"{at:>6} ", "dim"), Span(one_line(entry.text)))
        lines.append(fit(spans, cells, look.glyphs.more))
    return lines
