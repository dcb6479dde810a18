"""What a question is, and how it stands in its box."""

from dataclasses import dataclass

from fanout_tui.text import cut_end, wrap
from fanout_tui.view.spans import Line, Span

KEY_CELLS = 5
"""Of an answer's key, spaces included."""
FRAME = 3
"""Lines that the box and the title take."""


@dataclass(frozen=True, slots=True)
class Question:
    """A title, some lines, and keys with what each does."""

    title: str
    lines: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


def question_lines(asked: Question, cells: int, height: int) -> list[Line]:
    """Title, figures and answers, at most `height` lines with the box.

    The answers are always there: where there is little room they are cut to a line
    each, and it is figures that go.
    """
    answers = [line for one in asked.answers for line in _answer(*one, cells)]
    if len(answers) + FRAME >= height:
        answers = [
            _answer(key, text, cells, whole=False)[0] for key, text in asked.answers
        ]
    told = [part for text in asked.lines for part in wrap(text, cells)]
    left = height - FRAME - len(answers)
    gap: list[Line] = [()] if left >= len(told) + 2 else []
    shown = told[: max(1, left - 2 * len(gap))]
    title: Line = (Span(cut_end(asked.title, cells), "title"),)
    return [title, *gap, *((Span(text),) for text in shown), *gap, *answers]


def _answer(key: str, text: str, cells: int, *, whole: bool = True) -> list[Line]:
    room = cells - KEY_CELLS
    first, *rest = wrap(text, room) if whole else [cut_end(text, room)]
    head = Span(f" {key:<{KEY_CELLS - 1}}", "key")
    return [(head, Span(first)), *((Span(" " * KEY_CELLS + more),) for more in rest)]
