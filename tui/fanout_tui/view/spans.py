"""A line is a tuple of spans: some text and the name of its style.

Style names are words of this product (`throttled`, `dim`, `key`); which colour
they have is `theme.py`'s business.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fanout_tui.cells import width
from fanout_tui.text import cut_end


class Span(NamedTuple):
    """Text in one style; the empty name is the ordinary one."""

    text: str
    style: str = ""


Line = tuple[Span, ...]

EMPTY: Line = ()


def line(*parts: str | Span) -> Line:
    """A line from texts and spans."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def text_of(spans: Iterable[Span]) -> str:
    """The text of a line without its styles."""
    return "".join(span.text for span in spans)


def line_width(spans: Iterable[Span]) -> int:
    """Cells a line takes."""
    return sum(width(span.text) for span in spans)


def fit(spans: Sequence[Span], cells: int, mark: str = "…") -> Line:
    """The line cut to `cells`, a mark at its end where something was cut."""
    if line_width(spans) <= cells:
        return tuple(spans)
    kept: list[Span] = []
    left = cells
    for span in spans:
        size = width(span.text)
        if size >= left:
            short = span.text + mark if size == left else span.text
            kept.append(Span(cut_end(short, left, mark), span.style))
            break
        kept.append(span)
        left -= size
    return tuple(kept)


def picked_out(spans: Line, mark: str, *, picked: bool) -> tuple[Line, bool]:
    """The line, with the cursor's mark in its first cell if it is picked, and that."""
    if not picked:
        return spans, False
    first = spans[0]
    marked = (Span(mark, "accent"), Span(first.text[1:], first.style), *spans[1:])
    return marked, True


def spread(
    head: Sequence[Span], tail: Sequence[Span], cells: int, style: str = ""
) -> Line:
    """`head` at the left, `tail` at the right edge; the head gives way."""
    tail = fit(tail, cells)
    room = cells - line_width(tail)
    head = fit(head, max(0, room - 1))
    gap = room - line_width(head)
    return (*head, Span(" " * gap, style), *tail)


def clauses(parts: Sequence[str], cells: int, joint: str = "; ") -> str:
    """As many of `parts` as fit, joined; the first is always there."""
    text = parts[0]
    for part in parts[1:]:
        longer = text + joint + part
        if width(longer) > cells:
            break
        text = longer
    return text
