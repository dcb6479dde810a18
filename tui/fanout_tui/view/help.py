"""Help, made from the key table."""

from collections.abc import Iterable

from fanout.words.model import Status
from fanout_tui.keys import LIVE, MAIN, Key
from fanout_tui.keytable import GROUPS, keys_on
from fanout_tui.text import cut_end, left
from fanout_tui.view.glyphs import Glyphs
from fanout_tui.view.spans import Line, Span

KEY_CELLS = 10
SHOWN = (Status.RUNNING, Status.THROTTLED, Status.QUEUED, Status.DONE)
TWO_FROM = 70
_ARROWS = str.maketrans({"↓": "", "↑": ""})


def help_lines(
    screen: str, cells: int, glyphs: Glyphs, how: str = LIVE
) -> tuple[Line, ...]:
    """All keys of a screen; two columns where there is room."""
    blocks = [_block(group, keys_on(screen, how), glyphs) for group in GROUPS]
    if cells < TWO_FROM:
        return tuple(
            tuple(Span(cut_end(span.text, cells), span.style) for span in line)
            for block in (*blocks, _symbols(glyphs), _figures(screen, glyphs))
            for line in block
        )
    half = cells // 2
    head = [*blocks[0], *blocks[3], *_symbols(glyphs)]
    tail = [*blocks[1], *blocks[2], *_figures(screen, glyphs)]
    size = max(len(head), len(tail))
    head += [()] * (size - len(head))
    tail += [()] * (size - len(tail))
    return tuple(
        (*_filled(a, half), *_filled(b, cells - half))
        for a, b in zip(head, tail, strict=True)
    )


def _block(group: str, here: Iterable[Key], glyphs: Glyphs) -> list[Line]:
    keys = [key for key in here if key.group == group]
    if not keys:
        return []
    families: dict[str, list[Key]] = {}
    for key in keys:
        families.setdefault(key.family or key.name, []).append(key)
    lines = (_line(family, glyphs) for family in families.values())
    return [(Span(f" {group}", "title"),), *lines, ()]


def _symbols(glyphs: Glyphs) -> list[Line]:
    """What stands before a row."""
    lines: list[Line] = [
        (
            Span(" " + left(glyphs.status(status), KEY_CELLS), status.value),
            Span(f" {status.value}"),
        )
        for status in SHOWN
    ]
    both = left(f"{glyphs.missing} {glyphs.absent}", KEY_CELLS)
    lines.append((Span(" " + both, "missing"), Span(" missing: an error, or nothing")))
    return [(Span(" Rows", "title"),), *lines, ()]


def _figures(screen: str, glyphs: Glyphs) -> list[Line]:
    """What the figures of the main screen mean."""
    if screen != MAIN:
        return []
    said = (
        ("TRY", "attempts, where one was not enough"),
        ("TIME", "since its first call"),
        ("AGE", "since anything came of it"),
        (glyphs.tight, "the limit that holds the run"),
        (glyphs.forecast, "spent in 60 s, 15 s from now"),
        (">100%", "a burst that was saved up"),
    )
    lines: list[Line] = [
        (Span(" " + left(name, KEY_CELLS), "key"), Span(" " + what))
        for name, what in said
    ]
    return [(Span(" Figures", "title"),), *lines, ()]


def _line(family: list[Key], glyphs: Glyphs) -> Line:
    shown = " ".join(key.shown for key in family)
    if glyphs.ascii:
        shown = " ".join(shown.translate(_ARROWS).split())
    does = family[0].family if len(family) > 1 else family[0].does
    return (Span(" " + left(shown, KEY_CELLS), "key"), Span(" " + does))


def _filled(spans: Line, cells: int) -> Line:
    """A column's line at exactly its width."""
    filled: list[Span] = []
    room = cells
    for span in spans:
        text = cut_end(span.text, room)
        filled.append(Span(text, span.style))
        room -= len(text)
    return (*filled, Span(" " * room))
